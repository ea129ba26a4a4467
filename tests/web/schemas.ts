// Schemas that the converter takes, each with values that its grammar must and must not allow.

export interface SchemaCase {
  name: string;
  schema: unknown;
  /** JSON texts that the grammar must allow; `bad` holds those that it must not allow. */
  good?: string[];
  bad?: string[];
}

const node = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 4 },
    children: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: 2 },
  },
  required: ['name'],
};

const circle = {
  type: 'object',
  properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
  required: ['kind', 'radius'],
};
const square = {
  type: 'object',
  properties: { kind: { const: 'square' }, side: { type: 'integer' } },
  required: ['kind', 'side'],
};

export const schemaCases: SchemaCase[] = [
  {
    name: 'any JSON',
    schema: {},
    good: ['{}', '[]', '"a"', '-1.5e3', 'true', 'null', '{"a":[1,{"b":"\\u00e9"}]}'],
    bad: [
      '',
      '{',
      '{ }',
      '[1, 2]',
      '{"a": 1}',
      '[1,]',
      '01',
      '"\n"',
      'nul',
      '{"a" 1}',
      '"\\ud83d"',
    ],
  },
  { name: 'true', schema: true, good: ['[true,false]'] },
  {
    name: 'annotations',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'T',
      description: 'D',
      default: 1,
      examples: [2],
    },
    good: ['{}'],
  },
  { name: 'null', schema: { type: 'null' }, good: ['null'], bad: ['0', 'nulll'] },
  { name: 'boolean', schema: { type: 'boolean' }, good: ['true', 'false'], bad: ['"true"'] },
  {
    name: 'several types',
    schema: { type: ['string', 'null', 'integer'], maxLength: 2, minimum: 5 },
    good: ['null', '"ab"', '5', '1000'],
    bad: ['4', '"abc"', '5.5', 'true'],
  },
  {
    name: 'integer',
    schema: { type: 'integer' },
    good: ['0', '-7', '123456789012345'],
    bad: ['1.0', '-', '007', '1e3'],
  },
  {
    name: 'number',
    schema: { type: 'number' },
    good: ['0', '-7.25', '1e-9', '1E+99'],
    bad: ['.5', '5.', '1e999', 'NaN'],
  },
  {
    name: 'integers from 7 to 1234',
    schema: { type: 'integer', minimum: 7, maximum: 1234 },
    good: ['7', '9', '10', '99', '100', '999', '1000', '1199', '1230', '1234'],
    bad: ['6', '0', '-8', '1235', '1240', '1300', '2000', '12340', '007'],
  },
  {
    name: 'integers from -120 to 15',
    schema: { type: 'integer', minimum: -120, maximum: 15 },
    good: ['-120', '-119', '-99', '-1', '0', '15', '9', '10'],
    bad: ['-121', '-130', '-200', '16', '20', '-0', '-1200'],
  },
  {
    name: 'integers between exclusive bounds',
    schema: { type: 'integer', exclusiveMinimum: -3, exclusiveMaximum: 2.5 },
    good: ['-2', '0', '2'],
    bad: ['-3', '3'],
  },
  {
    name: 'integers from 50 on',
    schema: { type: 'integer', minimum: 50 },
    good: ['50', '99', '100', '999999999999999'],
    bad: ['49', '5', '-50'],
  },
  {
    name: 'integers up to -50',
    schema: { type: 'integer', maximum: -50 },
    good: ['-50', '-100', '-999999999999999'],
    bad: ['-49', '0', '50'],
  },
  {
    name: 'numbers from 0 to 1',
    schema: { type: 'number', minimum: 0, maximum: 1 },
    good: ['0', '0.5', '0.999999', '1', '1.0'],
    bad: ['1.000001', '-0.1', '2', '10'],
  },
  {
    name: 'numbers above 0',
    schema: { type: 'number', exclusiveMinimum: 0 },
    good: ['0.1', '0.000001', '1', '12.5'],
    bad: ['0', '0.0', '-1'],
  },
  {
    name: 'numbers from -10 up to 10',
    schema: { type: 'number', minimum: -10, exclusiveMaximum: 10 },
    good: ['-10', '-10.0', '-9.99', '-0.5', '0', '9.999999'],
    bad: ['-10.1', '10', '10.0', '11', '-11'],
  },
  {
    name: 'numbers below -3',
    schema: { type: 'number', exclusiveMaximum: -3 },
    good: ['-3.1', '-4', '-100.5'],
    bad: ['-3', '-3.0', '-2.9', '0', '3.5'],
  },
  {
    name: 'one number',
    schema: { type: 'number', minimum: 5, maximum: 5 },
    good: ['5', '5.0'],
    bad: ['5.1', '4'],
  },
  {
    name: 'string',
    schema: { type: 'string' },
    good: ['""', '"a\\n\\"\\u00e9 ü 😀"', '"\\ud7ff"'],
    bad: ['"', '"\t"', '"\\x"', '"\\ud800"', '"\\uDFFF"'],
  },
  {
    name: 'string of 2 to 3 characters',
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    good: ['"ab"', '"😀é\\n"', '"\\u00e9bc"'],
    bad: ['"a"', '"abcd"', '""'],
  },
  { name: 'string not empty', schema: { type: 'string', minLength: 1 }, bad: ['""'] },
  {
    name: 'pattern',
    schema: { type: 'string', pattern: '^[A-Z]{2}-\\d{3,4}(?:x|y)?$' },
    good: ['"AB-123"', '"AB-1234y"'],
    bad: ['"A-123"', '"AB-12"', '"AB-123z"', '"xAB-123"'],
  },
  {
    name: 'pattern anywhere',
    schema: { type: 'string', pattern: 'a+b|^c' },
    good: ['"xaab\\"y"', '"c"', '"c\\n"', '"ab"'],
    bad: ['"xc"', '"a"', '""'],
  },
  {
    name: 'pattern with what JSON escapes',
    schema: { type: 'string', pattern: '^["\\\\\\n\\x01]+[^"a-z]$' },
    good: ['"\\"\\\\\\n\\u0001A"', '"\\"\\\\"', '"\\"\\n"'],
    bad: ['"\\"\\""', '"\\"a"', '"A"'],
  },
  {
    name: 'pattern with classes',
    schema: { type: 'string', pattern: '^\\w+\\s\\D\\S.[^\\d\\s](?<n>a*?)$' },
    good: ['"a_1 x?é-aa"'],
    bad: ['"a_1 1?é-"', '"a_1 x?\\n-"'],
  },
  {
    name: 'pattern with code points',
    schema: { type: 'string', pattern: '^[\\u{1F600}-\\u{1F64F}]\\ud83d\\ude80é$' },
    good: ['"😀🚀é"'],
    bad: ['"a🚀é"'],
  },
  {
    name: 'pattern of some length',
    schema: { type: 'string', pattern: '^ab\\..*', minLength: 5, maxLength: 7 },
    good: ['"ab.cd"', '"ab.\\"\\"xy"'],
    bad: ['"ab."', '"ab.c"', '"ab.cdefg"', '"xab.cd"'],
  },
  {
    name: 'two patterns',
    schema: { type: 'string', allOf: [{ pattern: '^a' }, { pattern: 'z$' }], maxLength: 4 },
    good: ['"az"', '"abcz"', '"a\\nzz"'],
    bad: ['"a"', '"z"', '"abcdz"', '"ba z"'],
  },
  {
    name: 'pattern that looks ahead',
    schema: { type: 'string', pattern: '^(?=.*[0-9])(?!.*x)(?:a|(?=bc).).{0,3}$' },
    good: ['"a1"', '"bc2"', '"acd9"'],
    bad: ['"a"', '"bd2"', '"a1x"', '"abcd1"'],
  },
  {
    name: 'pattern with anchors inside',
    schema: { type: 'string', pattern: '(?:^|-)(a+)(?:$|,)' },
    good: ['"aa"', '"x-a"', '"a,b"', '"x-aa,"'],
    bad: ['"xa"', '"ab"', '""'],
  },
  {
    name: 'pattern with properties of characters',
    schema: { type: 'string', pattern: '^\\p{Lu}[\\p{Ll}\\d]+\\P{L}$' },
    good: ['"Éa1!"', '"Ωω9"'],
    bad: ['"éa1!"', '"Éa1b"'],
  },
  {
    name: 'pattern beside a format',
    schema: { type: 'string', format: 'date', pattern: '^20', maxLength: 12 },
    good: ['"2024-02-29"'],
    bad: ['"1999-12-31"', '"2023-02-29"'],
  },
  {
    name: 'uri',
    schema: { type: 'string', format: 'uri' },
    good: ['"https://example.com"', '"http://a.b.co:8080/x/y.html?q=1&r=a/b#top"'],
    bad: ['"example.com"', '"https://"', '"https://a b.com"'],
  },
  {
    name: 'duration',
    schema: { type: 'string', format: 'duration' },
    good: ['"P1Y2M3DT4H5M6S"', '"PT15M"', '"P2W"'],
    bad: ['"P"', '"P1DT"', '"1D"', '"P1W2D"'],
  },
  {
    name: 'hostname',
    schema: { type: 'string', format: 'hostname' },
    good: ['"a"', '"www.example.com"'],
    bad: ['"-a"', '"a..b"', '""'],
  },
  {
    name: 'ipv6',
    schema: { type: 'string', format: 'ipv6' },
    good: ['"::"', '"::1"', '"2001:db8::8a2e:370:7334"', '"1:2:3:4:5:6:7:8"', '"1::"'],
    bad: ['"1:2:3:4:5:6:7"', '"1::2::3"', '"12345::"'],
  },
  {
    name: 'numbers between fractions',
    schema: { type: 'number', minimum: 0.5, exclusiveMaximum: 2.25 },
    good: ['0.5', '0.50', '1', '2.249999', '2.2'],
    bad: ['0.49', '0.4999', '2.25', '2.250', '2.3', '10', '-1'],
  },
  {
    name: 'numbers between small fractions of both signs',
    schema: { type: 'number', exclusiveMinimum: -0.001, maximum: 1e-7 },
    good: ['-0.000999', '0', '0.0000001'],
    bad: ['-0.001', '0.00000011', '-0', '0.000001'],
  },
  {
    name: 'numbers between powers of ten',
    schema: { type: 'number', minimum: -3.4e38, maximum: 3.4e38 },
    good: ['0.1', '999999999999999', '-123456789.25'],
    bad: ['1e39', '-0'],
  },
  {
    name: 'multiples of an integer',
    schema: { type: 'integer', multipleOf: 7, minimum: -20 },
    good: ['-14', '0', '7', '700', '999999999999994'],
    bad: ['-21', '1', '8', '701'],
  },
  {
    name: 'multiples of a fraction',
    schema: { type: 'number', multipleOf: 0.25, exclusiveMinimum: 0, maximum: 99.5 },
    good: ['0.25', '0.5', '0.50', '3', '99.5'],
    bad: ['0', '0.1', '0.3', '99.75', '0.125'],
  },
  {
    name: 'multiples of two numbers',
    schema: { type: 'integer', allOf: [{ multipleOf: 4 }, { multipleOf: 6 }, { multipleOf: 1.5 }] },
    good: ['0', '12', '-24'],
    bad: ['4', '6', '18'],
  },
  {
    name: 'date',
    schema: { type: 'string', format: 'date' },
    good: ['"2024-02-29"', '"2000-02-29"', '"1999-12-31"', '"2023-04-30"'],
    bad: ['"2023-02-29"', '"1900-02-29"', '"2023-04-31"', '"2023-13-01"', '"2023-1-1"'],
  },
  {
    name: 'time',
    schema: { type: 'string', format: 'time' },
    good: ['"23:59:59Z"', '"00:00:00.25+02:00"'],
    bad: ['"24:00:00Z"', '"12:00"', '"12:60:00Z"'],
  },
  {
    name: 'date and time',
    schema: { type: 'string', format: 'date-time' },
    good: ['"2024-02-29T12:00:00Z"'],
    bad: ['"2024-02-29"', '"2023-02-29T12:00:00Z"'],
  },
  {
    name: 'uuid',
    schema: { type: 'string', format: 'uuid' },
    good: ['"123e4567-e89b-12d3-a456-426614174000"'],
    bad: ['"123e4567-e89b-12d3-a456"'],
  },
  {
    name: 'email',
    schema: { type: 'string', format: 'email' },
    good: ['"a.b@c.de"'],
    bad: ['"a"'],
  },
  {
    name: 'ipv4',
    schema: { type: 'string', format: 'ipv4' },
    good: ['"192.168.0.255"'],
    bad: ['"256.1.1.1"', '"1.1.1"'],
  },
  {
    name: 'enum',
    schema: { enum: ['red', 'a "b"\n', 7, null, { x: [1] }] },
    good: ['"red"', '"a \\"b\\"\\n"', '7', 'null', '{"x":[1]}'],
    bad: ['red', '"blue"', '8'],
  },
  {
    name: 'enum with a type',
    schema: { type: 'string', enum: ['a', 1] },
    good: ['"a"'],
    bad: ['1'],
  },
  { name: 'const', schema: { const: -1.5 }, good: ['-1.5'], bad: ['-1.50'] },
  {
    name: 'object',
    schema: {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
    },
    good: ['{"name":"a","age":1}'],
    bad: [
      '{ "name": "a", "age": 1 }',
      '{"name":"a"}',
      '{"age":1,"name":"a"}',
      '{"name":"a","age":1,"x":2}',
      '{}',
    ],
  },
  {
    name: 'object with optional properties',
    schema: {
      properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } },
      required: ['b'],
    },
    good: ['{"b":null}', '{"a":null,"b":null}', '{"b":null,"c":null}'],
    bad: ['{}', '{"a":null}', '{"a":null,"c":null}', '{,"b":null}', '{"b":null,}'],
  },
  {
    name: 'object with only optional properties',
    schema: { properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } } },
    good: ['{}', '{"a":null}', '{"b":null}', '{"a":null,"c":null}', '{"b":null,"c":null}'],
    bad: ['{"c":null,"a":null}', '{"a":null"b":null}', '{"d":null}'],
  },
  {
    name: 'object with other properties',
    schema: {
      properties: { ab: { type: 'integer' }, a: { type: 'integer' }, 'q"\n': { type: 'integer' } },
      required: ['a'],
      additionalProperties: { type: 'string' },
    },
    good: ['{"a":1}', '{"ab":1,"a":1,"abc":"x","":"y","b":"z"}', '{"a":1,"q\\"":"x","\\n":""}'],
    bad: ['{"a":1,"b":1}', '{"a":1,"ab":"x"}', '{"a":1,"a":"x"}', '{"a":1,"\\u0061":"x"}'],
  },
  {
    name: 'object with any other properties',
    schema: { properties: { a: { type: 'integer' } }, additionalProperties: true },
    good: ['{}', '{"a":1,"b":[{}]}', '{"b":null}'],
    bad: ['{"a":"x"}'],
  },
  {
    name: 'any object',
    schema: { type: 'object' },
    good: ['{}', '{"a":{"b":[]}}'],
    bad: ['[]', '1'],
  },
  {
    name: 'map',
    schema: { type: 'object', additionalProperties: { type: 'number' } },
    good: ['{}', '{"a":1,"b":2}'],
    bad: ['{"a":"x"}'],
  },
  {
    name: 'map with names of a kind',
    schema: {
      type: 'object',
      propertyNames: { pattern: '^k[0-9]$' },
      additionalProperties: { type: 'null' },
    },
    good: ['{}', '{"k1":null,"k2":null}'],
    bad: ['{"x":null}'],
  },
  {
    name: 'record of an enum',
    schema: {
      type: 'object',
      propertyNames: { type: 'string', enum: ['a', 'b'] },
      additionalProperties: { type: 'number' },
      required: ['b'],
    },
    good: ['{"b":1}', '{"a":1,"b":2}'],
    bad: ['{}', '{"a":1}', '{"c":1,"b":1}', '{"b":"x"}', '{"b":1,"b":2}'],
  },
  {
    name: 'map with names of a kind and a property',
    schema: {
      properties: { k1: { type: 'string' }, x: true },
      required: ['k2'],
      propertyNames: { anyOf: [{ pattern: '^k' }, { const: 'j' }], maxLength: 3 },
      additionalProperties: { type: 'null' },
    },
    good: ['{"k2":null}', '{"k1":"","k2":null,"k33":null,"j":null}'],
    bad: ['{"k2":null,"x":1}', '{"k1":null,"k2":null}', '{"k2":null,"k444":null}', '{}'],
  },
  {
    name: 'properties by patterns',
    schema: {
      properties: { a1: { maximum: 5 } },
      patternProperties: { '^a\\d$': { type: 'integer' }, '^b': { type: 'null' } },
      additionalProperties: { type: 'boolean' },
    },
    good: ['{}', '{"a1":5,"a2":7,"b":null,"c":true}', '{"a10":false}'],
    bad: ['{"a1":6}', '{"a1":true}', '{"a2":null}', '{"b":1}', '{"c":1}'],
  },
  {
    name: 'properties by overlapping patterns, and no others',
    schema: {
      type: 'object',
      patternProperties: { '^a': { type: 'integer' }, z$: { minimum: 3 } },
      additionalProperties: false,
    },
    good: ['{"a":1}', '{"bz":3}'],
    bad: ['{"b":1}', '{"az":1}'],
  },
  {
    name: 'nothing but an annotation of what is not',
    schema: { type: 'object', properties: { a: { not: {} }, b: { type: 'null', not: false } } },
    good: ['{}', '{"b":null}'],
    bad: ['{"a":1}'],
  },
  {
    name: 'closed and empty object',
    schema: { type: 'object', additionalProperties: false },
    good: ['{}'],
    bad: ['{"a":1}'],
  },
  {
    name: 'required property without a schema',
    schema: { type: 'object', required: ['a'] },
    good: ['{"a":[1]}'],
    bad: ['{}', '{"b":1}'],
  },
  {
    name: 'forbidden property',
    schema: { properties: { a: { type: 'null' }, b: false }, additionalProperties: true },
    good: ['{"a":null}', '{"c":1}'],
    bad: ['{"b":1}', '{"a":null,"b":1}'],
  },
  {
    name: 'array',
    schema: { type: 'array', items: { type: 'integer' } },
    good: ['[]', '[1]', '[1,2,3]'],
    bad: ['[1, 2]', '[1,]', '["a"]', '[,1]', '[1 2]'],
  },
  {
    name: 'array of 2 to 3',
    schema: { items: { type: 'boolean' }, minItems: 2, maxItems: 3 },
    good: ['[true,true]', '[true,false,true]'],
    bad: ['[]', '[true]', '[true,true,true,true]'],
  },
  {
    name: 'empty array',
    schema: { type: 'array', maxItems: 0 },
    good: ['[]'],
    bad: ['[1]'],
  },
  {
    name: 'array without items',
    schema: { type: 'array', items: false },
    good: ['[]'],
    bad: ['[1]'],
  },
  {
    name: 'tuple',
    schema: { prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    good: ['["a",1]'],
    bad: ['[1,"a"]', '["a",1,2]'],
  },
  {
    name: 'tuple and more',
    schema: {
      prefixItems: [{ type: 'string' }],
      items: { type: 'null' },
      minItems: 2,
      maxItems: 3,
    },
    good: ['["a",null]', '["a",null,null]'],
    bad: ['["a"]', '["a",null,null,null]'],
  },
  {
    name: 'anyOf',
    schema: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'string', maxLength: 1 }, false] },
    good: ['3', '"a"'],
    bad: ['2', '"ab"'],
  },
  {
    name: 'anyOf beside properties',
    schema: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    good: ['{"a":1}', '{"b":1}', '{"a":1,"b":1}'],
    bad: ['{}'],
  },
  {
    name: 'oneOf by type',
    schema: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'null' } }] },
    good: ['"a"', '[null]'],
    bad: ['[1]'],
  },
  {
    name: 'oneOf by a property',
    schema: { oneOf: [circle, square] },
    good: ['{"kind":"circle","radius":1.5}', '{"kind":"square","side":1}'],
    bad: ['{"kind":"square","radius":1}'],
  },
  {
    name: 'allOf of objects',
    schema: {
      allOf: [
        { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        { properties: { a: { minimum: 3 }, b: { type: 'string' } }, required: ['b'] },
      ],
    },
    good: ['{"a":3,"b":""}'],
    bad: ['{"a":2,"b":""}', '{"a":3}'],
  },
  {
    name: 'allOf of everything else',
    schema: {
      allOf: [
        { type: ['integer', 'string', 'array'], minimum: 2, minLength: 2, minItems: 1 },
        { type: ['number', 'string', 'array'], maximum: 11, maxLength: 3, maxItems: 2 },
        { minimum: 3, maxLength: 5, prefixItems: [{ type: 'null' }], items: { type: 'boolean' } },
      ],
    },
    good: ['3', '11', '"ab"', '"abc"', '[null]', '[null,true]'],
    bad: ['2', '12', '3.5', '"a"', '"abcd"', '[]', '[null,null]', '[null,true,true]'],
  },
  {
    name: 'allOf of enums',
    schema: {
      allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['b', 'c', 'd'] }],
      anyOf: [{ const: 'b' }],
    },
    good: ['"b"'],
    bad: ['"a"', '"c"', '"d"'],
  },
  {
    name: 'allOf with closed objects',
    schema: {
      allOf: [
        { properties: { a: true, b: true }, additionalProperties: false },
        { properties: { b: { type: 'null' }, c: true }, additionalProperties: true },
      ],
    },
    good: ['{"a":1,"b":null}', '{}'],
    bad: ['{"c":1}', '{"b":1}'],
  },
  {
    name: 'reference with demands beside it',
    schema: {
      $defs: { id: { type: 'integer', minimum: 1 } },
      $ref: '#/$defs/id',
      maximum: 3,
    },
    good: ['1', '3'],
    bad: ['0', '4'],
  },
  {
    name: 'recursive reference',
    schema: { $defs: { node }, $ref: '#/$defs/node' },
    good: ['{"name":"a","children":[{"name":"b"},{"name":"c","children":[]}]}'],
    bad: ['{"children":[]}', '{"name":"a","children":[{}]}'],
  },
  {
    name: 'reference to the whole',
    schema: { anyOf: [{ type: 'integer' }, { type: 'array', items: { $ref: '#' }, maxItems: 2 }] },
    good: ['1', '[]', '[[1],[2,[3]]]'],
    bad: ['["a"]', '[1,2,3]'],
  },
  {
    name: 'reference with an escaped name',
    schema: {
      definitions: { 'a/b ~%': { type: 'null' } },
      items: { $ref: '#/definitions/a~1b%20~0%25' },
    },
    good: ['[null]'],
    bad: ['[1]'],
  },
  {
    name: 'two types that share properties',
    schema: {
      $defs: {
        base: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
        named: {
          allOf: [{ $ref: '#/$defs/base' }, { properties: { name: { type: 'string' } } }],
        },
      },
      type: 'array',
      items: { anyOf: [{ $ref: '#/$defs/named' }, { type: 'null' }] },
    },
    good: ['[{"id":1,"name":"a"},null,{"id":2}]'],
    bad: ['[{"name":"a"}]'],
  },
];
