// The state of a conversation, over the real engine in Node: what it goes through, and what happens when
// a call comes in the middle of another.
import { readFileSync } from 'node:fs';
import { Chat } from 'kinglet';
import type { ChatSetup, ChatState } from 'kinglet';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { storyModel } from './support.ts';

const file = new Blob([readFileSync(storyModel)]);
const load = {
  nThreads: 1,
  chatTemplate: '{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}',
};
const answer = { temperature: 0, maxTokens: 30 };
const opening = 'Once upon a time';

function newChat(setup: ChatSetup = {}): Chat {
  const chat = new Chat({ load, answer, ...setup });
  onTestFinished(chat.dispose);
  return chat;
}

async function loaded(setup?: ChatSetup): Promise<Chat> {
  const chat = newChat(setup);
  await chat.load(file);
  return chat;
}

/** Calls a function once, when the answer that is being written has some text. */
function amidAnswer(chat: Chat, act: () => void): void {
  const end = chat.subscribe(() => {
    const { isAnswering, messages } = chat.getState();
    if (!isAnswering || messages.at(-1)?.content === '') return;
    end();
    act();
  });
}

describe('a chat', () => {
  it('loads, and grows an answer, in states that do not change', async () => {
    const chat = newChat();
    const states: ChatState[] = [];
    const seen: string[] = [];
    chat.subscribe(() => {
      states.push(chat.getState());
      seen.push(JSON.stringify(chat.getState().messages));
    });
    expect(await chat.ask(opening)).toBeUndefined(); // there is no model yet
    expect(states).toEqual([]);
    await chat.load(file);
    expect(states[0]).toMatchObject({ isLoading: true, progress: undefined });
    expect(states.some(({ progress }) => progress !== undefined)).toBe(true);
    expect(chat.getState()).toMatchObject({ isLoading: false, progress: undefined });
    const nBefore = states.length;
    const said = await chat.ask(opening);
    expect(chat.getState().messages).toEqual([{ role: 'user', content: opening }, said]);
    expect(chat.getState().isAnswering).toBe(false);
    const texts = states.slice(nBefore).map(({ messages }) => messages[1]!.content as string);
    expect(texts[0]).toBe('');
    expect(texts.at(-1)).toBe(said!.content);
    expect(new Set(texts).size).toBeGreaterThan(10);
    texts.slice(1).forEach((text, i) => {
      expect(text.startsWith(texts[i]!)).toBe(true);
    });
    expect(states.map(({ messages }) => JSON.stringify(messages))).toEqual(seen);
  });

  it('tells the model its system message, which is not among the messages', async () => {
    const system = 'A story of a dog.';
    const chat = await loaded({ system, messages: [{ role: 'user', content: 'Hello.' }] });
    const said = await chat.ask(opening);
    const all = [
      { role: 'system', content: system },
      { role: 'user', content: 'Hello.' },
      { role: 'user', content: opening },
    ];
    const { text } = await chat.getState().model!.chat(all, answer).result;
    expect(said!.content).toBe(text);
    expect(chat.getState().messages).toEqual([...all.slice(1), said]);
  });

  it('keeps its messages if it is given others that are none', () => {
    const messages = [{ role: 'user', content: 'Hello.' }];
    const chat = newChat({ messages });
    for (const wrong of [null, 5, [null], [{ role: 'x' }]]) {
      chat.restore(wrong as never);
      expect(chat.getState()).toMatchObject({ messages, error: { code: 'invalid_argument' } });
    }
    chat.restore([]);
    expect(chat.getState()).toMatchObject({ messages: [], error: undefined });
    const begun = newChat({ messages: 5 as never });
    expect(begun.getState()).toMatchObject({ messages: [], error: { code: 'invalid_argument' } });
    expect(() => new Chat(null as never)).toThrow('the setup must be an object, not null');
  });

  it('begins anew in the middle of an answer, of which nothing comes back', async () => {
    const chat = await loaded();
    let next: Promise<unknown> | undefined;
    amidAnswer(chat, () => {
      chat.clear();
      next = chat.ask('One day');
    });
    expect(await chat.ask(opening)).toBeUndefined();
    const said = await next;
    expect(said).toMatchObject({ role: 'assistant' });
    expect(chat.getState().messages).toEqual([{ role: 'user', content: 'One day' }, said]);
    expect(chat.getState()).toMatchObject({ isAnswering: false, error: undefined });
  });

  it('asks one question at a time, and keeps what was said when it is stopped', async () => {
    const chat = await loaded();
    let other: Promise<unknown> | undefined;
    amidAnswer(chat, () => {
      other = chat.ask('One day');
      chat.stop();
    });
    const said = await chat.ask(opening);
    expect(await other).toBeUndefined();
    expect(said!.content).not.toBe('');
    expect(chat.getState().messages).toEqual([{ role: 'user', content: opening }, said]);
    expect(chat.getState()).toMatchObject({ isAnswering: false, error: undefined });
  });

  it('keeps its model when another cannot be loaded, and takes the last one asked for', async () => {
    const chat = await loaded();
    const { model } = chat.getState();
    await chat.load(new Blob(['Dear diary']));
    expect(chat.getState()).toMatchObject({ isLoading: false, error: { code: 'not_gguf' } });
    expect(chat.getState().model).toBe(model);
    const first = chat.load(new Blob(['Dear diary']));
    await chat.load(file);
    await first;
    expect(chat.getState()).toMatchObject({ isLoading: false, error: undefined });
    expect(chat.getState().model).not.toBe(model);
    await expect(model!.generate(opening).result).rejects.toMatchObject({ code: 'disposed' });
    expect(await chat.ask(opening)).toBeDefined();
  });

  it('keeps the conversation when it is disposed of, and can load again', async () => {
    const chat = await loaded();
    amidAnswer(chat, chat.dispose);
    const said = await chat.ask(opening);
    expect(said!.content).not.toBe('');
    const { messages } = chat.getState();
    expect(messages).toEqual([{ role: 'user', content: opening }, said]);
    expect(chat.getState()).toMatchObject({ model: undefined, isAnswering: false });
    const abandoned = chat.load(file);
    chat.dispose();
    await abandoned;
    expect(chat.getState()).toMatchObject({ model: undefined, isLoading: false, error: undefined });
    await chat.load(file);
    await chat.ask('One day');
    expect(chat.getState().messages).toHaveLength(4);
  });

  it('goes on whatever a listener throws, and reports it', async () => {
    const reported = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => {
      reported.mockRestore();
    });
    const chat = newChat();
    const error = new Error('no room on the screen');
    chat.subscribe(() => {
      throw error;
    });
    let nHeard = 0;
    chat.subscribe(() => (nHeard += 1));
    await chat.load(file);
    const said = await chat.ask(opening);
    expect(said!.content).not.toBe('');
    expect(chat.getState()).toMatchObject({ isAnswering: false, error: undefined });
    expect(await chat.ask('One day')).toBeDefined();
    expect(nHeard).toBeGreaterThan(10);
    expect(reported.mock.calls).toEqual(Array.from({ length: nHeard }, () => [error]));
  });

  it('takes a question back that failed, and says why', async () => {
    const chat = await loaded();
    chat.setup = { ...chat.setup, answer: { onFull: 'error' } };
    expect(await chat.ask('dog '.repeat(2000))).toBeUndefined();
    expect(chat.getState()).toMatchObject({ messages: [], error: { code: 'prompt_too_long' } });
    expect(await chat.ask(opening)).toBeDefined();
    expect(chat.getState().error).toBeUndefined();
  });
});
