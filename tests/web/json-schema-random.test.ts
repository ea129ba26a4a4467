// Random schemas that no person would write: each makes a grammar or a clear error.
import { describe, expect, it } from 'vitest';
import { askSchemas, randomFrom } from './schema-texts.ts';
import { validator } from './validator.ts';

type Random = ReturnType<typeof randomFrom>;

const oddities: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e21, -1e300, 2 ** 53, NaN, Infinity, '', '\ud800', '\0"\\'],
  ...[undefined, [], {}, [[]], '__proto__', 'constructor', 'toString', '#', '#/$defs/a', '#/%ff'],
];
const numbers = [0, 1, 2, 3, 7, 10, 99, 1000, 123456, -5, -1000, 0.5, 2 ** 53 - 1, 1e15, 1e308];
const names = ['a', 'b', 'ab', '', 'é', '"', '__proto__', 'constructor', '𝄞', 'a/b~c', '\n'];
const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null', 'date'];
const patterns = [
  ...['^a+$', '[a-z]{2,4}', '(a|b)*c', '.', '^$', '\\d+', '[^\\s]', '(', 'a{9999}'],
  ...['^a.*', 'b$', '^(?!ab)(?=.*c)', '\\p{Lu}', '(?<=a)b', '^(?:a|^b)$', '(?:(?!b).){2,9}$'],
];
const formats = [
  'date',
  'time',
  'uuid',
  'email',
  'ipv4',
  'ipv6',
  'uri',
  'duration',
  'color',
  'ulid',
];
const references = ['#', '#/$defs/a', '#/$defs/b', '#/properties/a', '#/$defs/none', 'x.json', 7];

class Schemas {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): unknown {
    return { ...this.#object(0), $defs: { a: this.#schema(2), b: this.#schema(2) } };
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.#below(most + 1) }, make);
  }

