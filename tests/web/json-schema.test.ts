import { describe, expect, test } from 'vitest';
import { grammarOfSchema } from '../../web/src/json-schema/index.ts';
import { Gbnf, randomFrom } from './gbnf.ts';
import { schemaCases } from './schemas.ts';
import { validator } from './validator.ts';

function refusal(schema: unknown): string {
  try {
    grammarOfSchema(schema);
  } catch (error) {
    expect(error).toMatchObject({ name: 'KingletError', code: 'invalid_argument' });
    return (error as Error).message;
  }
  return 'it was not refused';
}

describe.each(schemaCases)('$name', ({ schema, good = [], bad = [] }) => {
  const validate = validator(schema);
  const grammar = new Gbnf(grammarOfSchema(schema));

  test.each(good)('allows %s', (text) => {
    expect(validate(JSON.parse(text))).toBe(true);
    expect(grammar.matches(text)).toBe(true);
  });

  test.each(bad)('does not allow %s', (text) => {
    expect(grammar.matches(text)).toBe(false);
  });

  test('allows only what is valid', () => {
    const random = randomFrom(1);
    for (let i = 0; i < 300; i += 1) {
      const text = grammar.sample(random);
      expect(grammar.matches(text), text).toBe(true);
      expect(validate(JSON.parse(text)), text).toBe(true);
    }
  });
});

test('ranges of integers are exact', () => {
  const random = randomFrom(2);
  for (let i = 0; i < 200; i += 1) {
    const ends = [random(), random()].map((x) => Math.floor((x - 0.5) * 10 ** (1 + (i % 4))));
    const [minimum, maximum] = ends.sort((a, b) => a - b) as [number, number];
    const grammar = new Gbnf(grammarOfSchema({ type: 'integer', minimum, maximum }));
    const near = [
      minimum,
      maximum,
      0,
      ...Array.from(
        { length: 30 },
        () => minimum + Math.floor(random() * (maximum - minimum) * 1.2),
      ),
    ];
    for (const center of near) {
      for (const value of [center - 1, center, center + 1]) {
        const isIn = value >= minimum && value <= maximum;
        expect(grammar.matches(String(value)), `${String(value)} in ${String(ends)}`).toBe(isIn);
      }
    }
  }
});

describe('refuses, by name', () => {
  test.each([
    [{ not: {} }, 'jsonSchema, at #: "not" is not supported'],
    [
      { type: 'object', patternProperties: {} },
      'jsonSchema, at #: "patternProperties" is not supported',
    ],
    [{ items: { if: {} } }, 'jsonSchema, at #/items: "if" is not supported'],
    [{ uniqueItems: true }, 'jsonSchema, at #: "uniqueItems" is not supported'],
    [{ type: 'number', multipleOf: 2 }, 'jsonSchema, at #: "multipleOf" is not supported'],
    [
      { properties: { a: { nullable: true } } },
      'jsonSchema, at #/properties/a: "nullable" is not supported',
    ],
    [
      { type: 'string', format: 'uri' },
      /at #: the format "uri" is not supported; these are: date,/,
    ],
    [{ type: 'text' }, /at #: the type "text" is unknown; it is one of object,/],
    [
      { $ref: 'https://example.com/a' },
      /the reference "https:\/\/example.com\/a" is not supported/,
    ],
    [{ $ref: '#/$defs/a' }, /there is nothing at the reference "#\/\$defs\/a"/],
    [{ $ref: '#/constructor' }, /there is nothing at the reference/],
    [{ pattern: 'a', minLength: 1 }, /"length" and "pattern" at once are not supported/],
    [{ pattern: '(?=a)' }, /the pattern "\(\?=a\)" is not supported: it looks ahead or behind/],
    [{ pattern: '(?<!a)' }, /it looks ahead or behind/],
    [{ pattern: '(a)\\1' }, /it refers back to a group/],
    [{ pattern: '\\bword' }, /it asks for borders of words/],
    [{ pattern: '\\p{L}' }, /it asks for Unicode properties/],
    [{ pattern: 'a^b' }, /an anchor is not at its beginning/],
    [{ pattern: '(a$)' }, /an anchor is in a group/],
    [{ pattern: '^$a' }, /an anchor is not at its end/],
    [{ pattern: '(' }, /it is not a regular expression/],
    [{ pattern: '[]' }, /a part of it matches no character/],
    [{ allOf: [{ pattern: 'a' }, { pattern: 'b' }] }, /two different demands of "pattern" at once/],
    [{ enum: ['ab', 'c'], maxLength: 1 }, /"maxLength" beside "enum" or "const"/],
    [
      { oneOf: [{ type: 'integer' }, { type: 'number' }] },
      /alternatives 0 and 1 of "oneOf" may both/,
    ],
    [{ type: 'number', minimum: 0.5 }, /the bound 0.5 of a number is not supported/],
    [{ type: 'integer', minimum: 2 ** 60 }, /is beyond 2\^53/],
    [{ type: 'string', minLength: -1 }, /"minLength" is -1, expected a whole number from 0 on/],
    [{ type: 'string', maxLength: '3' }, /"maxLength" is "3", expected a number/],
    [{ properties: [] }, /"properties" is \[\], expected an object/],
    [{ required: [1] }, /"required" is not a list of names/],
    [{ anyOf: {} }, /"anyOf" is \{\}, expected a list/],
    [{ items: [{}] }, /at #\/items: found \[\{\}\], expected a schema/],
    [{ propertyNames: {}, properties: {} }, /"propertyNames" beside "properties" or "required"/],
    [
      { $defs: { a: { $ref: '#/$defs/a', type: 'null' } }, $ref: '#/$defs/a' },
      /is defined by itself/,
    ],
    [{ items: { $id: 'x' } }, /"\$id" is only supported at the top/],
    ['text', /at #: found "text", expected a schema/],
    [null, /found null/],
    [undefined, /found undefined/],
  ])('%j', (schema, message) => {
    expect(refusal(schema)).toMatch(message);
  });
});

test.each([
  [false],
  [{ enum: [] }],
  [{ type: 'integer', minimum: 3, maximum: 2 }],
  [{ type: 'string', minLength: 3, maxLength: 2 }],
  [{ type: 'array', minItems: 1, maxItems: 0 }],
  [{ type: 'array', prefixItems: [true, false], minItems: 2 }],
  [{ allOf: [{ type: 'string' }, { type: 'null' }] }],
  [{ properties: { a: false }, required: ['a'] }],
])('says that no value is valid under %j', (schema) => {
  expect(refusal(schema)).toBe('jsonSchema, at #: no value is valid');
});

test('refuses schemas that hold themselves, or very many', () => {
  const cycle: Record<string, unknown> = { type: 'array' };
  cycle.items = cycle;
  expect(refusal(cycle)).toMatch(/nested more than 200 deep/);
  const choices = Array.from({ length: 15 }, (_, i) => ({ enum: [i] }));
  const many = {
    allOf: [0, 1, 2].map((n) => ({ anyOf: choices.map((c) => ({ properties: { [n]: c } })) })),
  };
  expect(refusal(many)).toMatch(/more than 200 alternatives/);
});
