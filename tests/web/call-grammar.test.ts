// Calls that the model must make, in the syntax of each family: what the family's template writes
// for a call fits the grammar, and what fits the grammar is read as a call with valid arguments.
import { readFileSync, readdirSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { FunctionTool } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grammarOfCalls, grammarsOfAnswer } from '../../web/src/json-schema/calls.ts';
import { knownTools } from '../../web/src/tools.ts';
import { Gbnf, randomFrom } from './gbnf.ts';
import { layOutBy } from './laid-out.ts';
import { answerReading, callFormat } from './read-answer.ts';
import { root, storyModel } from './support.ts';
import { validator } from './validator.ts';

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

const toolOf = (name: string, parameters?: Record<string, unknown>): FunctionTool => ({
  type: 'function',
  function: { name, ...(parameters && { parameters }) },
});

const weather = toolOf('get_weather', {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer', minimum: 1, maximum: 14 },
    unit: { enum: ['C', 'F'] },
  },
  required: ['city', 'unit'],
});

const plan = toolOf('plan', {
  $defs: {
    stop: {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 9 },
        open: { type: 'boolean' },
        then: { $ref: '#/$defs/stop' },
      },
      required: ['name'],
    },
    mood: { enum: ['calm', 'a <b> & "c"'] },
  },
  type: 'object',
  properties: {
    stops: { type: 'array', items: { $ref: '#/$defs/stop' }, maxItems: 3 },
    goal: { anyOf: [{ $ref: '#/$defs/stop' }, { type: 'null' }] },
    mood: { $ref: '#/$defs/mood' },
    code: { type: 'string', pattern: '^[a-z<]{2,5}$' },
    note: { type: 'string', minLength: 3 },
    flags: { type: 'array', items: { type: 'boolean' } },
    tags: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
    budget: { type: 'number' },
    any: { description: 'What you like' },
    fixed: { const: { a: [1, 'x', null] } },
  },
});

const clock = toolOf('get-time');
const tools = [weather, plan, clock];

const calls: Call[] = [
  { name: 'get_weather', arguments: { city: 'São Paulo, 5 < 6', days: 3, unit: 'C' } },
  { name: 'get_weather', arguments: { city: '', unit: 'F' } },
  {
    name: 'plan',
    arguments: {
      stops: [{ name: 'x', then: { name: 'y' } }, { name: 'z', open: true }], // prettier-ignore
      ...{ goal: null, mood: 'calm', code: 'a<b', note: 'two words', flags: [true, false] },
      ...{ tags: { a: 'b, c' }, budget: -2.5, any: 'thing', fixed: { a: [1, 'x', null] } },
    },
  },
  { name: 'plan', arguments: { stops: [], goal: { name: 'Hof' }, tags: {} } },
  { name: 'plan', arguments: {} },
  { name: 'get-time', arguments: { zone: 'CET', exact: true } },
];

const wrong: Call[] = [
  { name: 'get_rain', arguments: { city: 'x', unit: 'C' } },
  { name: 'plan', arguments: {} },
  { name: 'get_weather', arguments: { city: 'x' } },
  { name: 'get_weather', arguments: { city: 'x', unit: 'K' } },
  { name: 'get_weather', arguments: { city: 'x', days: 15, unit: 'C' } },
  { name: 'get_weather', arguments: { city: 'x', days: 'one', unit: 'C' } },
  { name: 'get_weather', arguments: { city: 'x', rain: true, unit: 'C' } },
];

const folder = `${root}tests/fixtures/calls`;
const families = readdirSync(folder).map((file) => file.replace('.jinja', ''));
const templateOf = (family: string) => readFileSync(`${folder}/${family}.jinja`, 'utf8');

/** Returns what the template writes for calls. */
async function written(template: string, made: readonly Call[]): Promise<string> {
  const toolCalls = made.map((call) => ({ type: 'function', id: 'aB3dE6gH9', function: call }));
  const message = { role: 'assistant', content: '', tool_calls: toolCalls };
  const { texts } = await layOutBy(template, [message], { addGenerationPrompt: false });
  return texts.join('');
}

function grammarFor(template: string, given: readonly FunctionTool[], prompt = '', n = 2): Gbnf {
  const format = callFormat(template);
  const known = knownTools(given);
  return new Gbnf(grammarOfCalls({ tools: given, known, format, mayBeSeveral: n > 1 }, prompt));
}

/** Returns the calls of an answer that holds only calls and thoughts. */
function read(template: string, answer: string, prompt = ''): Call[] {
  const reading = answerReading(template, knownTools(tools), prompt);
  const text = reading.push(answer).text + reading.end().text;
  const found = reading.calls.map(({ name, arguments: given }) => ({
    name,
    arguments: JSON.parse(given) as Call['arguments'],
  }));
  reading.delete();
  expect(text).toBe('');
  return found;
}

