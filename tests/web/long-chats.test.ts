// Conversations that grow longer than the context, with the built package in Node.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { ChatMessage } from 'kinglet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storyModel } from './support.ts';

const chatTemplate =
  "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}" +
  '{% if add_generation_prompt %}assistant: {% endif %}';

describe('a chat in a small context', () => {
  let model: Kinglet;
  beforeAll(async () => {
    const source = new Uint8Array(readFileSync(storyModel));
    model = await Kinglet.load(source, { nThreads: 1, nCtx: 160, chatTemplate });
  });
  afterAll(() => {
    model.dispose();
  });

  const system = { role: 'system', content: 'You tell stories.' };
  const options = { temperature: 0, maxTokens: 20 };

  it('dead-ends by default, with an error that says so', async () => {
    const messages = Array.from({ length: 40 }, () => ({ role: 'user', content: 'Once upon' }));
    await expect(model.chat(messages, options).result).rejects.toMatchObject({
      code: 'prompt_too_long',
    });
  });

  it('goes on without the oldest turns, and reads little again', async () => {
    const session = await model.newSession();
    const messages: ChatMessage[] = [system];
    const dropped: number[] = [];
    let nRead = 0;
    for (let turn = 0; turn < 16; turn += 1) {
      messages.push({ role: 'user', content: `And then, on day ${String(turn)}?` });
      const result = await session.chat(messages, { ...options, onFull: 'dropOldest' }).result;
      messages.push({ role: 'assistant', content: result.text });
      dropped.push(result.dropped ?? -1);
      const { promptTokens, cachedTokens } = result.usage;
      nRead += promptTokens - cachedTokens;
      expect(promptTokens).toBeLessThanOrEqual(160 - 20);
      expect(result.finishReason).not.toBe('context');
      const text = await model.detokenize(await session.tokens());
      expect(text).toContain('You tell stories.');
      expect(text).toContain(`on day ${String(turn)}?`);
    }
    expect(dropped[0]).toBe(0);
    expect(dropped.at(-1)).toBeGreaterThan(10);
    expect(dropped.every((n) => n % 2 === 0)).toBe(true);
    // Some turns leave out as many messages as the turn before, so they read only what is new.
    const kept = dropped.filter((n, i) => n > 0 && n === dropped[i - 1]);
    expect(kept.length).toBeGreaterThan(2);
    expect(nRead / 16).toBeLessThan(70);
  });

  it('keeps the last question even where nothing else fits', async () => {
    const question = { role: 'user', content: 'word '.repeat(122) };
    const before = [system, { role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Ho' }];
    const result = await model.chat([...before, question], { ...options, onFull: 'dropOldest' })
      .result;
    expect(result.dropped).toBe(2);
    const tooLong = { role: 'user', content: 'word '.repeat(200) };
    await expect(
      model.chat([...before, tooLong], { ...options, onFull: 'dropOldest' }).result,
    ).rejects.toMatchObject({ code: 'prompt_too_long' });
  });

  it('shifts the context while it answers, and keeps the system message', async () => {
    const session = await model.newSession();
    const messages = [system, { role: 'user', content: 'Once upon a time' }];
    const logitBias = { 2: -100 }; // prevents the end token
    const long = { temperature: 0, maxTokens: 300, logitBias };
    const cut = await session.chat(messages, long).result;
    expect(cut.finishReason).toBe('context');
    expect(cut).not.toHaveProperty('dropped');
    const whole = await session.chat(messages, { ...long, onFull: 'shift' }).result;
    expect(whole.usage.completionTokens).toBe(300);
    expect(whole).toMatchObject({ finishReason: 'length', dropped: 0 });
    expect(whole.droppedTokens).toBeGreaterThan(100);
    expect(whole.text.startsWith(cut.text)).toBe(true);
    expect(await model.detokenize(await session.tokens())).toContain('You tell stories.');
  });

  it('makes room for a text in a session that is full', async () => {
    const session = await model.newSession({ nCtx: 64 });
    const logitBias = { 2: -100 };
    const fill = { temperature: 0, maxTokens: 100, logitBias };
    expect((await session.generate('Once upon a time', fill).result).finishReason).toBe('context');
    await expect(session.generate(' And then', options).result).rejects.toMatchObject({
      code: 'prompt_too_long',
    });
    const result = await session.generate(' And then', { ...options, onFull: 'shift' }).result;
    expect(result.droppedTokens).toBeGreaterThan(20);
    expect(result.usage.completionTokens).toBeGreaterThan(0);
  });
});
