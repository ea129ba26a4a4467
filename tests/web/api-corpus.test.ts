// OpenAI's API, answered by `kinglet serve` and by the package's fetch, in Node and in Chromium. The
// server's answers must be as the corpus expects, and the others like the server's.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet } from 'kinglet';
import type { LoadOptions } from 'kinglet';
import { createFetch } from 'kinglet/openai';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { fixture, program, stories } from '../cli/program.ts';
import { cases, modelNames } from './api-corpus.ts';
import type { Case, ModelName } from './api-corpus.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { serve } from './serve-program.ts';
import type { Served } from './serve-program.ts';
import { chatTemplate } from './tool-templates.ts';
import { validator } from './validator.ts';

// --- Models ----------------------------------------------------------------------------------

interface Given {
  file: string;
  template?: string;
  mmproj?: string;
  nCtx: number;
}

const folder = mkdtempSync(join(tmpdir(), 'kinglet-corpus-'));

/**
 * The story model with weights that are floats. Kernels for quantized weights round differently on
 * different machines, so that drawn texts would differ.
 */
const floatStories = join(folder, 'stories.gguf');

const toldBy = (family: string): Given => ({
  ...{ file: floatStories, template: chatTemplate(family), nCtx: 512 },
});
const given: Record<ModelName, Given> = {
  chat: toldBy('qwen3'),
  plain: toldBy('smollm2'),
  thinker: toldBy('deepseek-r1'),
  mistral: toldBy('mistral'),
  pictures: {
    ...{ file: fixture('arch/llama-linear.gguf'), mmproj: fixture('vision/gemma3.gguf') },
    ...{ template: '{% for m in messages %}{{ m.content }}{% endfor %}', nCtx: 200 },
  },
  embedder: { file: fixture('encoder/bert.gguf'), nCtx: 64 },
  reranker: { file: fixture('encoder/bert-rerank.gguf'), nCtx: 64 },
};

function startServer(name: ModelName): Promise<Served> {
  const { file, template, mmproj, nCtx } = given[name];
  const path = join(folder, `${name}.jinja`);
  writeFileSync(path, template ?? '');
  return serve(file, [
    ...['--ctx', String(nCtx), '--threads', '1', '--page', folder],
    ...(template === undefined ? [] : ['--chat-template', path]),
    ...(mmproj === undefined ? [] : ['--mmproj', mmproj]),
  ]);
}

const loadOptions = (name: ModelName): Omit<LoadOptions, 'mmproj' | 'prepared'> => ({
  ...{ chatTemplate: given[name].template, nCtx: given[name].nCtx },
  ...{ nThreads: 1, spareMemory: 1 << 24, cache: false },
});

/** Makes one of each model. */
async function ofEach<T>(make: (name: ModelName) => Promise<T>): Promise<Map<ModelName, T>> {
  const all = modelNames.map(async (name) => [name, await make(name)] as const);
  return new Map(await Promise.all(all));
}

// --- Answers ---------------------------------------------------------------------------------

interface Reply {
  status: number;
  text: string;
}

interface Post {
  method: string;
  path: string;
  body?: string;
}

const postOf = ({ method, path, body }: Case): Post => ({
  ...{ method, path },
  ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
});

/** What an event, or a line of another kind, holds. */
type Line = { data: unknown } | { line: string };

/** Returns what a stream or a whole answer holds, without what differs each time. */
function read({ text }: Reply): Line[] {
  if (!/^(data|event): /.test(text)) return [{ data: settled(JSON.parse(text)) }];
  return text.split('\n').map((line) => {
    const data = /^data: (\{.*\})$/.exec(line)?.[1];
    return data === undefined ? { line } : { data: settled(JSON.parse(data)) };
  });
}

/** Numbers that differ although the answers are the same. */
const differing = [
  'cached_tokens', // the server remembers several prompts
  ...['accepted_prediction_tokens', 'rejected_prediction_tokens'], // guesses cost more in wasm
];

/** Replaces ids and times, if they look like ones, and the numbers that differ. */
function settled(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (/^created(_at)?$/.test(key) && Number(inner) > 1.7e9) return 'a time';
    if (differing.includes(key) && typeof inner === 'number') return 'a number';
    if (!/^(id|item_id|call_id)$/.test(key) || typeof inner !== 'string') return inner;
    return inner.replace(
      /^(chatcmpl-|cmpl-|classify-|resp_|msg_|rs_|fc_)[A-Za-z0-9]{24}$|^[A-Za-z0-9]{9}$/,
      '$1…',
    );
  }) as unknown;
}

/** Numbers that other kernels compute differently in their last digits. */
const measured = ['logprob', 'token_logprobs', 'relevance_score', 'embedding', 'probs'];