describe.each(families)('%s', (family) => {
  const template = templateOf(family);

  test('takes what the template writes', async () => {
    const grammar = grammarFor(template, tools);
    for (const call of calls) {
      const text = await written(template, [call]);
      expect(grammar.matches(text), text).toBe(true);
      expect(read(template, text)).toEqual([call]);
    }
  });

  // LFM2's template writes strings as they are, but Python would escape line breaks.
  test.skipIf(family === 'lfm2')('takes strings of several lines', async () => {
    const call = { name: 'plan', arguments: { note: 'two\n\tlines' } };
    const text = await written(template, [call]);
    expect(grammarFor(template, tools).matches(text), text).toBe(true);
    expect(read(template, text)).toEqual([call]);
  });

  test('refuses what the tools do not allow', async () => {
    const grammar = grammarFor(template, [weather]);
    const fine = await written(template, calls.slice(0, 1));
    expect(grammar.matches(fine)).toBe(true);
    for (const call of wrong) {
      const text = await written(template, [call]);
      expect(grammar.matches(text), text).toBe(false);
    }
    for (const text of ['', 'Hello', fine.slice(0, -1), `${fine}x`]) {
      expect(grammar.matches(text), text).toBe(false);
    }
  });

  test('takes several calls where they may be', async () => {
    if (callFormat(template).between === '') return;
    const several = await written(template, calls);
    expect(grammarFor(template, tools).matches(several)).toBe(true);
    expect(read(template, several)).toEqual(calls);
    expect(grammarFor(template, tools, '', 1).matches(several)).toBe(false);
  });

  test('reads what fits as calls whose arguments are valid', () => {
    const grammar = grammarFor(template, tools);
    const random = randomFrom(5);
    for (let i = 0; i < 150; i += 1) {
      const text = grammar.sample(random);
      const found = read(template, text);
      expect(found.length, text).toBeGreaterThan(0);
      for (const call of found) {
        const tool = tools.find(({ function: { name } }) => name === call.name);
        const isValid = validator(tool!.function.parameters ?? { type: 'object' });
        expect(isValid(call.arguments), `${text} → ${JSON.stringify(call.arguments)}`).toBe(true);
      }
    }
  });

  test('ends a thought that the prompt has begun', async () => {
    const { thoughtBegin: begin, thoughtEnd: end } = callFormat(template);
    if (begin === '') return;
    const [call] = calls as [Call];
    const text = await written(template, [call]);
    const thinking = grammarFor(template, tools, `${begin}\n`);
    expect(thinking.matches(`Hm, ${end.slice(0, 3)} 2 < 3.\n${end}\n\n${text}`)).toBe(true);
    expect(thinking.matches(`${end}${text}`)).toBe(true);
    expect(thinking.matches(text)).toBe(false);
    expect(thinking.matches(`Hm${end}Well, ${text}`)).toBe(false);
    expect(read(template, `Hm${end}\n\n${text}`, begin)).toEqual([call]);
    expect(grammarFor(template, tools, `${begin}\n${end}`).matches(text)).toBe(true);
  });

  test('ends it also before JSON', () => {
    const { grammar, thinking } = grammarsOfAnswer({ enum: [7] }, 0, callFormat(template));
    expect(new Gbnf(grammar!).matches('7')).toBe(true);
    if (!thinking) return;
    const { end } = thinking;
    expect(new Gbnf(grammar!).matches(`Hm${end}7`)).toBe(false);
    const afterThought = new Gbnf(thinking.grammar);
    expect(afterThought.matches(`Hm, ${end.slice(0, 3)} 8.\n${end}\n\n7`)).toBe(true);
    for (const text of ['7', `Hm${end}`, `Hm${end}8`, `Hm${end}Well, 7`]) {
      expect(afterThought.matches(text), text).toBe(false);
    }
  });
});

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

  const trip = toolOf('trip', {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 1, maxLength: 12 },
      code: { type: 'string', pattern: '^[A-Z]{3}$' },
      days: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 },
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
  });
});

test('marks are tokens where there are such', () => {
  const format = { ...callFormat(templateOf('gemma4')), marks: [{ text: '<|"|>', token: 7 }] };
  const given = [toolOf('f', { type: 'object', properties: { x: { const: 'a' } } })];
  const known = knownTools(given);
  const grammar = grammarOfCalls({ tools: given, known, format, mayBeSeveral: false }, '');
  expect(grammar).toContain('"x" ":" (<[7]> "a" <[7]>)');
});

test('what cannot be written is refused in words', () => {
  const refusal = (family: string, tool: FunctionTool) => {
    try {
      grammarFor(templateOf(family), [tool]);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' });
      return (error as Error).message;
    }
    return '';
  };
  const properties = (given: object) => toolOf('f', { type: 'object', properties: given });
  expect(refusal('lfm2', toolOf('a b'))).toBe('this model cannot call a tool of the name "a b"');
  expect(refusal('hermes', toolOf('a b'))).toBe('');
  for (const family of ['gemma4', 'lfm2', 'qwen3.5']) {
    expect(refusal(family, properties({ 'a b': {} }))).toBe(
      'the tool "f": jsonSchema, at #/a b: a call of this model cannot have the name "a b"',
    );
  }
  expect(refusal('hermes', properties({ 'a b': {} }))).toBe('');
  expect(refusal('gemma4', properties({ x: { const: 'a<|"|>b' } }))).toMatch(
    /^the tool "f": jsonSchema, at #\/properties\/x: a call of this model cannot have the value /,
  );
  expect(refusal('qwen3.5', toolOf('f', { type: 'string' }))).toBe(
    'the tool "f": its parameters allow no object',
  );
});
