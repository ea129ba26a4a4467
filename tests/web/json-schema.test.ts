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

test('ranges of numbers with fractions and steps are exact', () => {
  const random = randomFrom(3);
  const decimals = (n: number) => Number((random() * 10 ** n - 10 ** n / 2).toFixed(1 + (n % 3)));
  for (let i = 0; i < 120; i += 1) {
    const ends = [decimals(i % 4), decimals(i % 4)].sort((a, b) => a - b);
    const [minimum, maximum] = ends as [number, number];
    const step = [undefined, 0.1, 0.25, 3, 0.07][i % 5];
    const bounds = i % 2 === 0 ? { minimum, maximum } : { exclusiveMinimum: minimum, maximum };
    const schema = { type: 'number', ...bounds, ...(step !== undefined && { multipleOf: step }) };
    const gbnf = compiled(schema);
    if (gbnf === undefined) continue;
    const grammar = new Gbnf(gbnf);
    const validate = validator(schema);
    for (let k = 0; k < 40; k += 1) {
      const value = step
        ? step * Math.round((minimum + random() * (maximum - minimum) * 1.2) / step)
        : minimum + (random() - 0.1) * (maximum - minimum) * 1.2;
      const text = Number(value.toFixed(2)).toString();
      if (text.includes('e')) continue;
      expect(grammar.matches(text), `${text} under ${JSON.stringify(schema)}`).toBe(
        validate(Number(text)),
      );
    }
  }
});

/** Returns the grammar, or undefined if no value is valid. */
function compiled(schema: unknown): string | undefined {
  try {
    return grammarOfSchema(schema);
  } catch (error) {
    expect((error as Error).message).toMatch(/no value is valid/);
    return undefined;
  }
}

