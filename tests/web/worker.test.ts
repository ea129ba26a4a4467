// Both ends of the worker protocol, connected without a worker, with an engine without wasm.
import { beforeEach, describe, expect, it } from 'vitest';
import { inspect } from '../../web/src/inspect.ts';
import { Kinglet } from '../../web/src/kinglet.ts';
import { postedLoadOptions } from '../../web/src/options.ts';
import type { Session } from '../../web/src/session.ts';
import type {
  EmbedOptions,
  EncodeProgress,
  LoadOptions,
  ModelSource,
  RerankOptions,
  SessionOptions,
} from '../../web/src/types.ts';
import type { StartWorker } from '../../web/src/worker-link.ts';
import { ModelHost } from '../../web/src/worker/model-host.ts';
import { FakeEngine } from './fake-engine.ts';

let engine: FakeEngine;
let terminated: number;
let crash: (message: string) => void;

const start: StartWorker = (listener) => {
  let alive = true;
  crash = (message) => {
    listener.onCrash(message);
  };
  const host = new ModelHost({
    post: (message) => {
      queueMicrotask(() => {
        if (alive) listener.onMessage(structuredClone(message));
      });
    },
    openVision: () => Promise.reject(new Error('there is none')),
    openEngine: () =>
      Promise.resolve({ engine, variant: 'fake', singleThreadReason: 'requested' as const }),
  });
  return Promise.resolve({
    post: (message) => {
      const copy = structuredClone(message);
      // Messages that are posted together must arrive together; with timers they might not.
      setImmediate(() => {
        if (alive) host.receive(copy);
      });
    },
    terminate: () => {
      alive = false;
      terminated += 1;
    },
    setBusy: () => undefined,
  });
};

const load = (source: ModelSource = new TextEncoder().encode('story')) =>
  Kinglet.loadWith(start, source, {});

beforeEach(() => {
  engine = new FakeEngine();
  terminated = 0;
});

describe('loading', () => {
  it('puts every byte in its place although the heap moves at each reservation', async () => {
    const model = await load(new TextEncoder().encode('a story of more than five bytes'));
    expect(model.info.name).toBe('a story of more than five bytes');
  });

  it('reads a stream whose chunks are of any size', async () => {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const text of ['a', '', 'bcdefghijklm', 'n']) {
          controller.enqueue(new TextEncoder().encode(text));
        }
        controller.close();
      },
    });
    const [answer] = await hostAnswers(stream);
    expect(answer).toMatchObject({ answer: { info: { name: 'abcdefghijklmn' } } });
  });

  it('keeps only model and session, and the loader not', async () => {
    await load();
    expect(engine.nHandles).toBe(2);
  });

  it('takes a context of 4096 tokens where the model has more', async () => {
    expect((await load()).info).toMatchObject({ contextLength: 100_000, nCtx: 4096 });
  });

  it('ends the worker when the file is refused', async () => {
    await expect(load(new Uint8Array())).rejects.toMatchObject({ code: 'truncated' });
    expect(terminated).toBe(1);
  });

  it('ends the worker when it is aborted, with the reason that was given', async () => {
    const controller = new AbortController();
    const loading = Kinglet.loadWith(start, new Blob(['story']), { signal: controller.signal });
    await Promise.resolve();
    controller.abort('enough');
    await expect(loading).rejects.toBe('enough');
    expect(terminated).toBe(1);
  });
});

