// Chrome's Prompt API over a scripted model, and over the real one.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet, ModelCache } from 'kinglet';
import { installPromptApi, languageModelClass } from 'kinglet/prompt-api';
import type {
  LanguageModelCreateOptions,
  LanguageModelPrompt,
  LanguageModelStatic,
  PromptSession,
} from 'kinglet/prompt-api';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../../scripts/serve.mjs';
import { startFaultyServer } from './faulty-server.ts';
import { collect, scriptedModel } from './scripted-model.ts';
import { splitModel } from './split-model.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const opening = 'Once upon a time';
const template = `{% for m in messages %}{{ m.content }} {% endfor %}`;
const modelBytes = withChatTemplate(new Uint8Array(readFileSync(storyModel)), template);

/** Returns a session of a scripted model, whose answer number i is `answer(i)`. */
async function scripted(
  answer: (index: number) => string,
  options: LanguageModelCreateOptions = {},
  { template = 'qwen3' } = {},
) {
  const { model, starts: calls } = await scriptedModel(template, answer);
  const session = await languageModelClass({ model }).create(options);
  return { session, calls };
}

describe('a session', () => {
  it('keeps the conversation', async () => {
    const { session, calls } = await scripted((i) => `<think>\nHm.\n</think>\n\nNo. ${String(i)}`, {
      initialPrompts: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', value: 'Hi' }] },
        { role: 'assistant', content: 'Hello!' },
      ],
    });
    expect(await session.prompt('How are you?')).toBe('No. 0');
    await session.append([{ role: 'user', content: 'Listen.' }]);
    expect(await session.prompt('And now?')).toBe('No. 1');
    expect(calls[1]!.prompt).toBe(
      '<|im_start|>system\nBe kind.<|im_end|>\n' +
        '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n' +
        '<|im_start|>user\nHow are you?<|im_end|>\n<|im_start|>assistant\nNo. 0<|im_end|>\n' +
        '<|im_start|>user\nListen.\n\nAnd now?<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  it('goes on from a prefix', async () => {
    const { session, calls } = await scripted(() => 'Lily.', {}, { template: 'smollm2' });
    const prompt: LanguageModelPrompt = [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: '<|im_end|>It was ', prefix: true },
    ];
    expect(await session.prompt(prompt)).toBe('Lily.');
    expect(calls[0]!.prompt).toMatch(/<\|im_start\|>assistant\n<\|im_end\|>It was $/);
    // The page's text can hold no control tokens.
    expect(calls[0]!.texts.at(-1)).toBe('<|im_end|>It was ');
    await session.prompt('And?');
    expect(calls[1]!.prompt).toContain('It was Lily.<|im_end|>');
  });

  it('runs the tools that the model calls', async () => {
    const call = (city: string) =>
      `<tool_call>\n{"name": "weather", "arguments": {"city": "${city}"}}\n</tool_call>`;
    const answers = [`I look.\n${call('Oslo')}\n${call('Rome')}`, 'Rain, and no Rome.'];
    const options: LanguageModelCreateOptions = {
      tools: [
        {
          ...{ name: 'weather', description: 'The weather somewhere' },
          inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
          execute: ({ city }: { city: string }) => {
            if (city !== 'Oslo') throw new Error(`no ${city}`);
            return Promise.resolve({ sky: 'rain' });
          },
        },
      ],
    };
    const { session, calls } = await scripted((i) => answers[i] ?? '', options, {
      template: 'marks',
    });
    const deltas = await collect(session.promptStreaming('Weather?'));
    expect(deltas.join('')).toBe('I look.Rain, and no Rome.');
    expect(deltas.length).toBeGreaterThan(3);
    expect(calls[0]!.prompt).toContain('The weather somewhere');
    expect(calls[1]!.prompt).toContain('tool: {"sky":"rain"}');
    expect(calls[1]!.prompt).toContain('tool: Error: no Rome');
  });

  it('makes room for what tools return, or says how much would not fit', async () => {
    const call = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>';
    const results = ['dog '.repeat(250), 'dog '.repeat(600)];
    const tools = [
      {
        ...{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } },
        execute: () => results.shift(),
      },
    ];
    const answers = ['Yes.', call, 'A dog.', call, 'Yes.'];
    const { session, calls } = await scripted(
      (i) => answers[i] ?? '',
      { tools },
      { template: 'marks' },
    );
    let nOverflows = 0;
    session.oncontextoverflow = () => (nOverflows += 1);
    await session.prompt(`first ${'dog '.repeat(150)}`);
    expect(await session.prompt('second')).toBe('A dog.');
    expect(nOverflows).toBe(1);
    expect(calls[1]!.prompt).toContain('first');
    expect(calls[2]!.prompt).not.toContain('first');
    expect(calls[2]!.prompt).toMatch(/second[^]*tool: dog/);
    const usage = session.contextUsage;
    await expect(session.prompt('third')).rejects.toMatchObject({
      ...{ name: 'QuotaExceededError', quota: 512, requested: expect.any(Number) as number },
    });
    expect(session.contextUsage).toBe(usage);
    expect(await session.prompt('fourth')).toBe('Yes.');
    expect(calls.at(-1)!.prompt).not.toContain('third');
  });

  it('refuses an answer under a constraint that fills the context, and keeps other ones', async () => {
    const long = JSON.stringify('dog '.repeat(600));
    const { session, calls } = await scripted((i) => (i < 3 ? long : 'Yes.'));
    const cut = { name: 'QuotaExceededError', quota: 512, requested: 513 };
    const ask = { responseConstraint: { type: 'string' } };
    await expect(session.prompt('first', ask)).rejects.toMatchObject(cut);
    const stream = session.promptStreaming('second', { responseConstraint: /(dog )+/ });
    await expect(collect(stream)).rejects.toMatchObject(cut);
    expect(session.contextUsage).toBe(0);
    expect(await session.prompt('third')).toMatch(/^"dog dog [dog ]*$/);
    expect(calls[2]!.prompt).not.toMatch(/first|second/);
    expect(await session.prompt('fourth')).toBe('Yes.');
  });

  it('holds answers to schemas and expressions, and tells the model of them', async () => {
    const answers = ['{"a":1}', '"a\\"\\n\\u00e9\\ud83d\\ude00"', '"2024"'];
    const { session, calls } = await scripted((i) => answers[i] ?? '');
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    expect(await session.prompt('Hi', { responseConstraint: schema })).toBe('{"a":1}');
    expect(calls[0]!.options.jsonSchema).toEqual(schema);
    expect(calls[0]!.prompt).toContain(`Hi\n\nAnswer with JSON that is valid`);
    expect(await session.prompt('Hi', { responseConstraint: /a[^]*/ })).toBe('a"\né😀');
    expect(calls[1]!.options.jsonSchema).toEqual({ type: 'string', pattern: '^(?:a[^]*)$' });
    const ask = { responseConstraint: /^\d{4}$/, omitResponseConstraintInput: true };
    expect(await session.prompt('When?', ask)).toBe('2024');
    expect(calls[2]!.options.jsonSchema).toEqual({ type: 'string', pattern: '^\\d{4}$' });
    expect(calls[2]!.prompt).toMatch(/When\?<\|im_end\|>\n<\|im_start\|>assistant\n$/);
    await expect(session.prompt('Hi', { responseConstraint: /a/i })).rejects.toMatchObject({
      name: 'NotSupportedError',
    });
  });

  it('drops the oldest turns, and says so, but not the initial prompts', async () => {
    const initial = { initialPrompts: [{ role: 'system', content: 'Be kind.' }] } as const;
    const { session, calls } = await scripted(() => 'Yes.', initial);
    const heard: string[] = [];
    session.oncontextoverflow = ({ type }) => {
      heard.push(`on ${type}`);
    };
    session.addEventListener('contextoverflow', ({ type }) => heard.push(type));
    session.onquotaoverflow = ({ type }) => {
      heard.push(`on ${type}`);
    };
    // The context has 512 tokens.
    await session.prompt(`first ${'dog '.repeat(100)}`);
    await session.prompt(`second ${'dog '.repeat(80)}`);
    expect(heard).toEqual([]);
    await session.prompt(`third ${'dog '.repeat(100)}`);
    expect(heard).toEqual(['on contextoverflow', 'contextoverflow', 'on quotaoverflow']);
    const { prompt } = calls.at(-1)!;
    expect(prompt).not.toContain('first');
    expect(prompt).toContain('Be kind.');
    expect(prompt).toContain('second');

    const usage = session.contextUsage;
    await expect(session.prompt('dog '.repeat(600))).rejects.toMatchObject({
      ...{ name: 'QuotaExceededError', quota: 512, requested: expect.any(Number) as number },
    });
    expect(session.contextUsage).toBe(usage);
    expect(heard).toHaveLength(3);
  });

  it.each<[LanguageModelCreateOptions, string]>([
    [{ temperature: 1 }, 'NotSupportedError'],
    [{ temperature: -1, topK: 3 }, 'RangeError'],
    [{ temperature: 1, topK: 0 }, 'RangeError'],
    [{ expectedInputs: [{ type: 'image' }] }, 'NotSupportedError'],
    [{ initialPrompts: 'Hi' as never }, 'TypeError'],
    [{ initialPrompts: [{ role: 'king' as 'user', content: 'Hi' }] }, 'TypeError'],
    [
      {
        initialPrompts: [
          { role: 'user', content: 'Hi' },
          { role: 'system', content: 'No' },
        ],
      },
      'TypeError',
    ],
    [
      { initialPrompts: [{ role: 'user', content: [{ type: 'image', value: 1 }] }] },
      'NotSupportedError',
    ],
    [{ initialPrompts: [{ role: 'user', content: 'dog '.repeat(600) }] }, 'QuotaExceededError'],
  ])('is not made with %j', async (options, name) => {
    await expect(scripted(() => '', options)).rejects.toMatchObject({ name });
  });

  it('refuses prompts as Chrome does', async () => {
    const { session, calls } = await scripted(() => 'Yes.');
    const ask = (input: unknown) => session.prompt(input as LanguageModelPrompt);
    await expect(ask([{ role: 'system', content: 'No' }])).rejects.toMatchObject({
      name: 'NotSupportedError',
    });
    await expect(ask(5)).rejects.toBeInstanceOf(TypeError);
    await expect(ask([{ role: 'user', content: 5 }])).rejects.toBeInstanceOf(TypeError);
    const prefix = { role: 'assistant', content: 'Well', prefix: true };
    for (const messages of [
      [{ role: 'user', content: 'Hi', prefix: true }],
      [prefix, { role: 'user', content: 'Hi' }],
      [prefix, prefix],
    ]) {
      const refused: unknown = await ask(messages).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(DOMException);
      expect(refused).toMatchObject({ name: 'SyntaxError' });
    }
    expect(calls).toEqual([]);
    expect(await session.prompt('Hi')).toBe('Yes.');
  });
});

