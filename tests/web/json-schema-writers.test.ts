// Schemas that libraries write: the library itself must accept the answers.
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { askSchema } from './schema-texts.ts';
import { validator } from './validator.ts';

interface ZodCase {
  type: z.ZodType;
  good: unknown[];
  /** Values that are not valid, although most have the right type. */
  bad?: unknown[];
}

interface Tree {
  name: string;
  kids?: Tree[] | undefined;
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get kids() {
    return z.array(tree).max(2).optional();
  },
});

const uuid = '123e4567-e89b-42d3-a456-426614174000';
const cases: Record<string, ZodCase> = {
  email: { type: z.email(), good: ['ann.lee+x@example.org'], bad: ['ann', 'a@b', '.a@b.co'] },
  uuid: { type: z.uuid(), good: [uuid], bad: [uuid.slice(1), uuid.replace('42d3', '92d3')] },
  'uuid of version 4': { type: z.uuidv4(), good: [uuid], bad: [uuid.replace('42d3', '12d3')] },
  guid: { type: z.guid(), good: [uuid], bad: ['x'] },
  url: { type: z.url(), good: ['https://example.org/a?b=c#d'], bad: ['example'] },
  emoji: { type: z.emoji(), good: ['🐝', '👍🏽'], bad: ['a', ''] },
  nanoid: { type: z.nanoid(), good: ['V1StGXR8_Z5jdHi6B-myT'], bad: ['short'] },
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- schemas of it are still written
  cuid: { type: z.cuid(), good: ['cjld2cjxh0000qzrmn831i7rn'], bad: ['x'] },
  cuid2: { type: z.cuid2(), good: ['tz4a98xxat96iws9zmbrgj3a'], bad: ['A-'] },
  ulid: { type: z.ulid(), good: ['01ARZ3NDEKTSV4RRFFQ69G5FAV'], bad: ['81ARZ3NDEK'] },
  xid: { type: z.xid(), good: ['9m4e2mr0ui3e8a215n4g'], bad: ['z'] },
  ksuid: { type: z.ksuid(), good: ['0ujtsYcgvSTl8PAuAdqWYSMnLOv'], bad: ['0'] },
  ipv4: { type: z.ipv4(), good: ['192.168.0.1'], bad: ['256.0.0.1', '1.2.3'] },
  ipv6: { type: z.ipv6(), good: ['2001:db8::1', '::'], bad: ['1:2', '::1::'] },
  cidrv4: { type: z.cidrv4(), good: ['10.0.0.0/8'], bad: ['10.0.0.0/33', '10.0.0.0'] },
  cidrv6: { type: z.cidrv6(), good: ['2001:db8::/32'], bad: ['2001:db8::/129'] },
  base64: { type: z.base64(), good: ['', 'aGk=', 'aGV5'], bad: ['aGk', '!'] },
  base64url: { type: z.base64url(), good: ['aGk', '_-__'], bad: ['a', 'aGk='] },
  e164: { type: z.e164(), good: ['+491701234567'], bad: ['0170'] },
  mac: { type: z.mac(), good: ['00:1B:44:11:3A:B7'], bad: ['00:1B'] },
  hostname: { type: z.hostname(), good: ['www.example.org'], bad: ['-a', ''] },
  hex: { type: z.hex(), good: ['', 'ff00'], bad: ['g'] },
  'sha256 in hex': { type: z.hash('sha256'), good: ['ab'.repeat(32)], bad: ['ab'] },
  date: { type: z.iso.date(), good: ['2024-02-29'], bad: ['2023-02-29', '2024-1-1'] },
  time: { type: z.iso.time(), good: ['09:30', '09:30:15.25'], bad: ['24:00', '9:30'] },
  'date and time': { type: z.iso.datetime(), good: ['2024-02-29T09:30:15Z'], bad: ['2024-02-29'] },
  'date and time with an offset': {
    type: z.iso.datetime({ offset: true }),
    good: ['2024-02-29T09:30:15+02:00'],
    bad: ['2024-02-29T09:30:15'],
  },
  'local time of milliseconds': {
    type: z.iso.datetime({ local: true, precision: 3 }),
    good: ['2024-02-29T09:30:15.123', '2024-02-29T09:30:15.123Z'],
    bad: ['2024-02-29T09:30:15'],
  },
  duration: { type: z.iso.duration(), good: ['P1Y2DT3H', 'P3W', 'PT5M'], bad: ['P', 'PT', '1D'] },
  lowercase: { type: z.string().lowercase(), good: ['', 'é1'], bad: ['aB'] },
  uppercase: { type: z.string().uppercase(), good: ['A1'], bad: ['a'] },
  'a beginning and a length': {
    type: z.string().startsWith('ab.').min(5),
    good: ['ab.cd', 'ab."xyz'],
    bad: ['ab.', 'ab.c', 'xab.cd'],
  },
  'a beginning and an end': {
    type: z.string().startsWith('a').endsWith('z').max(4),
    good: ['az', 'abcz'],
    bad: ['a', 'abcdz'],
  },
  'what is included': { type: z.string().includes('x y').max(9), good: ['ax yb'], bad: ['xy'] },
  'a pattern and a length': {
    type: z.string().regex(/^[a-z]+$/).min(3).max(5), // prettier-ignore
    good: ['abc', 'abcde'],
    bad: ['ab', 'abcdef', 'aB c'],
  },
  'an email of a length': {
    type: z.email().max(12),
    good: ['a@b.co'],
    bad: ['ann.lee@example.org'],
  },
  'template literal': {
    type: z.templateLiteral(['v', z.int(), '.', z.enum(['a', 'b'])]),
    good: ['v12.a', 'v-1.b'],
    bad: ['v.a', 'v1.c'],
  },
  int: { type: z.int(), good: [0, -5, 999_999_999_999_999], bad: [1.5] },
  int32: { type: z.int32(), good: [-(2 ** 31), 2 ** 31 - 1], bad: [2 ** 31] },
  uint32: { type: z.uint32(), good: [0, 2 ** 32 - 1], bad: [-1, 2 ** 32] },
  float32: { type: z.float32(), good: [0.5, -123.25] },
  float64: { type: z.float64(), good: [0.5, 1234567.125] },
  'number with fractional bounds': {
    type: z.number().min(0.5).lt(2.25),
    good: [0.5, 1, 2.249],
    bad: [0.4, 2.25],
  },
  'multiple of a fraction': { type: z.number().multipleOf(0.25), good: [0, -1.75], bad: [0.1] },
  steps: { type: z.int().multipleOf(5).min(3).max(98), good: [5, 95], bad: [0, 6, 100] },
  'positive number': { type: z.number().positive(), good: [0.001, 7], bad: [0, -1] },
  'number up to 0': { type: z.number().nonpositive(), good: [0, -1.5], bad: [0.1] },
  enum: { type: z.enum(['a', 'b']), good: ['a'], bad: ['c'] },
  literals: { type: z.literal(['a', 1, true, null]), good: ['a', 1, true, null], bad: ['b', 2] },
  'enum of TypeScript': { type: z.enum({ A: 1, B: 'b' }), good: [1, 'b'], bad: ['A'] },
  'record of an enum': {
    type: z.record(z.enum(['a', 'b']), z.number()),
    good: [{ a: 1, b: 2 }],
    bad: [{ a: 1 }, { a: 1, b: 2, c: 3 }, { a: 'x', b: 1 }],
  },
  'partial record of an enum': {
    type: z.partialRecord(z.enum(['a', 'b']), z.number()),
    good: [{}, { b: 2 }],
    bad: [{ c: 3 }],
  },
  'record of names of a kind': {
    type: z.record(z.string().regex(/^k\d$/), z.int()),
    good: [{}, { k1: 1, k2: 2 }],
    bad: [{ k: 1 }],
  },
  'record of numbers': {
    type: z.record(z.number(), z.int()),
    good: [{ '1.5': 2 }],
    bad: [{ a: 1 }],
  },
  'loose record': {
    type: z.looseRecord(z.string().regex(/^k\d$/), z.int()),
    good: [{ k1: 1 }],
    bad: [{ k1: 'x' }],
  },
  object: {
    type: z.object({
      a: z.string().optional(),
      b: z.number().default(3),
      c: z.boolean().nullable(),
      d: z.string().nullish(),
      e: z.never().optional(),
    }),
    good: [
      { b: 1, c: null },
      { a: 'x', b: 2, c: true, d: null },
    ],
    bad: [{ b: 1 }, { a: null, b: 1, c: true }],
  },
  'strict object': {
    type: z.strictObject({ a: z.string() }),
    good: [{ a: '' }],
    bad: [{ a: '', b: 1 }],
  },
  'loose object': {
    type: z.looseObject({ a: z.string() }),
    good: [{ a: '' }, { a: '', b: [1] }],
    bad: [{ b: 1 }],
  },
  'object with a catchall': {
    type: z.object({ a: z.string() }).catchall(z.int()),
    good: [{ a: '', b: 1 }],
    bad: [{ a: '', b: 'x' }],
  },
  tuple: { type: z.tuple([z.string(), z.number()]), good: [['a', 1]], bad: [['a'], ['a', 1, 2]] },
  'tuple with a rest': {
    type: z.tuple([z.string()]).rest(z.null()),
    good: [['a'], ['a', null]],
    bad: [['a', 1], []],
  },
  list: { type: z.array(z.boolean()).min(1).max(3), good: [[true]], bad: [[], [1]] },
  union: { type: z.union([z.string(), z.number()]), good: ['a', 1], bad: [true] },
  'discriminated union': {
    type: z.discriminatedUnion('k', [
      z.object({ k: z.literal('a'), x: z.string() }),
      z.object({ k: z.literal('b'), y: z.int() }),
    ]),
    good: [
      { k: 'a', x: '' },
      { k: 'b', y: 1 },
    ],
    bad: [{ k: 'a', y: 1 }, { k: 'c' }],
  },
  'one of two': { type: z.xor([z.string(), z.int()]), good: ['a', 1], bad: [null] },
  intersection: {
    type: z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
    good: [{ a: '', b: 1 }],
    bad: [{ a: '' }],
  },
  any: { type: z.any(), good: [{ a: [1] }] },
  null: { type: z.null(), good: [null], bad: [0] },
  json: { type: z.json(), good: [{ a: [1, 'x', null] }, true] },
  'a string for a boolean': { type: z.stringbool(), good: [true] },
  'what has a name': {
    type: z.object({ u: z.int().meta({ id: 'U', title: 't', description: 'd' }) }).describe('D'),
    good: [{ u: 1 }],
    bad: [{ u: 'x' }],
  },
  'what refers to itself': {
    type: tree,
    good: [{ name: 'a', kids: [{ name: 'b', kids: [] }] }],
    bad: [{ name: 'a', kids: [{}] }],
  },
};

