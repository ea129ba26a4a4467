// Answers of the built package in Node that must match a grammar or a schema.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { GenerateOptions } from 'kinglet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { schemaCases } from './schemas.ts';
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
    message: 'line 2, column 7 of the grammar: there is no rule "c"',
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
  await refused({ grammar: 7 }, 'the grammar must be a string, not number');
  await refused({ jsonSchema: { if: {} } }, 'jsonSchema, at #: "if" is not supported');
  await refused({ jsonSchema: {}, grammar: '' }, 'cannot match a grammar and a jsonSchema');
});

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

describe('a finished answer is valid under the schema', () => {
  let nFinished = 0;
  afterAll(() => {
    expect(nFinished).toBeGreaterThan(schemaCases.length);
  });

  test.each(schemaCases)('$name', async ({ schema }) => {
    const validate = validator(schema);
    for (const [seed, temperature] of [0, 0.8, 3, 100].entries()) {
      const { text, finishReason } = await answer({
        ...{ jsonSchema: schema as object, seed, temperature, maxTokens: 120 },
        topK: seed === 3 ? 0 : 40,
      });
      if (finishReason !== 'stop') continue;
      nFinished += 1;
      expect(validate(JSON.parse(text)), text).toBe(true);
    }
  });
});