/** Returns where the values differ, and how. */
function differences(a: unknown, b: unknown, place = '', isMeasured = false): string[] {
  const told = [`${place}: ${JSON.stringify(a)} became ${JSON.stringify(b)}`];
  if (isMeasured && typeof a === 'number' && typeof b === 'number') {
    return Math.abs(a - b) <= 1e-3 * Math.max(1, Math.abs(a)) ? [] : told;
  }
  if (place.endsWith('/embedding') && typeof a === 'string' && typeof b === 'string') {
    return differences(floats(a), floats(b), place, true);
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return a === b ? [] : told;
  }
  const [names, others] = [Object.keys(a), Object.keys(b)];
  if (Array.isArray(a) !== Array.isArray(b) || names.join() !== others.join()) return told;
  return names.flatMap((name) => {
    const [one, two] = [a, b].map((each) => (each as Record<string, unknown>)[name]);
    // Completions have an object of texts and logprobs there.
    const measures =
      isMeasured || measured.includes(name) || (name === 'top_logprobs' && !Array.isArray(b));
    return differences(one, two, `${place}/${name}`, measures);
  });
}

const floats = (base64: string) => {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'));
  return [...new Float32Array(bytes.buffer)];
};

// --- What is expected ------------------------------------------------------------------------

interface Call {
  name: string;
  arguments: string;
}

interface Outcome {
  finish: (string | null)[];
  texts: string[];
  thoughts: string[];
  calls: Call[];
}

interface Delta {
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: { function: Partial<Call> }[];
}

interface Body {
  choices?: {
    index: number;
    finish_reason: string | null;
    text?: string;
    message?: Delta;
    delta?: Delta;
  }[];
  status?: string;
  response?: Body;
  output?: ({ type: string; content?: { text: string }[] } & Call)[];
}

/** Puts together what the answer, or the events of a stream, say. */
function outcomeOf(bodies: Body[]): Outcome {
  const last = bodies.at(-1);
  const response = last?.response ?? last;
  if (response?.output !== undefined) {
    const ofType = (type: string) => (response.output ?? []).filter((item) => item.type === type);
    const textsOf = (type: string) => ofType(type).map(({ content }) => content?.[0]?.text ?? '');
    return {
      ...{ finish: [response.status ?? null], texts: textsOf('message') },
      ...{ thoughts: textsOf('reasoning'), calls: ofType('function_call') },
    };
  }
  const outcome: Outcome = { finish: [], texts: [], thoughts: [], calls: [] };
  for (const choice of bodies.flatMap(({ choices = [] }) => choices)) {
    const { index, finish_reason: finish, text, message, delta = message ?? {} } = choice;
    outcome.finish[index] = finish;
    outcome.texts[index] = (outcome.texts[index] ?? '') + (text ?? delta.content ?? '');
    outcome.thoughts[index] = (outcome.thoughts[index] ?? '') + (delta.reasoning_content ?? '');
    for (const { function: called } of delta.tool_calls ?? []) {
      if (called.name !== undefined) outcome.calls.push({ name: called.name, arguments: '' });
      const open = outcome.calls.at(-1);
      if (open) open.arguments += called.arguments ?? '';
    }
  }
  return outcome;
}

interface Demands {
  response_format?: { type: string; schema?: unknown; json_schema?: { schema: unknown } } | null;
  text?: { format?: { schema?: unknown } } | null;
  tools?: (Tool & { function?: Tool })[] | null;
}

interface Tool {
  name?: string;
  parameters?: unknown;
}

/** Texts that are whole, and the arguments of whole calls, match the request's schemas. */
function expectDemanded({ finish, texts, calls }: Outcome, demands: Demands): void {
  const { response_format: format, text, tools } = demands;
  const schema = format?.json_schema?.schema ?? format?.schema ?? text?.format?.schema;
  const isWhole = finish.every((reason) => reason === 'stop' || reason === 'completed');
  for (const made of schema === undefined || !isWhole ? [] : texts) {
    expect(validator(schema)(JSON.parse(made)), made).toBe(true);
  }
  for (const call of finish.includes('length') || finish.includes('incomplete') ? [] : calls) {
    const known = tools
      ?.map((tool) => tool.function ?? tool)
      .find(({ name }) => name === call.name);
    expect(validator(known?.parameters ?? {})(JSON.parse(call.arguments)), call.arguments).toBe(
      true,
    );
  }
}

function expectAsTold(reply: Reply, { expected, body }: Case): void {
  const { status, message, param, code, finish, calls, text, thought, like = {} } = expected;
  expect(reply.status, reply.text).toBe(status);
  const bodies = read(reply).flatMap((line) => ('data' in line ? [line.data] : []));
  if (status !== 200) {
    const told = { message: expect.stringMatching(message ?? /$^/) as string, param, code };
    const error = { type: 'invalid_request_error', ...told };
    expect(bodies, reply.text).toMatchObject([{ error }]);
    return;
  }
  expect(bodies.at(-1), reply.text).toMatchObject(like);
  const outcome = outcomeOf(bodies as Body[]);
  if (finish !== undefined) expect(outcome.finish, reply.text).toEqual(finish);
  if (calls !== undefined) expect(outcome.calls.map(({ name }) => name)).toEqual(calls);
  if (text !== undefined) for (const each of outcome.texts) expect(each).toMatch(text);
  if (thought !== undefined) expect(outcome.thoughts.join('\n')).toMatch(thought);
  expectDemanded(outcome, (body ?? {}) as Demands);
}