/** Expects that the schema's grammar allows the good values, and none of the bad ones. */
function expectAllowed(schema: unknown, good: readonly unknown[], bad: readonly unknown[]): void {
  const texts = [...good, ...bad].map((value) => JSON.stringify(value));
  const { allowed } = askSchema({ schema, texts });
  expect(texts.filter((_, i) => allowed[i])).toEqual(texts.slice(0, good.length));
}

/** Returns random values of the schema's grammar. */
function drawn(schema: unknown): unknown[] {
  const { drawn: texts } = askSchema({ schema, draws: 50, seed: 1 });
  return texts.map((text) => JSON.parse(text) as unknown);
}

describe.each(Object.entries(cases))('Zod: %s', (name, { type, good, bad = [] }) => {
  const schema = z.toJSONSchema(type);

  test('allows what is valid, and no other', () => {
    expectAllowed(schema, good, bad);
  });

  test('makes what Zod takes', () => {
    if (name === 'a string for a boolean') return; // the schema describes Zod's output
    for (const value of drawn(schema)) {
      expect(type.safeParse(value).success, JSON.stringify(value)).toBe(true);
    }
  });
});

test.each([
  ['a token', z.jwt()],
  ['a file', z.file()],
  ['a name of your own', z.stringFormat('iban', () => true)],
])('Zod: %s is any text', (_, type) => {
  expectAllowed(z.toJSONSchema(type), ['a'], [1]);
});

