// Answers of the built package in Node that must match a grammar or a schema.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { GenerateOptions } from 'kinglet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { storyModel } from './support.ts';
import { validator } from './validator.ts';

let model: Kinglet;
beforeAll(async () => {
  model = await Kinglet.load(new Uint8Array(readFileSync(storyModel)), { nThreads: 1 });
});
afterAll(() => {
  model.dispose();
});

const answer = (options: GenerateOptions) => model.generate('Once upon a time', options).result;

test('the answer matches the grammar', async () => {
  const grammar = 'root ::= "🐝\\x00" [0-9]{2,4} " " ("yes" | "no")';
  const { text, finishReason } = await answer({ grammar, temperature: 5, seed: 1 });
  expect(text).toMatch(/^🐝\0[0-9]{2,4} (yes|no)$/u);
  expect(finishReason).toBe('stop');
});

test('a wrong grammar is an error that says where', async () => {
  await expect(answer({ grammar: 'root ::= "a"\nb ::= c' })).rejects.toMatchObject({
    code: 'invalid_grammar',
    message: 'line 2, column 7 of the grammar: rule "c" is not defined',
  });
  await expect(answer({ grammar: '' })).rejects.toMatchObject({ code: 'invalid_grammar' });
  // The session goes on as if nothing had been asked.
  const { usage } = await answer({ temperature: 0, maxTokens: 3 });
  expect(usage.completionTokens).toBe(3);
});

test('a wrong option is refused, in words', async () => {
  const refused = (options: object, message: string) =>
    expect(answer(options)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
  await refused({ grammar: 7 }, 'the grammar must be a string, not 7');
  await refused(
    { jsonSchema: { $dynamicRef: '#' } },
    'the JSON schema, at #: "$dynamicRef" is not supported',
  );
  await refused({ jsonSchema: {}, grammar: '' }, 'cannot match both a grammar and a jsonSchema');
});

test('a misspelt keyword has no effect, and a warning names it', async () => {
  const ask = { maxTokens: 12, temperature: 0 };
  const { text, warnings } = await answer({ ...ask, jsonSchema: { enum: ['yes'], maxlength: 2 } });
  expect(text).toBe('"yes"');
  expect(warnings).toEqual([expect.stringMatching(/"maxlength".*"maxLength"/)]);
  expect(await answer({ ...ask, jsonSchema: { enum: ['yes'] } })).not.toHaveProperty('warnings');
});

test.each([
  ['schemas in schemas', nested(100_000)],
  ['values in values', { const: nested(100_000) }],
  ['a schema in itself', inItself('items')],
  ['a value in itself', { const: inItself('enum') }],
])('%s are refused, and soon', { timeout: 20_000 }, async (_, jsonSchema) => {
  await expect(answer({ jsonSchema })).rejects.toMatchObject({ code: 'invalid_argument' });
});

function nested(depth: number): object {
  let schema = {};
  for (let i = 0; i < depth; i += 1) schema = { items: schema };
  return schema;
}

function inItself(key: string): object {
  const schema: Record<string, unknown> = {};
  schema[key] = [schema];
  if (key === 'items') schema.items = schema;
  return schema;
}

test('an answer is what Zod asks for, and indented as it should be', async () => {
  const type = z.object({
    id: z.uuid(),
    mail: z.email().max(20),
    host: z.hostname(),
    day: z.iso.date(),
    wait: z.iso.duration(),
    name: z.string().startsWith('Li').min(4).max(9),
    price: z.number().multipleOf(0.25).min(0.5).lt(99),
    count: z.partialRecord(z.enum(['a', 'b']), z.uint32()),
  });
  const jsonSchema = z.toJSONSchema(type);
  for (const [seed, indent] of [0, 2, 4].entries()) {
    const { text, finishReason } = await answer({ jsonSchema, indent, seed, maxTokens: 400 });
    if (finishReason !== 'stop') continue;
    expect(type.safeParse(JSON.parse(text)).error).toBeUndefined();
    expect(text.split('\n').length > 1).toBe(indent > 0);
    expect(text).toContain(indent === 0 ? '","mail":"' : `",\n${' '.repeat(indent)}"mail": "`);
  }
});

test('objects have the properties that their schema names, and others if they are open', async () => {
  const jsonSchema = { properties: { a: { type: 'null' } }, required: ['a'] };
  const options = { jsonSchema, temperature: 100, maxTokens: 20 };
  const texts: string[] = [];
  for (let seed = 0; seed < 8; ++seed) {
    const closed = await answer({ ...options, seed });
    expect(closed).toMatchObject({ text: '{"a":null}', finishReason: 'stop' });
    texts.push((await answer({ ...options, seed, openObjects: true })).text);
  }
  expect(texts.filter((text) => text.startsWith('{"a":null,"'))).not.toEqual([]);
  const open = answer({ openObjects: true, maxTokens: 1 });
  await expect(open).rejects.toThrow('openObjects needs a jsonSchema');
});

describe('a finished answer is valid under the schema', () => {
  let nFinished = 0;
  afterAll(() => {
    expect(nFinished).toBeGreaterThan(10);
  });

  const schemas: Record<string, object> = {
    'any value': {},
    'an object': {
      ...{ type: 'object', required: ['n'], additionalProperties: { type: 'null' } },
      properties: { n: { type: 'integer', minimum: -3, maximum: 120 }, s: { maxLength: 5 } },
    },
    'a list of several kinds': {
      items: { anyOf: [{ const: 'é' }, { type: 'number', multipleOf: 0.5, maximum: 9 }] },
      ...{ type: 'array', minItems: 1, maxItems: 4 },
    },
    'a tree': {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: 2 } },
    },
    'a string': { type: 'string', pattern: '^[a-c]{2}', minLength: 3, maxLength: 6 },
  };
  test.each(Object.entries(schemas))('%s', async (_, jsonSchema) => {
    const validate = validator(jsonSchema);
    for (const [seed, temperature] of [0, 0.8, 3, 100].entries()) {
      const { text, finishReason } = await answer({
        ...{ jsonSchema, seed, temperature, maxTokens: 120 },
        topK: seed === 3 ? 0 : 40,
      });
      if (finishReason !== 'stop') continue;
      nFinished += 1;
      expect(validate(JSON.parse(text)), text).toBe(true);
    }
  });
});
