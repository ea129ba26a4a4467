// Calls that the model must make, in the syntax of each family.
import { readFileSync, readdirSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { FunctionTool } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root, storyModel } from './support.ts';
import { validator } from './validator.ts';

const toolOf = (name: string, parameters?: Record<string, unknown>): FunctionTool => ({
  type: 'function',
  function: { name, ...(parameters && { parameters }) },
});

const folder = `${root}tests/fixtures/calls`;
const families = readdirSync(folder).map((file) => file.replace('.jinja', ''));
const templateOf = (family: string) => readFileSync(`${folder}/${family}.jinja`, 'utf8');

describe('the facade', () => {
  const models = new Map<string, Kinglet>();
  beforeAll(async () => {
    const bytes = new Uint8Array(readFileSync(storyModel));
    for (const family of families) {
      const options = { nThreads: 1, chatTemplate: templateOf(family) };
      models.set(family, await Kinglet.load(bytes.slice(), options));
    }
  });
  afterAll(() => {
    for (const model of models.values()) model.dispose();
  });

  // Short: the longest form of a call must fit the model's 512 tokens.
  const trip = toolOf('trip', {
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 9 },
      code: { type: 'string', pattern: '^[A-Z]{3}$' },
      days: { type: 'array', items: { enum: [1, 2] }, maxItems: 2 },
      kind: { enum: ['car', 'train'] },
    },
    required: ['city', 'code', 'days', 'kind'],
  });
  const messages = [{ role: 'user', content: 'A trip?' }] as const;
  const choice = { tool_choice: 'required', parallel_tool_calls: false } as const;
  const ask = { messages, tools: [trip], temperature: 1, ...choice };

  test.each(families)('makes calls of %s that are valid', async (family) => {
    const { chat } = openAI(models.get(family)!);
    for (const seed of [1, 2, 3]) {
      const { choices } = await chat.completions.create({ ...ask, seed });
      const [{ message, finish_reason: finish }] = choices as [(typeof choices)[number]];
      expect({ finish, content: message.content }).toEqual({ finish: 'tool_calls', content: null });
      expect(message.tool_calls).toHaveLength(1);
      const { name, arguments: given } = message.tool_calls![0]!.function;
      expect(name).toBe('trip');
      expect(validator(trip.function.parameters)(JSON.parse(given)), given).toBe(true);
    }
  });

  test.each(families)('makes the same calls of %s in chat()', async (family) => {
    const model = models.get(family)!;
    const { choices } = await openAI(model).chat.completions.create({ ...ask, seed: 4 });
    const [{ message: expected }] = choices as [(typeof choices)[number]];
    const given = { tools: [trip], temperature: 1, seed: 4 };
    for (const toolChoice of [
      'required',
      { type: 'function', function: { name: 'trip' } },
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [toolOf('trip')] } },
    ] as const) {
      const { message } = await model.chat(messages, { ...given, toolChoice }).result;
      expect(message.tool_calls?.[0]?.function).toEqual(expected.tool_calls![0]!.function);
    }
    const free = await model.chat(messages, { ...given, toolChoice: 'none', maxTokens: 5 }).result;
    const without = await model.chat(messages, { temperature: 1, seed: 4, maxTokens: 5 }).result;
    expect(free.text).toBe(without.text);
  });

  test('refuses a choice that no tool can satisfy', async () => {
    const model = models.get(families[0]!)!;
    const other = { type: 'function', function: { name: 'fly' } } as const;
    for (const [tools, toolChoice, says] of [
      [[trip], other, /"fly", which is not one of the tools/],
      [[], 'required', /there are no tools/],
    ] as const) {
      const answer = model.chat(messages, { tools, toolChoice }).result;
      await expect(answer).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(says) as string,
      });
    }
  });

  const thinking = families.filter((family) => templateOf(family).includes('enable_thinking'));
  test.each(thinking)('lets %s think first where its prompt says so', async (family) => {
    const model = models.get(family)!;
    const schema = { enum: [7] };
    const json = { messages, response_format: { type: 'json_object', schema } } as const;
    for (const wanted of [ask, json]) {
      const { choices, usage } = await openAI(model).chat.completions.create({
        ...{ ...wanted, seed: 1, max_completion_tokens: 20 },
        chat_template_kwargs: { enable_thinking: true },
      });
      const [{ message, finish_reason: finish }] = choices as [(typeof choices)[number]];
      expect({ finish, content: message.content }).toEqual({ finish: 'length', content: '' });
      expect(message.reasoning_content).toMatch(/\w/);
      expect(usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(10);
    }
    const options = { jsonSchema: schema, seed: 1, maxTokens: 20 };
    const variables = { enable_thinking: true };
    const { text, reasoning } = await model.chat(messages, { ...options, variables }).result;
    expect(text).toBe('');
    expect(reasoning).toMatch(/\w/);
    // A limit ends the thought, and the answer follows.
    const limited = { ...options, variables, maxTokens: 60, maxThinkingTokens: 5 };
    expect(await model.chat(messages, limited).result).toMatchObject({
      ...{ text: '7', finishReason: 'stop', reasoning: expect.stringMatching(/\w/) as string },
    });
    const { choices } = await openAI(model).chat.completions.create({
      ...{ ...json, seed: 1, max_completion_tokens: 60, max_thinking_tokens: 0 },
      chat_template_kwargs: variables,
    });
    expect(choices[0]!.message).toMatchObject({ content: '7' });
  });
});
