// Many calls with one signal, in Node: it warns of a leak where a signal has more than ten listeners.
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import { languageModelClass } from 'kinglet/prompt-api';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { controllerOf, unlessAborted, whenAborted } from '../../web/src/when-aborted.ts';
import { collect } from './scripted-model.ts';
import { storyModel } from './support.ts';

const nListeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

/** Returns the warnings of the process, which come a little later than their cause. */
function heardWarnings(): () => Promise<string[]> {
  const heard: string[] = [];
  const hear = ({ name }: Error) => heard.push(name);
  process.on('warning', hear);
  onTestFinished(() => {
    process.off('warning', hear);
  });
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return heard;
  };
}

describe('one signal', () => {
  let model: Kinglet;
  beforeAll(async () => {
    const file = new Blob([readFileSync(storyModel)]);
    const chatTemplate = '{{ messages[0].content }}';
    model = await Kinglet.load(file, { nThreads: 1, chatTemplate });
  });
  afterAll(() => {
    model.dispose();
  });

  const options = { temperature: 0, maxTokens: 2 };
  const messages = [{ role: 'user' as const, content: 'One day' }];
  const ways: [string, (signal: AbortSignal) => Promise<unknown>][] = [
    ['texts', (signal) => model.generate('One day', { ...options, signal }).result],
    ['passes of a prompt', (signal) => model.classify(['a dog'], ['big', 'small'], { signal })],
    [
      'answers of the API',
      (signal) => openAI(model).chat.completions.create({ messages, max_tokens: 2 }, { signal }),
    ],
    [
      'streams of the API',
      async (signal) => {
        const request = { messages, max_tokens: 2, stream: true } as const;
        await collect(await openAI(model).chat.completions.create(request, { signal }));
      },
    ],
    [
      'calls of the Prompt API',
      async (signal) => {
        const session = await languageModelClass({ model }).create({ signal });
        await session.append('One day', { signal });
        session.destroy();
      },
    ],
  ];
  it.each(ways)('is enough for fifteen %s, and is free afterwards', async (_, call) => {
    const warnings = heardWarnings();
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 15 }, () => call(signal)));
    expect(await warnings()).toEqual([]);
    expect(nListeners(signal)).toBe(0);
  });

  it('ends all of fifteen texts', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const running = Array.from(
      { length: 15 },
      () => model.generate('One day', { signal, temperature: 0 }).result,
    );
    controller.abort('enough');
    for (const text of running) await expect(text).rejects.toBe('enough');
    expect((await model.generate('One day', options).result).usage.completionTokens).toBe(2);
  });
});

describe('waiting for a signal', () => {
  it('ends one by one, and begins again', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const called: number[] = [];
    const wait = (i: number) => whenAborted(signal, () => called.push(i));
    const [first, second] = [wait(1), wait(2)];
    expect(nListeners(signal)).toBe(1);
    first();
    first();
    second();
    expect(nListeners(signal)).toBe(0);
    wait(3);
    first(); // which has ended, and takes nothing from the others
    second();
    expect(nListeners(signal)).toBe(1);
    controller.abort();
    wait(4);
    whenAborted(undefined, () => called.push(5))(); // which never aborts
    expect(called).toEqual([3, 4]);
  });

  it('rejects what is not done, with the reason', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const never = new Promise<never>(() => undefined);
    const waiting = unlessAborted(signal, never);
    expect(await unlessAborted(signal, Promise.resolve(1))).toBe(1);
    await expect(unlessAborted(signal, Promise.reject(new Error('no')))).rejects.toThrow('no');
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
  });

  it('joins signals until it is released', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const joined = controllerOf(first.signal, undefined, second.signal);
    const released = controllerOf(first.signal, second.signal);
    released.release();
    second.abort('enough');
    expect(joined.controller.signal.reason).toBe('enough');
    expect(released.controller.signal.aborted).toBe(false);
  });
});