describe('an indented answer', () => {
  const point = { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] };
  test.each([
    ['any value', true, { a: [1, [], {}, { b: null }], c: 'd' }],
    ['an object', { properties: { p: point, q: point } }, { p: { x: 1 }, q: { x: 2 } }],
    ['an empty object', { properties: { p: point } }, {}],
    ['a list', { items: point, maxItems: 3 }, [{ x: 1 }, { x: 2 }]],
    ['a tuple', { prefixItems: [point], items: { type: 'null' } }, [{ x: 1 }, null]],
    ['a map', { additionalProperties: { items: { type: 'null' } } }, { a: [null], b: [] }],
    ['a constant', { properties: { a: { const: { b: [1, {}] } } } }, { a: { b: [1, {}] } }],
    [
      'what refers to itself',
      { properties: { more: { $ref: '#' }, end: { type: 'null' } } },
      { more: { more: { end: null } } },
    ],
  ])('%s is written as JSON.stringify does it', (_, schema, value) => {
    for (const indent of [0, 1, 4]) {
      const grammar = new Gbnf(grammarOfSchema(schema, indent));
      for (const other of [0, 1, 4]) {
        const text = JSON.stringify(value, null, other);
        expect(grammar.matches(text)).toBe(text === JSON.stringify(value, null, indent));
      }
      const random = randomFrom(5);
      for (let i = 0; i < 50; i += 1) {
        const text = grammar.sample(random);
        if (/\\|[0-9][.eE]|-0|\{ *"(.*)".*"\1"/s.test(text)) continue; // has several spellings
        expect(text).toBe(JSON.stringify(JSON.parse(text), null, indent));
      }
    }
  });

  test('is not indented from some depth on', () => {
    const deep = (n: number): unknown => (n === 0 ? [] : [deep(n - 1)]);
    const grammar = new Gbnf(
      grammarOfSchema({ $defs: { a: { items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' }, 2),
    );
    expect(grammar.matches(JSON.stringify(deep(11), null, 2))).toBe(true);
    expect(grammar.matches(JSON.stringify(deep(14), null, 2))).toBe(false);
    const text = grammar.sample(randomFrom(1));
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });
});

describe('refuses, by name', () => {
  test.each([
    [{ not: { type: 'null' } }, 'jsonSchema, at #: "not" is not supported'],
    [
      { allOf: [{ patternProperties: { a: {} } }, { properties: {} }] },
      'jsonSchema, at #: "patternProperties" beside another schema of the object',
    ],
    [{ minProperties: 1 }, 'jsonSchema, at #: "minProperties" is not supported'],
    [{ items: { if: {} } }, 'jsonSchema, at #/items: "if" is not supported'],
    [{ uniqueItems: true }, 'jsonSchema, at #: "uniqueItems" is not supported'],
    [{ type: 'number', multipleOf: 0 }, '"multipleOf" is 0, expected a number above 0'],
    [{ type: 'integer', multipleOf: 99_991 }, 'a number is not supported: it takes too large an'],
    [{ type: 'integer', multipleOf: 1e20 }, 'multiples of 100000000000000000000 are not'],
    [
      { properties: { a: { nullable: true } } },
      'jsonSchema, at #/properties/a: "nullable" is not supported',
    ],
    [
      { type: 'string', format: 'color' },
      /at #: the format "color" is not supported; these are: date,/,
    ],
    [{ type: 'string', format: 'ulid' }, /the format "ulid" is not supported/],
    [{ type: 'string', format: 'iban', pattern: 'a' }, /the format "iban" is not supported/],
    [{ type: 'text' }, /at #: the type "text" is unknown; it is one of object,/],
    [
      { $ref: 'https://example.com/a' },
      /the reference "https:\/\/example.com\/a" is not supported/,
    ],
    [{ $ref: '#/$defs/a' }, /there is nothing at the reference "#\/\$defs\/a"/],
    [{ $ref: '#/constructor' }, /there is nothing at the reference/],
    [{ pattern: '(?<!a)' }, /the pattern "\(\?<!a\)" is not supported: it looks behind/],
    [{ pattern: '(?:(?=a).)*' }, /it looks around in what is repeated more than 50 times/],
    [{ pattern: 'a?^b' }, /an anchor may be at its beginning/],
    [{ pattern: 'c.{20}$', maxLength: 90 }, /it takes too large an automaton/],
    [{ pattern: '(a)\\1' }, /it refers back to a group/],
    [{ pattern: '\\bword' }, /it asks for borders of words/],
    [{ pattern: '(' }, /it is not a regular expression/],
    [{ pattern: '[]' }, /a part of it matches no character/],
    [{ enum: ['ab', 'c'], maxLength: 1 }, /"maxLength" beside "enum" or "const"/],
    [
      { oneOf: [{ type: 'integer' }, { type: 'number' }] },
      /alternatives 0 and 1 of "oneOf" may both/,
    ],
    [{ type: 'integer', minimum: 2 ** 60 }, /the bound 1152921504606847000 takes more than 15/],
    [{ type: 'string', minLength: -1 }, /"minLength" is -1, expected a whole number from 0 on/],
    [{ type: 'string', maxLength: '3' }, /"maxLength" is "3", expected a number/],
    [{ properties: [] }, /"properties" is \[\], expected an object/],
    [{ required: [1] }, /"required" is not a list of names/],
    [{ anyOf: {} }, /"anyOf" is \{\}, expected a list/],
    [{ items: [{}] }, /at #\/items: found \[\{\}\], expected a schema/],
    [
      { $defs: { a: { $ref: '#/$defs/a', type: 'null' } }, $ref: '#/$defs/a' },
      /is defined by itself/,
    ],
    [{ $ref: '#' }, /is defined by itself/],
    [{ anyOf: [{ type: 'null' }, { $ref: '#' }] }, /is defined by itself/],
    [
      {
        ...{ $ref: '#/$defs/a' },
        $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      },
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
  [{ not: {} }],
  [{ pattern: 'a^b' }],
  [{ pattern: '^$a' }],
  [{ allOf: [{ pattern: '^a' }, { pattern: '^b' }] }],
  [{ pattern: '^abc', maxLength: 2 }],
  [{ type: 'number', exclusiveMinimum: 0.5, maximum: 0.5 }],
  [{ type: 'integer', minimum: 0.25, maximum: 0.75 }],
  [{ type: 'integer', minimum: 8, maximum: 13, multipleOf: 7, exclusiveMaximum: 8 }],
  [{ propertyNames: { enum: ['a'] }, required: ['b'] }],
])('says that no value is valid under %j', (schema) => {
  expect(refusal(schema)).toBe('jsonSchema, at #: no value is valid');
});

test('accepts unneeded escapes in patterns, as ECMAScript does', () => {
  const plain = '^[\\w\\-_]+@"- x/$';
  const escaped = '^[\\w\\-\\_]+\\@\\"\\-\\ x\\/$';
  const schema = (pattern: string) => ({ type: 'string', pattern });
  expect(grammarOfSchema(schema(escaped))).toBe(grammarOfSchema(schema(plain)));
  expect(refusal(schema('\\Z'))).toMatch(/it is not a regular expression/);
});

test('takes objects of many optional properties', () => {
  const names = Array.from({ length: 150 }, (_, i) => `k${String(i)}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'null' }]));
  const grammar = new Gbnf(grammarOfSchema({ properties, additionalProperties: false }));
  expect(grammar.matches('{"k7":null,"k149":null}')).toBe(true);
  expect(grammar.matches('{"k149":null,"k7":null}')).toBe(false);
});

test('refuses schemas of very many properties at once', () => {
  const of = (n: number, first = 0) =>
    Object.fromEntries(
      Array.from({ length: n }, (_, i) => [`p${String(first + i)}`, { type: 'null' }]),
    );
  expect(refusal({ properties: of(20_000) })).toBe(
    'jsonSchema, at #: "properties" has 20000 members, expected 2000 at most',
  );
  const nested = Array.from({ length: 4 }, (_, i) => ({ properties: of(1500, i) }));
  expect(refusal({ anyOf: nested })).toMatch(/more than 5000 properties in all/);
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