  #schema(depth: number): unknown {
    const choice = this.#below(20);
    if (choice === 0) return this.#one(oddities);
    return choice < 3 || depth > 4 ? this.#below(2) === 0 : this.#object(depth + 1);
  }

  #object(depth: number): Record<string, unknown> {
    const entries = this.#list(3, () => {
      const [keyword, make] = this.#one(this.#keywords);
      return [keyword, this.#below(40) === 0 ? this.#one(oddities) : make(depth)] as const;
    });
    return Object.fromEntries(entries);
  }

  readonly #schemas = (depth: number) => this.#list(3, () => this.#schema(depth));
  readonly #number = () => this.#one(numbers);

  readonly #keywords: readonly (readonly [string, (depth: number) => unknown])[] = [
    [
      'type',
      () => (this.#below(3) === 0 ? this.#list(3, () => this.#one(types)) : this.#one(types)),
    ],
    ['enum', () => this.#list(4, () => this.#one([...oddities, ...names, ...numbers]))],
    ['const', () => this.#one([...oddities, ...names, ...numbers])],
    ['allOf', this.#schemas],
    ['anyOf', this.#schemas],
    ['oneOf', this.#schemas],
    ['$ref', () => this.#one(references)],
    [
      'properties',
      (depth) => Object.fromEntries(this.#list(3, () => [this.#one(names), this.#schema(depth)])),
    ],
    ['required', () => this.#list(3, () => this.#one(names))],
    ['additionalProperties', (depth) => this.#schema(depth)],
    ['propertyNames', (depth) => this.#schema(depth)],
    ['items', (depth) => this.#schema(depth)],
    ['prefixItems', this.#schemas],
    ['minItems', this.#number],
    ['maxItems', this.#number],
    ['minLength', this.#number],
    ['maxLength', this.#number],
    ['minimum', this.#number],
    ['maximum', this.#number],
    ['exclusiveMinimum', this.#number],
    ['exclusiveMaximum', this.#number],
    ['multipleOf', () => this.#one([...numbers, 0.25, 0.1, 12, 1e-9])],
    ['pattern', () => this.#one(patterns)],
    [
      'patternProperties',
      (depth) =>
        Object.fromEntries(this.#list(2, () => [this.#one(patterns), this.#schema(depth)])),
    ],
    ['not', (depth) => this.#schema(depth)],
    ['format', () => this.#one(formats)],
    ['title', () => this.#one(oddities)],
  ];
}

type Chooser = <T>(list: readonly T[]) => T;

function randomText(one: Chooser): object {
  const parts = ['a', 'b', '[ab]', '[^a]', '.', '(?:ab|c)', '(?=a)', '(?!b)', '(?=.*c)', 'a?'];
  const part = () => one(parts) + one(['', '', '', '*', '+', '{1,2}']).replace(/^/, '');
  const pattern = () => {
    const inner = [part(), part(), part()].join('').replace(/(\(\?[=!].*?\))[*+{][^a-z(.]*/g, '$1');
    return one(['', '^']) + inner + one(['', '$']);
  };
  const isPattern = (text: string) => {
    try {
      return new RegExp(text, 'u').source !== '';
    } catch {
      return false;
    }
  };
  const usable = (): string => {
    const text = pattern();
    return isPattern(text) ? text : usable();
  };
  return {
    ...{ type: 'string', minLength: one([0, 1, 2]), maxLength: one([2, 3, 4, 9]) },
    allOf: Array.from({ length: one([1, 2]) }, () => ({ pattern: usable() })),
  };
}

function randomWord(one: Chooser): string {
  const length = one([0, 1, 2, 3, 4, 5]);
  return Array.from({ length }, () => one(['a', 'b', 'c', 'd', '\n'])).join('');
}

function randomNumber(one: Chooser): object {
  const ends = [-2.5, -1, -0.001, 0, 0.5, 1, 2.25, 3, 7.125];
  return {
    type: one(['number', 'number', 'integer']),
    [one(['minimum', 'exclusiveMinimum'])]: one(ends.slice(0, 6)),
    [one(['maximum', 'exclusiveMaximum'])]: one(ends.slice(3)),
    ...one([{}, { multipleOf: one([0.001, 0.1, 0.25, 0.5, 1, 1.5, 2, 3]) }]),
  };
}

const refusal =
  /^(the JSON schema, at #|this is not JSON: half a surrogate pair|a rule of the schema's grammar )/;

describe('random schemas', () => {
  it('make grammars of JSON, or are refused by name', () => {
    const schemas = new Schemas(randomFrom(11));
    const asked = Array.from({ length: 2000 }, (_, i) => ({
      ...{ schema: schemas.next(), seed: i },
      draws: i % 20 === 0 ? 2 : 0,
    }));
    const told = askSchemas(asked);
    expect(told).toHaveLength(asked.length);
    let nGrammars = 0;
    for (const [i, { error, ...made }] of told.entries()) {
      if (error !== undefined) expect(error).toMatch(refusal);
      if (!('drawn' in made)) continue;
      nGrammars += 1;
      for (const text of made.drawn) {
        expect(() => JSON.parse(text) as unknown, JSON.stringify(asked[i])).not.toThrow();
      }
    }
    expect(nGrammars).toBeGreaterThan(200);
  });

  it('of strings and numbers allow what is valid, and nothing else', () => {
    const random = randomFrom(12);
    const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const asked = Array.from({ length: 600 }, (_, i) => ({
      ...{ schema: i % 2 === 0 ? randomText(one) : randomNumber(one), draws: 2, seed: i },
      texts: Array.from({ length: 20 }, (_, k) =>
        JSON.stringify(i % 2 === 0 ? randomWord(one) : Number((random() * 12 - 3).toFixed(k % 4))),
      ),
    }));
    let [nValid, nInvalid] = [0, 0];
    for (const [i, told] of askSchemas(asked).entries()) {
      const { schema, texts } = asked[i]!;
      const validate = validator(schema);
      const isValid = texts.map((text) => validate(JSON.parse(text)));
      if (told.error !== undefined) expect(told.error).toMatch(refusal);
      const allowed = told.error === undefined ? told.allowed : texts.map(() => false);
      expect(allowed, JSON.stringify({ schema, texts })).toEqual(isValid);
      nValid += isValid.filter(Boolean).length;
      nInvalid += isValid.filter((valid) => !valid).length;
      for (const text of told.error === undefined ? told.drawn : []) {
        expect(validate(JSON.parse(text)), `${text} under ${JSON.stringify(schema)}`).toBe(true);
      }
    }
    expect(Math.min(nValid, nInvalid)).toBeGreaterThan(1000);
  });

  it.each([
    ['anyOf in allOf', { allOf: Array(30).fill({ anyOf: [{ minLength: 1 }, { minimum: 2 }] }) }],
    ['oneOf of many', { oneOf: Array.from({ length: 300 }, (_, i) => ({ minimum: i })) }],
    ['references in a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }],
    ['a long pattern', { pattern: '(a?){30}a{30}'.repeat(300) }],
    ['a pattern of brackets', { pattern: '('.repeat(20_000) + ')'.repeat(20_000) }],
    ['many properties', { required: Array.from({ length: 20_000 }, (_, i) => `name${String(i)}`) }],
    ['schemas in schemas', nested(300)],
    ['values in values', { const: nested(900) }],
  ])('%s: an answer, and soon', { timeout: 20_000 }, (_, schema) => {
    expect(askSchemas([{ schema }])[0]!.error ?? 'the JSON schema, at #').toMatch(refusal);
  });
});

function nested(depth: number): unknown {
  let schema: unknown = {};
  for (let i = 0; i < depth; i += 1) schema = { items: schema };
  return schema;
}