describe('generating', () => {
  it('gives pieces and the result', async () => {
    const model = await load();
    const generation = model.generate('ab', { seed: 7 });
    const pieces = [];
    for await (const piece of generation) pieces.push(piece);
    expect(pieces.map(({ text }) => text)).toEqual(['s', 't', 'o', 'r', 'y']);
    expect(pieces[0]?.token).toBe('s'.codePointAt(0));
    expect(await generation.result).toMatchObject({
      text: 'story',
      finishReason: 'stop',
      seed: 7,
      usage: { promptTokens: 3, completionTokens: 5 },
    });
  });

  it('gives the result to whoever does not read the pieces', async () => {
    const { text } = await (await load()).generate('ab').result;
    expect(text).toBe('story');
  });

  it('takes tokens for a prompt as they are', async () => {
    const { usage } = await (await load()).generate([5, 6]).result;
    expect(usage.promptTokens).toBe(2);
  });

  it('runs concurrent calls one after the other, each keeping the beginning it knows', async () => {
    const model = await load();
    const prompts = ['a', 'ab', 'xyz', 'xyz'];
    const results = await Promise.all(prompts.map((prompt) => model.generate(prompt).result));
    expect(engine.calls).toEqual([
      'start 2, 0 known',
      'start 3, 2 known',
      'start 4, 1 known',
      'start 4, 3 known',
    ]);
    expect(results.map(({ usage }) => usage)).toEqual([
      { promptTokens: 2, cachedTokens: 0, completionTokens: 5 },
      { promptTokens: 3, cachedTokens: 2, completionTokens: 5 },
      { promptTokens: 4, cachedTokens: 1, completionTokens: 5 },
      { promptTokens: 4, cachedTokens: 3, completionTokens: 5 },
    ]);
  });

  it('does not block when a reader waits for another generation inside its loop', async () => {
    const model = await load();
    const texts = [];
    for await (const piece of model.generate('a')) {
      texts.push(piece.text + (await model.generate('b', { maxTokens: 1 }).result).text);
    }
    expect(texts).toEqual(['ss', 'ts', 'os', 'rs', 'ys']);
  });

  it('posts its options as the engine wants them', async () => {
    const model = await load();
    await model.generate('a').result;
    expect(engine.options[0]).toMatchObject({
      ...{ temperature: 0.8, frequencyPenalty: 0, presencePenalty: 0, logprobs: -1, stop: [] },
      ...{ lookup: 7, logitBias: [] },
      ...{ typicalP: 1, xtcProbability: 0, xtcThreshold: 0.1, dryMultiplier: 0, dryBase: 1.75 },
      ...{ dryPenaltyLastN: -1, drySequenceBreakers: ['\n', ':', '"', '*'] },
    });
    const options = { frequencyPenalty: 1.5, presencePenalty: -2, logprobs: 0, stop: ['é', '\n'] };
    await model.generate('a', { ...options, logitBias: { 7: -100, 2: 0.5 } }).result;
    expect(engine.options[1]).toMatchObject({
      ...options,
      logitBias: [
        [2, 0.5],
        [7, -100],
      ],
    });
  });

  it('takes what the file recommends, unless it is told otherwise', async () => {
    engine.sampling = { temperature: 0.25, topK: 7, repeatLastN: 5 };
    const model = await load();
    expect(model.info.sampling).toEqual(engine.sampling);
    await model.generate('a').result;
    expect(engine.options[0]).toMatchObject({ ...engine.sampling, topP: 0.95 });
    await model.generate('a', { temperature: 0, topP: 0.5 }).result;
    expect(engine.options[1]).toMatchObject({ ...{ temperature: 0, topK: 7, topP: 0.5 } });
  });

  it('tells log probabilities where they are asked for', async () => {
    const model = await load();
    const pieces = [];
    for await (const piece of model.generate('a', { maxTokens: 1, logprobs: 2 })) {
      pieces.push(piece);
    }
    const bytesOf = (text: string) => new TextEncoder().encode(text);
    const top = [
      { token: 115, text: 's', bytes: bytesOf('s'), logprob: -0.5 },
      { token: 33, text: '!', bytes: bytesOf('!'), logprob: -1.5 },
    ];
    const spelled = { tokenText: 's', tokenBytes: bytesOf('s') };
    expect(pieces).toEqual([{ text: 's', token: 115, ...spelled, logprob: -0.5, top }]);
    for await (const piece of model.generate('a', { maxTokens: 1 })) {
      expect(piece).toEqual({ text: 's', token: 115 });
    }
  });

  it('reads a long prompt in batches', async () => {
    const model = await load();
    await model.generate('x'.repeat(300)).result;
    expect(engine.batches.reduce((sum, n) => sum + n)).toBe(301);
  });

  it('draws a seed when none is given', async () => {
    const model = await load();
    const first = await model.generate('a').result;
    const second = await model.generate('a').result;
    expect(first.seed).not.toBe(second.seed);
  });
});

