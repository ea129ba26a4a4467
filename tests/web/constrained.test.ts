// Answers that must match a grammar or a schema, of the built package in Node.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { GenerateOptions } from 'kinglet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
  const { usage } = await answer({ maxTokens: 3 });
  expect(usage.completionTokens).toBe(3);
});

test('a wrong option is refused, in words', async () => {
  const refused = (options: object, message: string) =>
    expect(answer(options)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
  await refused({ grammar: 7 }, 'the grammar must be a string, not number');
  await refused({ jsonSchema: { not: {} } }, 'jsonSchema, at #: "not" is not supported');
  await refused({ jsonSchema: {}, grammar: '' }, 'cannot match a grammar and a jsonSchema');
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