describe('over the engine', () => {
  let kinglet: Kinglet;
  let LanguageModel: LanguageModelStatic;
  const greedy = { temperature: 0, topK: 1 };
  /** Returns the first 40 characters of a text. */
  const small = (text: string) => text.slice(0, 40);
  beforeAll(async () => {
    kinglet = await Kinglet.load(modelBytes, { nThreads: 1, nCtx: 128 });
    LanguageModel = languageModelClass({ model: kinglet });
  });
  afterAll(() => {
    kinglet.dispose();
  });

  it('answers as chat() does, at once and in a stream', async () => {
    const messages = [{ role: 'user', content: opening }];
    const expected = await kinglet.chat(messages, { temperature: 0, topK: 1, maxTokens: 128 })
      .result;
    const session = await LanguageModel.create(greedy);
    expect(session).toMatchObject({ ...greedy, contextUsage: 0, contextWindow: 128 });
    const clone = await session.clone();
    expect(await session.prompt(opening)).toBe(expected.text);
    expect((await collect(clone.promptStreaming(opening))).join('')).toBe(expected.text);
    expect(session.contextUsage).toBeGreaterThan(100);
    expect(session.inputUsage).toBe(session.contextUsage);
    session.destroy();
    clone.destroy();
  });

  it('uses no more than the window, whatever the template adds to an answer that fills it', async () => {
    const chatTemplate = '{% for m in messages %}{{ m.content }} The end of a day. {% endfor %}';
    const model = await Kinglet.load(modelBytes, { nThreads: 1, nCtx: 64, chatTemplate });
    const session = await languageModelClass({ model }).create(greedy);
    await session.prompt(opening);
    expect(session.contextUsage).toBe(64);
    model.dispose();
  });

  it('reads at once what it is given, and forks it', async () => {
    const initialPrompts = [{ role: 'user', content: 'Lily had a dog.' } as const];
    const session = await LanguageModel.create({ ...greedy, initialPrompts });
    const text = 'The dog ran.';
    const before = session.contextUsage;
    expect(before).toBe(
      (await kinglet.chatTokens(initialPrompts, { addGenerationPrompt: false })).length,
    );
    const measured = await session.measureContextUsage(text);
    await session.append(text);
    expect(session.contextUsage - before).toBe(measured);
    const clone = await session.clone();
    expect(clone).toBeInstanceOf(LanguageModel);
    expect(clone.contextUsage).toBe(session.contextUsage);
    const [mine, theirs] = await Promise.all([session.prompt('She'), clone.prompt('She')]);
    expect(theirs).toBe(mine);
    clone.destroy();
    expect(small(await session.prompt('Then'))).not.toBe('');
    session.destroy();
  });

  it('matches expressions', async () => {
    const session = await LanguageModel.create({ temperature: 1, topK: 40 });
    const responseConstraint = /(happy|sad), [1-9][0-9]?/;
    expect(await session.prompt(opening, { responseConstraint })).toMatch(
      /^(happy|sad), [1-9][0-9]?$/,
    );
    const wrong = { responseConstraint: { type: 'spoon' } };
    await expect(session.prompt(opening, wrong)).rejects.toMatchObject({
      name: 'NotSupportedError',
    });
    session.destroy();
  });

  it('ends where a signal says so, the reader leaves, or it is destroyed', async () => {
    const session = await LanguageModel.create(greedy);
    await expect(session.prompt(opening, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    const controller = new AbortController();
    const { signal } = controller;
    const reader = session.promptStreaming(opening, { signal }).getReader();
    await reader.read();
    controller.abort();
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toMatchObject({ name: 'AbortError' });
    for await (const delta of session.promptStreaming(opening)) if (delta !== '') break;
    expect(session.contextUsage).toBe(0); // nothing was kept
    const running = session.prompt(opening);
    const waiting = session.prompt(opening);
    session.destroy();
    for (const asked of [running, waiting, session.prompt(opening), session.clone()]) {
      await expect(asked).rejects.toMatchObject({ name: 'InvalidStateError' });
    }
    await expect(session.append(opening)).rejects.toMatchObject({ name: 'InvalidStateError' });
    expect(session.contextWindow).toBe(128);
    await kinglet.generate('a', { maxTokens: 1 }).result; // the model still works
  });

  it('is unavailable where the model makes no text', async () => {
    const file = readFileSync(`${root}tests/fixtures/encoder/nomic-bert.gguf`);
    const embedder = await Kinglet.load(new Blob([file]), { nThreads: 1 });
    const Other = languageModelClass({ model: embedder });
    expect(await Other.availability()).toBe('unavailable');
    await expect(Other.create()).rejects.toMatchObject({ name: 'NotSupportedError' });
    embedder.dispose();
  });
});

describe('the model', () => {
  it('is loaded by the first session, with progress, and shared', async () => {
    const LanguageModel = languageModelClass({ model: new Blob([modelBytes]), nThreads: 1 });
    expect(await LanguageModel.availability()).toBe('available'); // nothing to download
    expect(await LanguageModel.params()).toMatchObject({
      defaultTopK: 40,
      defaultTemperature: 0.8,
    });
    const shares: number[] = [];
    const monitor: LanguageModelCreateOptions['monitor'] = (target) => {
      target.addEventListener('downloadprogress', (event) => {
        shares.push(event.loaded);
      });
    };
    const making = LanguageModel.create({ monitor });
    const second = LanguageModel.create();
    expect(await LanguageModel.availability()).toBe('downloading');
    const sessions = await Promise.all([making, second]);
    expect([shares[0], shares.at(-1)]).toEqual([0, 1]);
    expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b));
    expect(await LanguageModel.availability()).toBe('available');
    expect(await LanguageModel.availability({ expectedInputs: [{ type: 'audio' }] })).toBe(
      'unavailable',
    );
    for (const session of sessions) session.destroy();
    expect(() => new (LanguageModel as unknown as new () => PromptSession)()).toThrow(TypeError);
  });

  it('is asked for in words', async () => {
    expect(() => languageModelClass(undefined as never)).toThrow('the options must be an object');
    const LanguageModel = languageModelClass({ model: null as never });
    await expect(LanguageModel.create()).rejects.toThrow('the model source must be');
    await expect(LanguageModel.create(null as never)).rejects.toThrow('the model source must be');
  });

  it('is downloaded as long as somebody waits for it', async () => {
    const { url, server } = await serve(root, { isolated: false });
    const address = `${url}demo/models/none.gguf`;
    const LanguageModel = languageModelClass({ model: address, cache: false });
    expect(await LanguageModel.availability()).toBe('downloadable');
    await expect(LanguageModel.create()).rejects.toMatchObject({ name: 'NetworkError' });
    const controller = new AbortController();
    const making = LanguageModel.create({ signal: controller.signal });
    controller.abort('enough');
    await expect(making).rejects.toBe('enough');
    expect(await LanguageModel.availability()).toBe('downloadable');
    server.closeAllConnections();
    server.close();
  });

  it('is available if the cache has all its files, which are one or several', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
    const server = await startFaultyServer();
    onTestFinished(() => {
      server.close();
      rmSync(folder, { recursive: true });
    });
    const [first, second] = splitModel(modelBytes, 2);
    server.files.set('/whole-00001-of-00002.gguf', { bytes: modelBytes, etag: '"1"' });
    server.files.set('/split-00001-of-00002.gguf', { bytes: first!, etag: '"1"' });
    server.files.set('/split-00002-of-00002.gguf', { bytes: second!, etag: '"1"' });
    const cache = new ModelCache(folder);
    for (const name of ['whole', 'split']) {
      const model = `${server.url}${name}-00001-of-00002.gguf`;
      const availability = () => languageModelClass({ model, cache: folder }).availability();
      expect(await availability()).toBe('downloadable');
      (await Kinglet.load(model, { cache: folder, nThreads: 1 })).dispose();
      expect(await availability()).toBe('available');
      expect(await cache.list()).toHaveLength(name === 'whole' ? 1 : 2);
      await cache.delete(model);
    }
  });

  it('is installed where there is none, or in its place', () => {
    const scope = globalThis as { LanguageModel?: unknown };
    const options = { model: new Blob([modelBytes]) };
    const installed = installPromptApi(options);
    expect(scope.LanguageModel).toBe(installed);
    expect(installPromptApi(options)).toBe(installed);
    const other = installPromptApi({ ...options, replace: true });
    expect(other).not.toBe(installed);
    expect(scope.LanguageModel).toBe(other);
    delete scope.LanguageModel;
  });
});