const order = {
  id: uuid,
  price: 12.25,
  when: '2024-02-29T09:30:15Z',
  pet: { kind: 'dog', name: 'Rex' },
  pair: [1, 'a'],
  tags: ['x'],
  link: 'https://example.org/',
};
const full = {
  ...{ id: uuid, color: 'blue', price: 0.5, when: '2024-02-29T09:30:15Z', day: null, wait: 'P1D' },
  ...{ pet: { kind: 'cat', lives: 9 }, pair: [1, 'a'], tags: ['x', 'y'], scores: { a: 0.5 } },
  ...{ by_color: { red: 1 }, codes: { de: 49 }, link: 'https://example.org/', mode: 'b' },
  anything: [null],
};
const strict = { at: '09:30:15Z', x: 14, addr: '127.0.0.1', d: '1.50' };

describe('Pydantic 2', () => {
  const schemas = JSON.parse(
    readFileSync(new URL('pydantic-schemas.json', import.meta.url), 'utf8'),
  ) as Record<string, object>;

  it.each([
    [
      'node',
      [{ value: 1 }, { value: 1, next: { value: 2, next: null } }],
      [{ next: null }, { value: 1, next: { value: 'x' } }],
    ],
    [
      'order',
      [order, full],
      [
        ...[{ color: 'green' }, { price: 0 }, { price: 0.1 }, { price: 99.75 }, { link: '' }],
        ...[{ pet: { kind: 'dog', name: 'rex' } }, { pet: { kind: 'cat', name: 'Rex' } }],
        ...[{ pet: { kind: 'dog', name: 'Bartholomew' } }, { pair: [1] }, { tags: [] }],
        ...[{ by_color: { green: 1 } }, { codes: { de: 'x' } }, { mode: 'c' }, { wait: '1 day' }],
      ].map((change) => ({ ...full, ...change })),
    ],
    [
      'strict',
      [strict, { ...strict, d: 1.5 }],
      [
        { ...strict, x: 15 },
        { ...strict, x: 105 },
        { ...strict, d: '-' },
        { ...strict, y: 1 },
      ],
    ],
  ] as [string, unknown[], unknown[]][])('%s', (name, good, bad) => {
    const schema = schemas[name];
    const validate = validator(schema);
    expect(good.filter((value) => !validate(value))).toEqual([]);
    expect(bad.filter(validate)).toEqual([]);
    expectAllowed(schema, good, bad);
    expect(drawn(schema).filter((value) => !validate(value))).toEqual([]);
  });
});

