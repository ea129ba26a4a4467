// What goes back and forth in a conversation: texts, answers as messages, the results of tools.
import { readFileSync } from 'node:fs';
import { Kinglet, toolResult } from 'kinglet';
import type { ChatMessage, ChatTool } from 'kinglet';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { exactly } from './scripted-model.ts';
import { storyModel, withChatTemplate } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

const file = new Blob([readFileSync(storyModel)]);

async function load(template: string): Promise<Kinglet> {
  const model = await Kinglet.load(file, { nThreads: 1, chatTemplate: template });
  onTestFinished(() => {
    model.dispose();
  });
  return model;
}

const plain = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}';
const tools: ChatTool[] = [{ type: 'function', function: { name: 'get_weather' } }];
const calls =
  '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n' +
  '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>';

describe('a text', () => {
  it('is the message of a user', async () => {
    const model = await load(plain);
    const options = { maxTokens: 20, temperature: 0 };
    const { text } = await model.chat('Once upon a time', options).result;
    const messages = [{ role: 'user', content: 'Once upon a time' }];
    expect((await model.chat(messages, options).result).text).toBe(text);
    expect(text).not.toBe('');
  });

  it('has one vector', async () => {
    const model = await load(plain);
    const [vector] = await model.embed(['Once upon a time']);
    expect(await model.embed('Once upon a time')).toEqual(vector);
  });
});