describe('sessions', () => {
  const textOf = (tokens: number[]) => String.fromCodePoint(...tokens);

  it('have contexts of their own, which their prompts continue', async () => {
    const model = await load();
    const session = await model.newSession();
    await session.generate('ab', { maxTokens: 2 }).result;
    await model.generate('xy').result;
    await session.generate('cd', { maxTokens: 1 }).result;
    expect(textOf(await session.tokens())).toBe('\u0001abstcds');
    expect(await session.nPositions()).toBe(8);
  });

  it('take the model’s context and kinds of keys and values where they are given none', async () => {
    const options = { nCtx: 100, kv: { k: 'q8', v: 'f16' } } as const;
    const model = await Kinglet.loadWith(start, new Blob(['story']), options);
    const same = await model.newSession();
    const other = await model.newSession({ nCtx: 50, kv: 'int8' });
    expect(engine.sessions.slice(1)).toEqual([
      { nCtx: 100, nBatch: 0, kKind: 'q8', vKind: 'f16', kvPool: 0 },
      { nCtx: 50, nBatch: 0, kKind: 'int8', vKind: 'int8', kvPool: 0 },
    ]);
    const memory = { kvBytes: 1000, recurrentBytes: 0, scratchBytes: 100 };
    expect(same.info).toEqual({ nCtx: 100, kv: { k: 'q8', v: 'f16' }, memory });
    expect(other.info).toEqual({ nCtx: 50, kv: { k: 'int8', v: 'int8' }, memory });
  });

  it('refuse wrong options before anything is loaded', async () => {
    const source = new Blob(['story']);
    for (const kv of ['f8', { k: 'f32' }, { k: 'f32', v: 'toString' }, 8, null]) {
      const options = { kv } as LoadOptions;
      await expect(Kinglet.loadWith(start, source, options)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('kv must be auto, one of f32, f16, int8') as string,
      });
    }
    const model = await load();
    const pools = [0, 63, 100.5, -1, '900', NaN].map((kvPool) => ({ nCtx: 20, kvPool }));
    for (const options of [{ nCtx: 0 }, { kv: 'f8' }, { ctx: 1 }, ...pools]) {
      await expect(model.newSession(options as SessionOptions)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
    await expect(model.newSession({ nCtx: 900, kvPool: 899 })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'kvPool must be a whole number from 900 to 4294967295, not 899',
    });
    for (const n of [-1, 1.5, NaN]) {
      await expect((await model.newSession()).truncate(n)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
  });

  it('keep what a conversation has in common with the turns before', async () => {
    const session = await (await load()).newSession();
    const messages = [{ role: 'user', content: 'Hi' }];
    const first = await session.chat(messages).result;
    expect(first.usage.cachedTokens).toBe(0);
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'Ho' });
    expect((await session.chat(messages).result).usage.cachedTokens).toBeGreaterThan(3);
  });

  it('can be taken back and forked, and each fork goes its own way', async () => {
    const session = await (await load()).newSession();
    await session.generate('abcd', { maxTokens: 1 }).result;
    await session.truncate(3);
    const fork = await session.fork();
    await fork.generate('x', { maxTokens: 1 }).result;
    await session.generate('y', { maxTokens: 1 }).result;
    expect(textOf(await fork.tokens())).toBe('\u0001abxs');
    expect(textOf(await session.tokens())).toBe('\u0001abys');
    await expect(session.truncate(9)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(fork.info).toEqual(session.info);
  });

  it('count the memory of shared pages once, and tell of them while one writes', async () => {
    const session = await (await load()).newSession({ nCtx: 100, kvPool: 200 });
    expect(engine.sessions.at(-1)).toMatchObject({ nCtx: 100, kvPool: 200 });
    const fork = await session.fork();
    const forkOfFork = await fork.fork();
    const kvBytes = [session, fork, forkOfFork].map(({ info }) => info.memory.kvBytes);
    expect(kvBytes).toEqual([1000, 0, 0]);
    let isDone = false;
    const { result } = session.generate('abc');
    void result.then(() => (isDone = true));
    expect(await session.kvPages()).toEqual({
      ...{ pageTokens: 32, pageBytes: 250, nPages: 4, nFree: 2, nCopies: 7 },
      ...{ table: [3, 1], users: [0, 1, 0, 2] },
    });
    expect(isDone).toBe(false);
    await result;
    fork.dispose();
    await expect(fork.kvPages()).rejects.toMatchObject({ code: 'disposed' });
  });

  it('do what they are asked in order, a fork and tokens after a running generation too', async () => {
    const session = await (await load()).newSession();
    const generation = session.generate('a').result;
    const tokens = session.tokens();
    const fork = session.fork();
    const later = session.generate('b', { maxTokens: 1 }).result;
    expect(textOf(await tokens)).toBe('\u0001astory');
    expect(textOf(await (await fork).tokens())).toBe('\u0001astory');
    await Promise.all([generation, later]);
    expect(textOf(await session.tokens())).toBe('\u0001astorybs');
  });

  it('take turns, one step each', async () => {
    const model = await load(new TextEncoder().encode('x'.repeat(1000)));
    const order: string[] = [];
    const read = async (name: string, session: Session) => {
      for await (const { text } of session.generate('a', { maxTokens: 1000 })) {
        if (text) order.push(name);
      }
    };
    const sessions = await Promise.all(['A', 'B', 'C'].map(() => model.newSession()));
    await Promise.all(sessions.map((session, i) => read('ABC'.charAt(i), session)));
    const together = order.slice(
      Math.max(...['A', 'B', 'C'].map((name) => order.indexOf(name))),
      Math.min(...['A', 'B', 'C'].map((name) => order.lastIndexOf(name))),
    );
    expect(together.length).toBeGreaterThan(300);
    const turn = together.slice(0, 3);
    expect(turn.toSorted()).toEqual(['A', 'B', 'C']);
    expect(together).toEqual(together.map((_, i) => turn[i % 3]));
  });

  it('reject what runs and waits once disposed of, and leave the model alone', async () => {
    const model = await load(new TextEncoder().encode('x'.repeat(2000)));
    const session = await model.newSession();
    const nHandles = engine.nHandles;
    const pending: Promise<unknown>[] = [
      session.generate('a', { maxTokens: 2000 }).result,
      session.generate('b').result,
      session.fork(),
      session.tokens(),
    ];
    session.dispose();
    session.dispose();
    pending.push(session.generate('c').result, session.nPositions());
    for (const outcome of await Promise.allSettled(pending)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'disposed', message: 'the session has been disposed of' },
      });
    }
    expect((await model.generate('a', { maxTokens: 2 }).result).text).toBe('xx');
    expect(engine.nHandles).toBe(nHandles - 1);
  });

  it('decode tokens and give the logits after the last, between generations', async () => {
    const session = await (await load()).newSession();
    const generation = session.generate([5], { maxTokens: 1 }).result;
    expect(await session.decode([7, 8, 9])).toEqual(Float32Array.of(8, 9));
    await generation;
    expect(await session.tokens()).toEqual([5, 's'.codePointAt(0), 7, 8, 9]);
    expect(await session.decode(Array.from({ length: 200 }, () => 1))).toHaveLength(2);
    expect(engine.batches.slice(0, 3)).toEqual([1, 3, 64]);
    for (const wrong of [[-1], [1.5], [NaN]]) {
      await expect(session.decode(wrong)).rejects.toMatchObject({ code: 'invalid_argument' });
    }
  });

  it('are as they were when decoding fails or is aborted', async () => {
    const session = await (await load()).newSession();
    await session.decode([5, 6]);
    const damaged = Array.from({ length: 100 }, (_, i) => (i === 90 ? 99_999 : 1));
    await expect(session.decode(damaged)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await session.tokens()).toEqual([5, 6]);

    const controller = new AbortController();
    engine.onStep = () => {
      controller.abort('enough');
    };
    const long = Array.from({ length: 3000 }, () => 1);
    const { signal } = controller;
    await expect(session.decode(long, { signal })).rejects.toBe('enough');
    expect(await session.tokens()).toEqual([5, 6]);
    await expect(session.decode([1], { signal })).rejects.toBe('enough');
    expect(engine.batches.reduce((sum, n) => sum + n)).toBeLessThan(2000);
  });

  it('are saved and restored', async () => {
    const session = await (await load()).newSession();
    await session.decode([5, 6, 7]);
    const state = await session.save();
    await session.decode([8]);
    await session.restore(state);
    expect(await session.tokens()).toEqual([5, 6, 7]);
    await expect(session.restore(Uint8Array.of(0))).rejects.toMatchObject({ code: 'corrupt' });
    await expect(session.restore('state' as unknown as Uint8Array)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await session.tokens()).toEqual([5, 6, 7]);
  });

  it('embed texts by an encoder that is gone afterwards', async () => {
    const model = await load();
    const { nHandles } = engine;
    const [mean, longer] = await model.embed(['ab', 'x'.repeat(100)]);
    // The fake engine's vectors are the sum of a text's tokens, and 1.
    expect(mean[0]! / mean[1]!).toBeCloseTo(97 + 98, 3);
    expect(Math.hypot(...mean)).toBeCloseTo(1, 5);
    expect(longer[0]! / longer[1]!).toBeCloseTo(120 * 100, 1);
    expect(engine.batches).toEqual([2]); // in one group
    const plain = { normalize: false };
    const [last] = await model.embed(['xb'], { pooling: 'last', ...plain });
    expect([...last]).toEqual([98, 1]);
    const [prompted] = await model.embed(['a'], { prompt: 'b', dimensions: 1, ...plain });
    expect([...prompted]).toEqual([97 + 98]);
    const [cut] = await model.embed(['x'.repeat(2000)], { truncate: true, ...plain });
    expect([...cut]).toEqual([120 * 1000, 1]);
    const [tokens] = await model.embed([[3, 4]], { prompt: 'b', ...plain });
    expect([...tokens]).toEqual([7, 1]);
    expect(engine.nHandles).toBe(nHandles);
    expect(await model.embed([])).toEqual([]);
    for (const texts of [5, [1]]) {
      await expect(model.embed(texts as unknown as string[])).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
    for (const wrong of [
      { pooling: 'max' },
      ...[{ dimensions: 0 }, { dimensions: 3 }, { dimensions: 1.5 }],
      ...[{ normalize: 1 }, { truncate: 'yes' }, { prompt: 5 }, { pools: 'mean' }],
    ]) {
      const options = wrong as unknown as EmbedOptions;
      await expect(model.embed(['a'], options)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
    await expect(model.embed(['a', 'x'.repeat(2000)])).rejects.toMatchObject({
      code: 'prompt_too_long',
      message: 'text 1: the text is too long',
    });
    await expect(model.embed(['a', ''])).rejects.toThrow('text 1 has no tokens');
    await expect(model.embed(['a'], { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(engine.nHandles).toBe(nHandles);
  });

  it('embed many texts in groups, and stop where that is wished for', async () => {
    const model = await load();
    const { nHandles } = engine;
    const texts = Array.from({ length: 10_000 }, (_, i) => `text ${String(i)}`);
    const progress: EncodeProgress[] = [];
    const onProgress = (done: EncodeProgress) => void progress.push(done);
    const embeddings = await model.embed(texts.slice(0, 200), { onProgress });
    expect(embeddings).toHaveLength(200);
    expect(progress.length).toBeGreaterThan(2);
    expect(progress.at(-1)).toEqual({ done: 200, total: 200 });
    const controller = new AbortController();
    const wanted = model.embed(texts, {
      signal: controller.signal,
      onProgress: () => {
        controller.abort('enough');
      },
    });
    await expect(wanted).rejects.toBe('enough');
    await model.embed(['after']);
    expect(engine.batches.length).toBeLessThan(100);
    expect(engine.nHandles).toBe(nHandles);
  });

  it('take the pooling from the file, and refuse what the model was not made for', async () => {
    engine.purpose = 'embeddings';
    engine.pooling = 'last';
    const model = await load();
    expect(model.info).toMatchObject({ purpose: 'embeddings', pooling: 'last', embeddingSize: 2 });
    expect(model.info.nCtx).toBe(100_000);
    const [last] = await model.embed(['xb'], { normalize: false });
    expect([...last]).toEqual([98, 1]);
    const refused = { code: 'unsupported_feature' };
    await expect(model.generate('a').result).rejects.toMatchObject({
      ...refused,
      message: 'this fake model computes embeddings and cannot generate text: call embed()',
    });
    await expect(model.rerank('a', ['b'])).rejects.toMatchObject(refused);
    engine.pooling = '';
    await expect((await load()).embed(['a'])).rejects.toMatchObject({ code: 'missing_metadata' });
  });

  it('rank documents', async () => {
    engine.purpose = 'ranking';
    engine.pooling = 'rank';
    const model = await load();
    expect(model.info).toMatchObject({ purpose: 'ranking', pooling: undefined });
    // The fake engine's score is the last token.
    const documents = ['da', 'dc', 'db'];
    expect(await model.rerank('q', documents)).toEqual([
      { index: 1, score: 99 },
      { index: 2, score: 98 },
      { index: 0, score: 97 },
    ]);
    expect(await model.rerank('q', documents, { topN: 1 })).toEqual([{ index: 1, score: 99 }]);
    await expect(model.rerank('q', ['x'.repeat(2000)])).rejects.toMatchObject({
      code: 'prompt_too_long',
    });
    expect(await model.rerank('q', ['x'.repeat(2000)], { truncate: true })).toHaveLength(1);
    for (const [query, texts, options] of [
      [5, documents, {}],
      ['q', 'd', {}],
      ['q', [5], {}],
      ['q', documents, { topN: 0 }],
      ['q', documents, { best: 1 }],
    ] as unknown as [string, string[], RerankOptions][]) {
      await expect(model.rerank(query, texts, options)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
    await expect(model.embed(['a'])).rejects.toMatchObject({ code: 'unsupported_feature' });
    await expect(model.newSession()).rejects.toMatchObject({ code: 'unsupported_feature' });
  });

  it('reject with the model when that is disposed of', async () => {
    const model = await load();
    const session = await model.newSession();
    const { result } = session.generate('a');
    model.dispose();
    session.dispose();
    await expect(result).rejects.toMatchObject({ code: 'disposed' });
    await expect(session.fork()).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.newSession()).rejects.toMatchObject({ code: 'disposed' });
  });
});

describe('cancelling', () => {
  const long = new TextEncoder().encode('x'.repeat(2000));

  it('stops at the next step when the loop is left', async () => {
    const model = await load(long);
    let nSteps = 0;
    engine.onStep = () => (nSteps += 1);
    const generation = model.generate('a', { maxTokens: 2000 });
    for await (const { text } of generation) {
      expect(text).toBe('x');
      break;
    }
    const result = await generation.result;
    expect(result.finishReason).toBe('cancelled');
    // A message to the fake worker takes a moment, in which the engine makes a few more steps.
    expect(nSteps).toBeLessThan(500);
  });

  it('by cancel() resolves with what there is, and ends the loop', async () => {
    const model = await load(long);
    const generation = model.chat([{ role: 'user', content: 'a' }], { maxTokens: 2000 });
    let text = '';
    let cancelled: Promise<unknown> | undefined;
    for await (const piece of generation) {
      text += piece.text;
      if (text.length === 3) cancelled = generation.cancel();
    }
    const result = await generation.result;
    expect(await cancelled).toBe(result);
    expect(result).toMatchObject({ text, finishReason: 'cancelled', usage: { promptTokens: 3 } });
    expect(result.usage.completionTokens).toBe(text.length);
    expect(text.length).toBeGreaterThan(2);
    // cancel() leaves a finished generation as it is, and gives a waiting generation no text.
    const whole = model.generate('a', { maxTokens: 3 });
    expect(await model.generate('b').cancel()).toMatchObject({
      text: '',
      finishReason: 'cancelled',
    });
    await whole.result;
    expect(await whole.cancel()).toMatchObject({ text: 'xxx', finishReason: 'stop' });
  });

  it('by a signal keeps what there is for partial and cancel()', async () => {
    const model = await load(long);
    const controller = new AbortController();
    const generation = model.generate('a', { maxTokens: 2000, signal: controller.signal });
    let read = '';
    const reading = (async () => {
      for await (const piece of generation) {
        read += piece.text;
        if (read.length === 3) controller.abort('enough');
      }
    })();
    await expect(reading).rejects.toBe('enough');
    await expect(generation.result).rejects.toBe('enough');
    const partial = await generation.partial;
    expect(partial.finishReason).toBe('cancelled');
    expect(partial.text.startsWith(read)).toBe(true);
    expect(partial.usage.completionTokens).toBe(partial.text.length);
    expect(await generation.cancel()).toBe(partial);

    const early = model.generate('a', { signal: controller.signal });
    await expect(early.result).rejects.toBe('enough');
    expect(await early.partial).toMatchObject({ text: '', finishReason: 'cancelled' });
  });

  it('does not hide an error', async () => {
    const model = await load(long);
    const generation = model.generate('a', { maxTokens: 2000 });
    for await (const piece of generation) if (piece.text !== '') break;
    model.dispose();
    await expect(generation.cancel()).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.generate('a').cancel()).rejects.toMatchObject({ code: 'disposed' });
  });

  it('rejects with an AbortError, and the model goes on working', async () => {
    const model = await load(long);
    const controller = new AbortController();
    const generation = model.generate('a', { maxTokens: 2000, signal: controller.signal });
    const read = async () => {
      for await (const piece of generation) if (piece.text) controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    await expect(generation.result).rejects.toMatchObject({ name: 'AbortError' });
    expect((await model.generate('a', { maxTokens: 3 }).result).text).toBe('xxx');
  });

  it('reaches the engine through shared memory, without waiting for messages', async () => {
    const model = await load(long);
    const controller = new AbortController();
    let nSteps = 0;
    engine.onStep = () => {
      nSteps += 1;
      if (nSteps === 5) controller.abort();
    };
    const { signal } = controller;
    const aborted = model.generate('a', { maxTokens: 2000, signal }).result;
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    // The next generation, which nobody has cancelled, is not taken for the cancelled one.
    expect((await model.generate('a', { maxTokens: 3 }).result).text).toBe('xxx');
    expect(nSteps).toBe(5 + 1 + 4);
  });

  it('never starts a generation that is aborted while it waits', async () => {
    const model = await load(long);
    const controller = new AbortController();
    const first = model.generate('a', { maxTokens: 300 }).result;
    const second = model.generate('bcdef', { signal: controller.signal }).result;
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: 'AbortError' });
    await first;
    await model.generate('a', { maxTokens: 1 }).result;
    expect(engine.calls.join()).not.toContain('start 6');
  });

  it('does no work for a signal that was aborted before', async () => {
    const model = await load();
    const signal = AbortSignal.abort();
    await expect(model.generate('a', { signal }).result).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(engine.calls).toEqual([]);
  });
});

describe('failing', () => {
  it('hands the engine’s errors on and goes on working', async () => {
    const model = await load();
    const tooLong = model.generate('x'.repeat(5000));
    await expect(tooLong.result).rejects.toMatchObject({ code: 'prompt_too_long' });
    expect((await model.generate('a').result).text).toBe('story');
  });

  const refused: [object, string][] = [
    [{ maxTokens: 0 }, 'maxTokens must be a whole number from 1'],
    [{ maxTokens: 2.5 }, 'maxTokens must be a whole number'],
    [{ temperature: NaN }, 'temperature must be a number from 0'],
    [{ temperature: -1 }, 'temperature must be a number from 0'],
    [{ frequencyPenalty: 101 }, 'frequencyPenalty must be a number from -100 to 100'],
    [{ logprobs: -1 }, 'logprobs must be a whole number from 0 to 100'],
    [{ lookup: 8 }, 'lookup must be a whole number from 0 to 7, not 8'],
    [{ logitBias: { 5: 101 } }, 'logitBias of token 5 must be a number from -100'],
    [{ logitBias: { five: 1 } }, 'a token of logitBias must be a whole number'],
    [{ stop: 'x' }, 'stop must be an array of strings'],
    [{ stop: ['x', ''] }, 'none of them empty'],
    [{ stop: ['\uD83D'] }, 'not valid Unicode'],
    [{ topP: 1.5 }, 'topP must be a number from 0 to 1, not 1.5'],
    [{ repeatPenalty: 0 }, 'repeatPenalty must be a number more than 0, up to 100, not 0'],
    [{ dryPenaltyLastN: -2 }, 'dryPenaltyLastN must be a whole number from -1 to'],
    [
      { drySequenceBreakers: ['a', ''] },
      'drySequenceBreakers must be an array of strings, none of',
    ],
    [{ drySequenceBreakers: 'a' }, 'drySequenceBreakers must be an array of strings'],
    [{ repeatLastN: 65_537 }, 'repeatLastN must be a whole number from 0 to 65536, not 65537'],
    [{ onFull: 'dropOldest' }, 'onFull must be "error" or "shift", not "dropOldest": only chat()'],
    [{ indent: 11, jsonSchema: true }, 'indent must be a whole number from 0 to 10, not 11'],
    [{ indent: 2 }, 'indent needs a jsonSchema'],
    [{ temprature: 1 }, 'unknown option "temprature"; the options are maxTokens, temperature'],
  ];
  it.each(refused)('refuses %o', async (options, message) => {
    const model = await load();
    const { result } = model.generate('a', options);
    await expect(result).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
    expect(engine.calls).toEqual([]);
  });

  it.each([
    [
      'chat',
      { addBos: true },
      ['tools', 'variables', 'trustContent', 'prefix', 'onFull'],
      'addBos',
    ],
    ['generate', { tools: [] }, ['addBos', 'parseSpecial', 'indent', 'onFull'], 'tools'],
    ['chatPrompt', { trustContent: true }, ['addGenerationPrompt', 'tools'], 'trustContent'],
    ['chatTokens', { onFull: 'error' }, ['addGenerationPrompt', 'trustContent'], 'onFull'],
    ['decode', { maxTokens: 1 }, ['signal'], 'maxTokens'],
  ])('%s() refuses an unknown option, and lists its own', async (call, options, known, unknown) => {
    const model = await load();
    const messages = [{ role: 'user', content: 'a' }];
    const calls: Record<string, () => Promise<unknown>> = {
      chat: () => model.chat(messages, options as object).result,
      generate: () => model.generate('a', options as object).result,
      chatPrompt: () => model.chatPrompt(messages, options as object),
      chatTokens: () => model.chatTokens(messages, options as object),
      decode: async () => (await model.newSession()).decode([1], options as object),
    };
    const error = await calls[call]!().catch((thrown: unknown) => thrown as Error);
    const [, refused, list = ''] =
      /^unknown option "(.*)"; the options are (.*)$/.exec((error as Error).message) ?? [];
    expect(refused).toBe(unknown);
    expect(list.split(', ')).toEqual(expect.arrayContaining(known));
    expect(list.split(', ')).not.toContain(unknown);
  });

  it('refuses half a surrogate pair in a prompt and says where it is', async () => {
    const { result } = (await load()).generate('ab\uD83D!');
    await expect(result).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('U+D83D) at index 2') as string,
    });
  });

  it.each([
    [{ bos: true }, (model: Kinglet, options: object) => model.tokenize('a', options)],
    [{ bos: true }, (model: Kinglet, options: object) => model.countTokens('a', options)],
    [{ control: true }, (model: Kinglet, options: object) => model.detokenize([1], options)],
    [{ special: 'no' }, (model: Kinglet, options: object) => model.detokenize([1], options)],
    [{ cache: false }, (_: Kinglet, options: object) => inspect(new Blob(), options)],
  ])('refuses %o, and lists what there is', async (options, call) => {
    await expect(call(await load(), options)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/the options are \w+|special must be true or false/) as string,
    });
  });

  it('says that a stream which is being read cannot be sent', async () => {
    const stream = new ReadableStream<Uint8Array>();
    stream.getReader();
    const post: StartWorker = (listener, place) =>
      start(listener, place).then((link) => ({
        ...link,
        post: (message, transfer = []) => {
          link.post(structuredClone(message, { transfer }));
        },
      }));
    await expect(Kinglet.loadWith(post, stream, {})).rejects.toMatchObject({
      ...{ name: 'KingletError', code: 'invalid_argument' },
      message: expect.stringContaining('cannot be sent to the worker') as string,
    });
  });

  it.each([
    [{ worker: 'worker.js' }, 'worker must be "own", "here" or a function'],
    [{ blobWorker: 'yes' }, 'blobWorker must be true or false'],
    [{ workerUrl: 'http://[' }, '"http://[" is not a URL'],
    [{ engineUrl: 'http://[' }, '"http://[" is not a URL'],
    [
      { worker: () => undefined, workerUrl: 'worker.js' },
      'worker cannot be combined with workerUrl or blobWorker',
    ],
  ])('refuses the place %o', async (options: object, message) => {
    await expect(Kinglet.loadWith(start, new Blob(['story']), options)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
  });

  it('refuses unknown load options and kernel sets', async () => {
    const source = new Blob(['story']);
    const misspelt: object = { threads: 2 };
    await expect(Kinglet.loadWith(start, source, misspelt)).rejects.toMatchObject({
      message: expect.stringContaining('unknown option "threads"') as string,
    });
    await expect(Kinglet.loadWith(start, source, { kernels: 'best' })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'unknown kernel set "best" (known: fast, scalar)',
    });
  });

  it('rejects what is pending when the engine traps, and the next load works', async () => {
    const model = await load();
    engine.onStep = () => {
      throw new WebAssembly.RuntimeError('unreachable');
    };
    const generations = [model.generate('a').result, model.generate('b').result];
    for (const generation of generations) {
      await expect(generation).rejects.toMatchObject({
        code: 'worker_crashed',
        message: 'the worker crashed: unreachable',
      });
    }
    await expect(model.tokenize('a')).rejects.toMatchObject({ code: 'worker_crashed' });
    expect(terminated).toBe(1);

    engine = new FakeEngine();
    expect((await (await load()).generate('a').result).text).toBe('story');
  });

  it('rejects what is pending when the worker dies', async () => {
    const model = await load();
    const { result } = model.generate('a');
    crash('it ended');
    await expect(result).rejects.toMatchObject({ code: 'worker_crashed' });
  });

  it('rejects what is pending and what comes later once it is disposed of', async () => {
    const model = await load();
    const { result } = model.generate('a');
    model.dispose();
    model.dispose();
    await expect(result).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.generate('a').result).rejects.toMatchObject({ code: 'disposed' });
    expect(terminated).toBe(1);
  });

  it('is disposed of at the end of a block, as its sessions are', async () => {
    const model = await load();
    const [one, other] = [await model.newSession(), await model.newSession()];
    one[Symbol.dispose]();
    await other[Symbol.asyncDispose]();
    for (const session of [one, other]) {
      await expect(session.tokens()).rejects.toMatchObject({ code: 'disposed' });
    }
    model[Symbol.dispose]();
    await model[Symbol.asyncDispose]();
    await expect(model.tokenize('a')).rejects.toMatchObject({ code: 'disposed' });
    expect(terminated).toBe(1);
  });
});

/** Returns the final answer of a host that loads a stream, which structuredClone() cannot copy. */
async function hostAnswers(stream: ReadableStream<Uint8Array>) {
  return new Promise<unknown[]>((resolve) => {
    const host = new ModelHost({
      post: (message) => {
        if (message.type === 'answer' || message.type === 'failed') resolve([message]);
      },
      openVision: () => Promise.reject(new Error('there is none')),
      openEngine: () =>
        Promise.resolve({ engine, variant: 'fake', singleThreadReason: 'requested' as const }),
    });
    host.receive({
      type: 'call',
      id: 1,
      call: 'load',
      takes: { sources: [{ kind: 'stream', stream }], options: postedLoadOptions({}) },
    });
  });
}
