// Requests that Python's clients sent, answered by `kinglet serve` with real models. Neither are part
// of the project: the tests are skipped if they are not in ../shared, next to the project's folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serve, type Served } from './serve-program.ts';
import { validator } from './validator.ts';

const shared = fileURLToPath(new URL('../../../shared', import.meta.url));
const requests = join(shared, 'fixtures/requests');
const chatModel = join(shared, 'models/real/SmolLM2-135M-Instruct.Q4_1.gguf');
const encoderModel = join(shared, 'models/real/all-MiniLM-L6-v2-F16.gguf');
const missing = [requests, chatModel, encoderModel].filter((path) => !existsSync(path));

interface Recorded {
  path: string;
  contentType: string;
  body: Demands & { stream?: boolean };
}

/** The statuses of answers by a model that reads text only. The others are 200. */
const refused: Record<string, number> = {
  'openai2-picture-in-chat': 400,
  'openai2-picture-in-responses': 400,
};

interface Demands {
  response_format?: { type: string; json_schema?: { schema: unknown } };
  text?: { format?: { schema?: unknown } };
  tools?: {
    name?: string;
    parameters?: unknown;
    function?: { name: string; parameters: unknown };
  }[];
}

/** The schema that the texts of an answer must match, if there is one. */
function textSchema({ response_format: format, text }: Demands): unknown {
  if (format?.type === 'json_object') return { type: 'object' };
  return format?.json_schema?.schema ?? text?.format?.schema;
}

/** The schema of a tool's arguments. */
function toolSchema({ tools = [] }: Demands, name: string): unknown {
  const known = tools.map((tool) => tool.function ?? tool);
  return known.find((tool) => tool.name === name)?.parameters;
}

interface Call {
  name: string;
  arguments: string;
}

interface Answer {
  choices?: {
    finish_reason: string;
    message?: { content: string | null; tool_calls?: { function: Call }[] };
  }[];
  status?: string;
  output_text?: string;
  output?: ({ type: string } & Call)[];
}

/** The texts and the calls of an answer, where it came to an end. */
function finished({ choices, status, output_text: text = '', output = [] }: Answer) {
  if (choices === undefined) {
    if (status !== 'completed') return { texts: [], calls: [] };
    return { texts: [text], calls: output.filter(({ type }) => type === 'function_call') };
  }
  const ended = (reason: string) => choices.filter((choice) => choice.finish_reason === reason);
  return {
    texts: ended('stop').map(({ message }) => message?.content ?? ''),
    calls: ended('tool_calls').flatMap(({ message }) =>
      (message?.tool_calls ?? []).map((call) => call.function),
    ),
  };
}

function expectDemanded(answer: Answer, demands: Demands): void {
  const { texts, calls } = finished(answer);
  const schema = textSchema(demands);
  for (const text of schema === undefined ? [] : texts) {
    expect(validator(schema)(JSON.parse(text)), text).toBe(true);
  }
  for (const call of calls) {
    const isValid = validator(toolSchema(demands, call.name));
    expect(isValid(JSON.parse(call.arguments)), call.arguments).toBe(true);
  }
}

/** What a stream's events hold, and the names of those that have one. */
function eventsOf(stream: string): { data: unknown[]; names: string[] } {
  const lines = stream.split('\n');
  const after = (mark: string) =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const data = after('data: ').filter((text) => text !== '[DONE]');
  return { data: data.map((text) => JSON.parse(text) as unknown), names: after('event: ') };
}

const title = 'requests of Python’s clients';
if (missing.length > 0) {
  test.skip(`${title}: not tested without ${missing.join(', ')}`, () => undefined);
} else {
  describe(title, () => {
    let chat: Served;
    let encoder: Served;

    beforeAll(async () => {
      [chat, encoder] = await Promise.all([
        serve(chatModel, ['--name', 'kinglet-test', '--ctx', '1024', '--temp', '0']),
        serve(encoderModel),
      ]);
    });

    afterAll(async () => {
      await Promise.all([chat, encoder].map((each) => each.stop('SIGKILL')));
    });

    const ask = async (served: Served, path: string, contentType: string, body: object) => {
      const headers = { 'Content-Type': contentType };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${served.url}${path}`, init);
      return { status: response.status, text: await response.text() };
    };

    const names = readdirSync(requests)
      .filter((name) => name.endsWith('.json'))
      .map((name) => basename(name, '.json'));

    const answers = async (name: string) => {
      const file = readFileSync(join(requests, `${name}.json`), 'utf8');
      const { path, contentType, body } = JSON.parse(file) as Recorded;
      const served = path.endsWith('/embeddings') ? encoder : chat;
      const { status, text } = await ask(served, path, contentType, body);
      expect(status, text).toBe(refused[name] ?? 200);
      if (status !== 200) {
        expect(text).toContain('the model reads text only');
      } else if (body.stream === true) {
        const { data, names: types } = eventsOf(text);
        expect(data).not.toEqual([]);
        expect(types).toEqual(
          path.endsWith('/responses') ? data.map((each) => (each as { type: string }).type) : [],
        );
        expect(text.endsWith('data: [DONE]\n\n')).toBe(!path.endsWith('/responses'));
      } else {
        expectDemanded(JSON.parse(text) as Answer, body);
      }
    };

    test.each(names)('%s', answers);
  });
}