/** Schemas that strict mode accepts, as in the guide to structured outputs. */
describe("OpenAI's strict mode", () => {
  const closed = (properties: object) => ({
    ...{ type: 'object', properties, required: Object.keys(properties) },
    additionalProperties: false,
  });
  it.each([
    [
      'steps of a solution',
      closed({
        steps: {
          type: 'array',
          items: closed({ explanation: { type: 'string' }, output: { type: 'string' } }),
        },
        final_answer: { type: 'string' },
      }),
      { steps: [{ explanation: 'a', output: 'b' }], final_answer: 'c' },
      { steps: [], final_answer: null },
    ],
    [
      'what may be null, in bounds',
      closed({
        unit: { type: ['string', 'null'], enum: ['F', 'C', null], description: 'd' },
        user: {
          type: 'string',
          description: 'd',
          pattern: '^@[a-zA-Z0-9_]+$',
        },
        heat: { type: 'number', minimum: -130, maximum: 130, multipleOf: 0.5 },
        mails: { type: 'array', items: { type: 'string', format: 'email' }, minItems: 1 },
      }),
      { unit: null, user: '@ann', heat: -12.5, mails: ['a@b.co'] },
      { unit: 'K', user: '@ann', heat: -12.5, mails: ['a@b.co'] },
    ],
    [
      'one of several',
      closed({
        item: {
          anyOf: [
            closed({ name: { type: 'string' }, age: { type: 'integer' } }),
            closed({ number: { type: 'string' }, street: { type: 'string' } }),
          ],
        },
      }),
      { item: { number: '1', street: 'a' } },
      { item: { name: 'a', street: 'b' } },
    ],
    [
      'what refers to the whole',
      closed({
        type: { type: 'string', enum: ['div', 'button'] },
        label: { type: 'string' },
        children: { type: 'array', items: { $ref: '#' } },
      }),
      { type: 'div', label: '', children: [{ type: 'button', label: 'a', children: [] }] },
      { type: 'div', label: '', children: [{ type: 'p', label: 'a', children: [] }] },
    ],
    [
      'a list that goes on in itself',
      {
        ...closed({ linked_list: { $ref: '#/$defs/node' } }),
        $defs: {
          node: closed({
            value: { type: 'number' },
            next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          }),
        },
      },
      { linked_list: { value: 1, next: { value: 2.5, next: null } } },
      { linked_list: { value: 1 } },
    ],
  ])('%s', (_, schema, good, bad) => {
    expectAllowed(schema, [good], [bad]);
    const validate = validator(schema);
    expect(drawn(schema).filter((value) => !validate(value))).toEqual([]);
  });
});