// --- Tests -----------------------------------------------------------------------------------

let servers: Map<ModelName, Served>;
/** The server's answers. Each request is sent once. */
const replies = new Map<Case, Promise<Reply>>();

async function ask(asked: Case): Promise<Reply> {
  const { method, path, body = null } = postOf(asked);
  const response = await fetch(`${servers.get(asked.model)!.url}${path}`, { method, body });
  return { status: response.status, text: await response.text() };
}

function serversReply(asked: Case): Promise<Reply> {
  const reply = replies.get(asked) ?? ask(asked);
  replies.set(asked, reply);
  return reply;
}

async function expectAlike(reply: Reply, asked: Case): Promise<void> {
  const served = await serversReply(asked);
  const lines = (each: Reply) => ({ status: each.status, lines: read(each) });
  const found = differences(lines(served), lines(reply));
  expect(found, found.join('\n')).toEqual([]);
}

beforeAll(async () => {
  execFileSync(program, ['quantize', stories, floatStories, 'F32']);
  servers = await ofEach(startServer);
}, 120_000);

afterAll(async () => {
  await Promise.all([...servers.values()].map((each) => each.stop('SIGKILL')));
  rmSync(folder, { recursive: true });
});

const named = (some: Case[]) => some.map((one) => [one.name, one] as const);
const isAlike = ({ isUnlike = false }: Case) => !isUnlike;
const isUnlike = (one: Case) => !isAlike(one);
/** Node decodes pictures only with another package, sharp. */
const isForNode = ({ showsPictures = false }: Case) => !showsPictures;

test('the corpus has many cases, each with its own name', () => {
  expect(cases.length).toBeGreaterThan(200);
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});

describe('the server answers', { timeout: 120_000 }, () => {
  test.each(named(cases))('%s', async (_, asked) => {
    expectAsTold(await serversReply(asked), asked);
  });
});

describe('the package answers alike in Node', { timeout: 120_000 }, () => {
  let models: Map<ModelName, Kinglet>;
  beforeAll(async () => {
    models = await ofEach((name) => {
      const { file, mmproj } = given[name];
      return Kinglet.load(file, { ...loadOptions(name), mmproj });
    });
  }, 300_000);
  afterAll(() => {
    for (const model of models.values()) model.dispose();
  });

  const compare = async (_: string, asked: Case) => {
    const { path, ...init } = postOf(asked);
    const response = await createFetch(models.get(asked.model)!)(`http://kinglet${path}`, init);
    await expectAlike({ status: response.status, text: await response.text() }, asked);
  };
  test.each(named(cases.filter(isAlike).filter(isForNode)))('%s', compare);
  test.fails.each(named(cases.filter(isUnlike).filter(isForNode)))('%s', compare);
});

declare global {
  /** In the page: the package's answers. */
  var answerers: Record<string, ReturnType<typeof createFetch>>;
  var makeFetch: typeof createFetch;
}

describe('the package answers alike in Chromium', { timeout: 120_000 }, () => {
  let browser: Browser;
  let site: FaultyServer;
  let page: Page;
  beforeAll(async () => {
    [browser, site] = await Promise.all([launchHeadlessShell(), startFaultyServer()]);
    for (const name of modelNames) {
      const { file, mmproj } = given[name];
      site.files.set(`/${name}.gguf`, { bytes: readFileSync(file) });
      if (mmproj !== undefined) site.files.set('/mmproj.gguf', { bytes: readFileSync(mmproj) });
    }
    page = await browser.newPage();
    await page.goto(site.url);
    await page.addScriptTag({
      type: 'module',
      content: `import { createFetch } from '/dist/openai/index.js';
        globalThis.makeFetch = createFetch;
        globalThis.answerers = {};`,
    });
    await page.waitForFunction(() => 'answerers' in globalThis && 'kinglet' in globalThis);
    for (const name of modelNames) {
      const mmproj = given[name].mmproj === undefined ? undefined : '/mmproj.gguf';
      await page.evaluate(
        async ([model, options]) => {
          const loaded = await kinglet.Kinglet.load(`/${model}.gguf`, options);
          answerers[model] = makeFetch(loaded);
        },
        [name, { ...loadOptions(name), mmproj }] as const,
      );
    }
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    site.close();
  });

  const compare = async (_: string, asked: Case) => {
    const reply = await page.evaluate(
      async ([model, { path, ...init }]) => {
        const response = await answerers[model]!(`http://kinglet${path}`, init);
        return { status: response.status, text: await response.text() };
      },
      [asked.model, postOf(asked)] as const,
    );
    await expectAlike(reply, asked);
  };
  test.each(named(cases.filter(isAlike)))('%s', compare);
  test.fails.each(named(cases.filter(isUnlike)))('%s', compare);
});