describe('the message of an answer', () => {
  it('goes back with the results of its calls', async () => {
    const model = await load(chatTemplate('marks'));
    const said = `<think>\nHm.\n</think>\n\nI look.\n${calls}`;
    const messages: ChatMessage[] = [{ role: 'user', content: 'Weather?' }];
    const answer = model.chat(messages, { tools, grammar: exactly(said) });
    const ids: string[] = [];
    for await (const { toolCalls = [] } of answer) {
      for (const { id } of toolCalls) if (id !== undefined) ids.push(id);
    }
    const { message, toolCalls = [] } = await answer.result;
    expect(toolCalls.map(({ id }) => id)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    expect(message).toEqual({
      ...{ role: 'assistant', content: 'I look.', reasoning_content: 'Hm.' },
      tool_calls: ['Oslo', 'Rome'].map((city, i) => ({
        ...{ id: ids[i], type: 'function' },
        function: { name: 'get_weather', arguments: `{"city":"${city}"}` },
      })),
    });
    messages.push(message, ...toolCalls.map((call) => toolResult(call, { rain: true })));
    expect(messages.at(-1)).toEqual({
      ...{ role: 'tool', tool_call_id: ids[1], name: 'get_weather', content: '{"rain":true}' },
    });
    const prompt = await model.chatPrompt(messages, { tools });
    expect(prompt).toContain('I look.');
    expect(prompt).toContain('Rome');
    expect(prompt).toContain('{"rain":true}');
  });

  it('has finished only if its calls are whole', async () => {
    const model = await load(chatTemplate('marks'));
    const finish = async (given: string, stop: string[] = []) => {
      const said = `<tool_call>\n{"name": "get_weather", "arguments": ${given}`;
      const answer = model.chat('Weather?', { tools, grammar: exactly(said), stop });
      const { finishReason, toolCalls = [] } = await answer.result;
      expect(toolCalls).toHaveLength(1);
      return [finishReason, toolCalls[0]!.arguments];
    };
    const whole = '{"city": "Oslo"}}\n</tool_call>';
    expect(await finish(whole)).toEqual(['stop', '{"city":"Oslo"}']);
    expect(await finish('"{\\"city\\": 1}"}')).toEqual(['stop', '{"city": 1}']);
    for (const given of ['{"city": "Os', '{"city": ?}}', '"hi"}', 'null}', '[1]}', '5}', 'true}']) {
      expect((await finish(given))[0]).toBe('length');
    }
    // A string to stop at ends the whole answer.
    expect(await finish(whole, ['lo"'])).toEqual(['length', '{"city":"Os']);
    expect(await finish(whole, ['</tool_call>'])).toEqual(['stop', '{"city":"Oslo"}']);
  });

  it('may have no content beside its calls', async () => {
    const model = await load(chatTemplate('marks'));
    const call = { name: 'get_weather', arguments: '{"city":"Oslo"}' };
    const prompt = (content: string | null): Promise<string> => {
      const toolCalls = [{ id: 'a', type: 'function', function: call }] as const;
      const message: ChatMessage = { role: 'assistant', content, tool_calls: toolCalls };
      return model.chatPrompt([{ role: 'user', content: 'Weather?' }, message], { tools });
    };
    expect(await prompt(null)).toBe(await prompt(''));
    await expect(model.chat([{ role: 'user', content: null }]).result).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it('begins with the prefix that was given', async () => {
    const model = await load(plain);
    const { text, message } = await model.chat('Hi', { prefix: 'Sure: ', maxTokens: 3 }).result;
    expect(message).toEqual({ role: 'assistant', content: `Sure: ${text}` });
  });

  it('is there if the chat ends before it begins', async () => {
    const model = await load(plain);
    const message = { role: 'assistant', content: 'Sure: ' };
    const waiting = model.chat('Hi', { prefix: 'Sure: ' });
    expect(await waiting.cancel()).toMatchObject({ text: '', finishReason: 'cancelled', message });
    const late = model.chat('Hi', { prefix: 'Sure: ', signal: AbortSignal.abort() });
    expect(await late.partial).toMatchObject({ text: '', finishReason: 'cancelled', message });
    const plainText = model.generate('Hi', { signal: AbortSignal.abort() });
    expect((await plainText.partial).message).toBeUndefined();
  });

  it('is not there for what is not a conversation', async () => {
    const model = await load(plain);
    expect((await model.generate('Once', { maxTokens: 2 }).result).message).toBeUndefined();
  });
});

describe('the result of a tool', () => {
  const call = { id: 'abc', name: 'go', arguments: '{}' };

  it('is a text, or JSON', () => {
    for (const [value, content] of [
      ['It rains.', 'It rains.'],
      [[1, { a: null }], '[1,{"a":null}]'],
      [undefined, 'null'],
    ] as const) {
      expect(toolResult(call, value).content).toBe(content);
    }
  });

  it('refuses what is not a call', () => {
    for (const wrong of ['x', {}, 5, undefined] as never[]) {
      expect(() => toolResult(wrong, 1)).toThrow(/^the call/);
    }
  });

  it('is refused if JSON cannot hold it', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const value of [1n, circle]) {
      expect(() => toolResult(call, value)).toThrow(/result of a tool cannot be written as JSON/);
    }
  });
});

describe("a validator's object", () => {
  it('constrains the answer by its JSON schema', async () => {
    const model = await Kinglet.load(
      new Blob([withChatTemplate(readFileSync(storyModel), plain)]),
      { nThreads: 1 },
    );
    onTestFinished(() => {
      model.dispose();
    });
    const schema = z.object({
      name: z.enum(['Tom', 'Lily']),
      age: z.literal([3, 4]),
      at: z.array(z.object({ x: z.int() })).max(2),
    });
    const answer = model.chat('Who?', { jsonSchema: schema, temperature: 1, seed: 2 });
    expect(schema.safeParse(JSON.parse((await answer.result).text)).success).toBe(true);
  });

  it('describes the arguments of a tool by its JSON schema', async () => {
    const model = await load(chatTemplate('marks'));
    const parameters = z.object({ city: z.enum(['Oslo', 'Rome']) });
    const toolOf = (given: object) => ({
      type: 'function' as const,
      function: { name: 'get_weather', parameters: given },
    });
    const ask = [{ role: 'user', content: 'Weather?' }];
    const converted = await model.chatPrompt(ask, { tools: [toolOf(z.toJSONSchema(parameters))] });
    expect(await model.chatPrompt(ask, { tools: [toolOf(parameters)] })).toBe(converted);
  });

  it('is named if it does not say its JSON schema', async () => {
    const model = await load(plain);
    const jsonSchema = { '~standard': { version: 1, vendor: 'valibot', validate: () => ({}) } };
    const tool = { type: 'function' as const, function: { name: 'f', parameters: jsonSchema } };
    for (const options of [{ jsonSchema }, { tools: [tool] }]) {
      await expect(model.chat('Who?', options).result).rejects.toMatchObject({
        ...{ code: 'invalid_argument' },
        message: expect.stringMatching(/an object of valibot cannot convert itself/) as string,
      });
    }
  });
});
