/** Converts JSON schemas (draft 2020-12) to GBNF. */
import { KingletError } from '../errors.ts';
import { alternatives, lastCodePoint, literal, repeat, sequence } from './gbnf.ts';
import { Languages } from './language.ts';
import type { Language } from './language.ts';
import { textsOf } from './merge.ts';
import {
  enclosed,
  isPlainName,
  json,
  plainNameCharacters,
  plainNames,
  quotedSpellings,
  textSpellings,
  word,
} from './notation.ts';
import type { Place, Spelling, ValueNotation } from './notation.ts';
import { anyInteger, anyNumber, NumberError, numbersToGbnf } from './numbers.ts';
import type { Bound } from './numbers.ts';
import { PatternError } from './pattern.ts';
import { SchemaResolver } from './resolve.ts';
import { GrammarRules } from './rules.ts';
import {
  below,
  checkedSchema,
  checkSize,
  countOf,
  isObject,
  keywordsOf,
  listOf,
  numberOf,
  patternPropertiesOf,
  propertiesOf,
  requiredOf,
  schemaError,
  typeNames,
  typesOf,
} from './schema.ts';
import type { SchemaObject } from './schema.ts';
import { anyCharacter, formats, namesOfPatterns } from './strings.ts';
import { languageToGbnf, patternLanguage, patternToGbnf } from './texts.ts';

/**
 * Returns the grammar, in GBNF, of JSON texts that are valid under the schema.
 *
 * It may allow less than the schema, but never more: properties come in the order of the schema, an
 * object that names its properties has no others unless `additionalProperties` says so, tuples are
 * complete, and numbers have at most 15 digits.
 *
 * @param indent The number of spaces by which each level is indented, as in JSON.stringify, down to
 * some depth. 0: the text has no white space.
 * @throws KingletError `invalid_argument`, naming the place and the keyword that is not supported.
 */
export function grammarOfSchema(schema: unknown, indent = 0): string {
  const rules = newRules();
  return rules.grammar(schemaToGbnf(schema, rules, indent));
}

/** Returns GBNF for the values that are valid under the schema. */
export function schemaToGbnf(schema: unknown, rules: GrammarRules, indent = 0): string {
  const root = compiled(new SchemaCompiler(schema, json, rules, indent));
  if (root === undefined) throw schemaError('#', 'no value is valid');
  return root;
}

/** Returns rules for several schemas in the same notation. */
export function newRules(): GrammarRules {
  return new GrammarRules(Object.keys(commonRules));
}

/**
 * Returns GBNF for the arguments of a call, which are an object that is valid under the schema;
 * undefined if no object is valid. The arguments named in `texts` are strings.
 *
 * @throws KingletError as {@link grammarOfSchema}.
 */
export function argumentsToGbnf(
  schema: unknown,
  texts: readonly string[],
  notation: ValueNotation,
  rules: GrammarRules,
): string | undefined {
  return compiled(new SchemaCompiler(schema, notation, rules, 0, texts));
}

function compiled(compiler: SchemaCompiler): string | undefined {
  try {
    return compiler.compile();
  } catch (error) {
    if (error instanceof KingletError) throw error;
    if (error instanceof PatternError) {
      throw schemaError('#', `what is asked of its strings is not supported: ${error.message}`);
    }
    // A value contains itself, or is nested too deep for the stack.
    throw schemaError('#', `it is no JSON: ${String(error)}`);
  }
}

/** The limit for schemas inside schemas, because of the program's stack. */
const maxDepth = 200;

/** How many levels are indented. Each needs its own rules, and schemas may refer to themselves. */
const maxLevels = 12;

/** Rules that every schema may use, by name. */
const commonRules: Record<string, string> = {
  string: String.raw`"\"" char* "\""`,
  char: anyCharacter,
  number: anyNumber,
  integer: anyInteger,
};

class SchemaCompiler {
  readonly #schema: unknown;
  readonly #resolver: SchemaResolver;
  readonly #rules: GrammarRules;
  readonly #namesOfReferences = new Map<string, string>();
  readonly #languages = new Languages();
  readonly #notation: ValueNotation;
  readonly #quoted: Spelling[];
  readonly #textNames: readonly string[];
  readonly #indent: number;
  readonly #nLevels: number;
  #depth = 0;
  /** How many indented objects and lists are around the current value. */
  #level = 0;
  /** The references that are being followed, and whose value has not begun. */
  #open = new Set<string>();
  #place: Place;

  /** `texts`: only for a schema of arguments: the names of those that are strings. */
  constructor(
    schema: unknown,
    notation: ValueNotation,
    rules: GrammarRules,
    indent: number,
    texts?: readonly string[],
  ) {
    this.#schema = schema;
    this.#notation = notation;
    this.#rules = rules;
    this.#indent = indent;
    this.#nLevels = indent > 0 ? maxLevels : 0;
    this.#resolver = new SchemaResolver(schema);
    this.#quoted = quotedSpellings(notation, this.#languages);
    this.#textNames = texts ?? [];
    this.#place = texts ? 'arguments' : 'value';
  }

  compile(): string | undefined {
    checkSize(this.#schema);
    return this.#convert(this.#schema, '#');
  }

  /** Returns GBNF that matches the schema; undefined if no value is valid. */
  #convert(value: unknown, at: string): string | undefined {
    if ((this.#depth += 1) > maxDepth) {
      throw schemaError(at, `schemas are nested more than ${String(maxDepth)} deep`);
    }
    const { schema, keywords } = checkedSchema(value, at);
    const [only] = keywords.length === 1 ? keywords : [];
    let found: string | undefined;
    if (only === '$ref' && schema instanceof Object) {
      found = this.#reference(schema.$ref, at);
    } else if (only === 'anyOf' && schema instanceof Object) {
      found = union(
        listOf(schema, only, at).map((branch, i) => this.#convert(branch, below(at, only, i))),
      );
    } else {
      found = union(
        this.#resolver.variants(schema, at).map((variant) => this.#variant(variant, at)),
      );
    }
    this.#depth -= 1;
    return found;
  }

  #reference(reference: unknown, at: string): string {
    const target = this.#resolver.resolve(reference, at);
    const pointer = String(reference);
    const key = `${String(this.#level)} ${this.#place} ${pointer}`;
    if (this.#open.has(key)) throw schemaError(at, `"${pointer}" is defined by itself`);
    const known = this.#namesOfReferences.get(key);
    if (known !== undefined) return known;
    const name = this.#rules.newName(pointer);
    this.#namesOfReferences.set(key, name);
    this.#open.add(key);
    const body = this.#convert(target, pointer);
    this.#open.delete(key);
    if (body === undefined) throw schemaError(pointer, 'no value is valid');
    this.#rules.define(name, body);
    return name;
  }

  /** Converts a schema without references and combinations. */
  #variant(schema: SchemaObject, at: string): string | undefined {
    if (schema.enum !== undefined) return this.#enumeration(schema, at);
    const keywords = Object.keys(schema);
    if (keywords.length === 0) return this.#anything(at);
    const types = schema.type === undefined ? impliedTypes(keywords) : typesOf(schema, at);
    return union(
      types
        .filter((type) => type !== 'integer' || !types.includes('number'))
        .map((type) => this.#ofType(type, schema, at)),
    );
  }

  #ofType(type: string, schema: SchemaObject, at: string): string | undefined {
    if (this.#place === 'arguments' && type !== 'object') return undefined;
    switch (type) {
      case 'object':
        return this.#object(schema, at);
      case 'array':
        return this.#array(schema, at);
      case 'string':
        return this.#string(schema, at);
      case 'integer':
      case 'number':
        return this.#number(type, schema, at);
      case 'boolean':
        return alternatives([word('true', this.#notation), word('false', this.#notation)]);
      default:
        return word('null', this.#notation);
    }
  }

  #enumeration(schema: SchemaObject, at: string): string | undefined {
    const other = Object.keys(schema).find((keyword) => !['enum', 'type'].includes(keyword));
    if (other !== undefined) {
      throw schemaError(at, `"${other}" beside "enum" or "const" is not supported`);
    }
    const types = schema.type === undefined ? typeNames : typesOf(schema, at);
    const values = listOf(schema, 'enum', at).filter((value) =>
      types.some((t) => isOfType(value, t)),
    );
    if (this.#place === 'arguments') return undefined;
    return union(values.map((value) => this.#spelled(value, at)));
  }

  #spelled(value: unknown, at: string): string | undefined {
    if (this.#isIndented()) {
      const lines = JSON.stringify(value, null, this.#indent);
      return literal(lines.replaceAll('\n', this.#lineBreak(0)));
    }
    if (this.#notation === json) return literal(JSON.stringify(value));
    if (typeof value === 'string') return this.#spelledString(value, at);
    if (this.#place === 'text') return undefined;
    const inside = (item: unknown) => this.#inside('value', () => this.#spelled(item, at));
    if (Array.isArray(value)) return this.#spelledParts('[', value.map(inside), ']');
    if (isObject(value)) {
      const members = Object.entries(value).map(([name, item]) => {
        const text = inside(item);
        return text === undefined ? undefined : sequence(...this.#key(name, at), text);
      });
      return this.#spelledParts('{', members, '}');
    }
    const text = JSON.stringify(value);
    return text === 'true' || text === 'false' || text === 'null'
      ? word(text, this.#notation)
      : literal(text);
  }

  #spelledString(text: string, at: string): string {
    const spellings = this.#spellings()
      .filter(({ language }) => !language || this.#languages.has(language, text))
      .map(({ write }) => write(text));
    if (spellings.length > 0) return alternatives(spellings);
    throw schemaError(at, `a call of this model cannot have the value ${JSON.stringify(text)}`);
  }

  #spelledParts(open: string, parts: (string | undefined)[], close: string): string | undefined {
    if (parts.includes(undefined)) return undefined;
    const comma = this.#comma();
    const inside = parts.flatMap((part, i) => (i === 0 ? [part ?? ''] : [comma, part ?? '']));
    return sequence(literal(open), ...inside, literal(close));
  }

  #object(schema: SchemaObject, at: string): string | undefined {
    const properties = propertiesOf(schema, at);
    const patterns = Object.entries(patternPropertiesOf(schema, at));
    const required = requiredOf(schema, at);
    const isClosed = patterns.length > 0 || schema.properties !== undefined || required.length > 0;
    const names = this.#names(schema, at);
    const declared = this.#inOrder(
      new Set([...Object.keys(properties), ...(names.all ?? []), ...required]),
    );
    const additional = schema.additionalProperties ?? (names.all !== undefined || !isClosed);
    const members: Member[] = [];
    for (const name of declared) {
      const isRequired = required.includes(name);
      const value = this.#inside(this.#placeOf(name), () =>
        this.#deeper(() => this.#property(name, schema, names, at)),
      );
      if (value === undefined && isRequired) return undefined;
      if (value === undefined) continue;
      const text = this.#member(this.#key(name, below(at, name)), value);
      members.push({ text: this.#rules.add(below(at, name), text), isRequired });
    }
    const values = patterns.map(([pattern, value]) => ({
      ...{ value, place: below(at, 'patternProperties', pattern) },
      names: this.#pattern(pattern, at),
    }));
    const isOpen = names.all === undefined && additional !== false;
    const other = { value: additional, place: below(at, 'additionalProperties') };
    const pairs = (isOpen ? [...values, { ...other, names: names.language }] : values).map(
      ({ value, place, names: own }) => {
        const others = values
          .filter((pattern) => pattern.names !== own)
          .map((pattern) => pattern.names);
        const taken = [...others, ...declared.map((name) => this.#languages.text(name))];
        const free = this.#languages.not(this.#languages.union(...taken));
        return this.#pair(this.#languages.both(names.language, own, free), value, place);
      },
    );
    return this.#rules.add(at, this.#braces(members, union(pairs), at));
  }

  /** Sorts names like Jinja's dictsort, if the notation sorts them. */
  #inOrder(names: ReadonlySet<string>): string[] {
    if (this.#notation.sortsKeys === 0) return [...names];
    const lower = (name: string) => name.toLowerCase();
    return [...names].sort((a, b) => (lower(a) < lower(b) ? -1 : lower(a) > lower(b) ? 1 : 0));
  }

  /** Returns whether the current value is a call's arguments in a notation of their own. */
  #areTagged(): boolean {
    return this.#place === 'arguments' && this.#notation.keyEnd !== '';
  }

  #placeOf(name: string): Place {
    if (!this.#areTagged()) return 'value';
    return this.#notation.textEnd !== '' && this.#textNames.includes(name) ? 'text' : 'argument';
  }

  #inside<T>(place: Place, make: () => T): T {
    const outer = [this.#place, this.#open] as const;
    [this.#place, this.#open] = [place, new Set()];
    try {
      return make();
    } finally {
      [this.#place, this.#open] = outer;
    }
  }

  /** Returns a member's name, and what is between the name and the value. */
  #key(name: string, at: string): string[] {
    const { argumentBegin, keyEnd } = this.#notation;
    const hasPlainKeys = this.#notation.hasPlainKeys !== 0;
    if ((this.#areTagged() || hasPlainKeys) && !isPlainName(name)) {
      throw schemaError(at, `a call of this model cannot have the name ${JSON.stringify(name)}`);
    }
    if (this.#areTagged()) return [literal(`${argumentBegin}${name}${keyEnd}`)];
    const spellings = this.#quoted.map(({ write }) => write(name));
    return [hasPlainKeys ? literal(name) : alternatives(spellings), this.#colon()];
  }

  #member(key: readonly string[], value: string): string {
    const { valueEnd } = this.#notation;
    const end = this.#areTagged() && valueEnd !== '' ? [literal(valueEnd)] : [];
    return sequence(...key, value, ...end);
  }

  /** Converts the value of a property whose name is known. */
  #property(
    name: string,
    schema: SchemaObject,
    names: PropertyNames,
    at: string,
  ): string | undefined {
    if (!this.#languages.has(names.language, name)) return undefined;
    const properties = propertiesOf(schema, at);
    const demands: [schema: unknown, at: string][] = [];
    if (Object.hasOwn(properties, name)) {
      demands.push([properties[name], below(at, 'properties', name)]);
    }
    for (const [pattern, value] of Object.entries(patternPropertiesOf(schema, at))) {
      if (!this.#languages.has(this.#pattern(pattern, at), name)) continue;
      demands.push([value, below(at, 'patternProperties', pattern)]);
    }
    const [first, second] = demands;
    if (!first) {
      return this.#convert(schema.additionalProperties ?? true, below(at, 'additionalProperties'));
    }
    return second
      ? this.#convert({ allOf: demands.map(([demand]) => demand) }, first[1])
      : this.#convert(...first);
  }

  /** Returns the names that `propertyNames` allows. */
  #names({ propertyNames }: SchemaObject, at: string): PropertyNames {
    if (propertyNames === undefined) return { language: this.#languages.anyText };
    const place = below(at, 'propertyNames');
    const variants = this.#resolver.variants({ allOf: [{ type: 'string' }, propertyNames] }, place);
    const isText = (value: unknown) => typeof value === 'string';
    const lists = variants.map((variant) =>
      variant.enum === undefined ? undefined : listOf(variant, 'enum', place).filter(isText),
    );
    const languages = variants.map((variant, i) =>
      lists[i]
        ? this.#languages.union(...lists[i].map((name) => this.#languages.text(name)))
        : this.#texts(variant, place),
    );
    const all = lists.every((list) => list !== undefined) ? lists.flat() : undefined;
    return { language: this.#languages.union(...languages), all };
  }

  /** Converts a property with any of these names. */
  #pair(names: Language, value: unknown, at: string): string | undefined {
    const place = this.#areTagged() ? 'argument' : 'value';
    const text = this.#inside(place, () => this.#deeper(() => this.#convert(value, at)));
    if (text === undefined) return undefined;
    const key = this.#anyKey(names, at);
    return key === undefined
      ? undefined
      : this.#rules.add(below(at, 'pair'), this.#member(key, text));
  }

  #anyKey(names: Language, at: string): string[] | undefined {
    const { argumentBegin, keyEnd } = this.#notation;
    const hasPlainKeys = this.#notation.hasPlainKeys !== 0;
    const isAny = names === this.#languages.anyText;
    if (!this.#areTagged() && !hasPlainKeys) {
      const spellings = this.#quoted.map((spelling) =>
        isAny ? this.#anyText(spelling) : this.#ofLanguage(spelling, names, at),
      );
      const name = union(spellings);
      return name === undefined ? undefined : [name, this.#colon()];
    }
    const plain = this.#languages.repeat(this.#languages.set(plainNameCharacters), 1, Infinity);
    const name = this.#ofLanguage(plainNames, this.#languages.both(names, plain), at);
    if (name === undefined) return undefined;
    return this.#areTagged()
      ? [literal(argumentBegin), name, literal(keyEnd)]
      : [name, this.#colon()];
  }

  /**
   * Writes the members in their order, then any number of `pair`. From a given member on, `firsts`
   * match the rest if nothing has been written yet, and `next` if something has.
   */
  #braces(members: Member[], pair: string | undefined, at: string): string {
    const { argumentSeparator, argumentsBegin, argumentsEnd } = this.#notation;
    const areTagged = this.#areTagged();
    const comma = areTagged ? literal(argumentSeparator) : this.#comma();
    let next = pair === undefined ? '' : repeat(sequence(comma, pair), 0, undefined);
    let firsts = pair === undefined ? [] : [sequence(pair, next)];
    let mayBeEmpty = true;
    for (const { text, isRequired } of [...members].reverse()) {
      const after = next === '' ? [] : [this.#rules.add(below(at, 'next'), next)];
      const another = sequence(comma, text, ...after);
      const only = sequence(text, ...after);
      if (isRequired) {
        next = another;
        firsts = [only];
        mayBeEmpty = false;
      } else {
        next = after[0] === undefined ? `${another}?` : alternatives([another, after[0]]);
        firsts.unshift(only);
      }
    }
    const first = firsts.length === 0 ? undefined : alternatives(firsts);
    if (!areTagged) return this.#enclosed('{', first, '}', mayBeEmpty);
    const inside = first === undefined ? '""' : mayBeEmpty ? `${first}?` : first;
    return sequence(literal(argumentsBegin), inside, literal(argumentsEnd));
  }

  /** Puts brackets around `inside`. If lines are indented, `inside` has its own line. */
  #enclosed(open: string, inside: string | undefined, close: string, mayBeEmpty: boolean): string {
    const empty = literal(open + close);
    if (inside === undefined) return empty;
    const full = sequence(
      literal(open + this.#lineBreak(1)),
      inside,
      literal(this.#lineBreak(0) + close),
    );
    return mayBeEmpty ? alternatives([empty, full]) : full;
  }

  #isIndented(): boolean {
    return this.#level < this.#nLevels;
  }

  /** Returns a line break with the indentation of this level, or of the next one. */
  #lineBreak(deeper: 0 | 1): string {
    return this.#isIndented() ? `\n${' '.repeat(this.#indent * (this.#level + deeper))}` : '';
  }

  #deeper<T>(make: () => T): T {
    const level = this.#level;
    this.#level = Math.min(level + 1, this.#nLevels);
    try {
      return make();
    } finally {
      this.#level = level;
    }
  }

  #colon(): string {
    return literal(this.#isIndented() ? ': ' : this.#notation.colon);
  }

  /** Returns the separator between members. */
  #comma(): string {
    return literal(this.#isIndented() ? `,${this.#lineBreak(1)}` : this.#notation.separator);
  }

  #anything(at: string): string | undefined {
    if (this.#place === 'arguments') return this.#object({}, at);
    // Any text is possible, because the argument is read as a value or else as a string.
    const isText = this.#place === 'argument' && this.#notation.textEnd !== '';
    return isText ? this.#inside('text', () => this.#string({}, at)) : this.#anyValue();
  }

  #anyValue(): string {
    const key = `${String(this.#level)} value`;
    const known = this.#namesOfReferences.get(key);
    if (known !== undefined) return known;
    const name = this.#rules.newName('value');
    this.#namesOfReferences.set(key, name);
    const inner = this.#deeper(() => this.#anyValue());
    const comma = this.#comma();
    const several = (item: string) => sequence(item, repeat(sequence(comma, item), 0, undefined));
    const anyKey = this.#inside('value', () => this.#anyKey(this.#languages.anyText, '#'));
    const pair = this.#rules.add('pair', sequence(...(anyKey ?? []), inner));
    const object = this.#rules.add('object', this.#enclosed('{', several(pair), '}', true));
    const array = this.#rules.add('array', this.#enclosed('[', several(inner), ']', true));
    const strings = this.#quoted.map((spelling) => this.#anyText(spelling));
    const words = (['true', 'false', 'null'] as const).map((value) => word(value, this.#notation));
    const others = [...strings, this.#common('number'), ...words];
    this.#rules.define(name, alternatives([object, array, ...others]));
    return name;
  }

  #array(schema: SchemaObject, at: string): string | undefined {
    return this.#inside('value', () => this.#list(schema, at));
  }

  #list(schema: SchemaObject, at: string): string | undefined {
    const prefix = schema.prefixItems === undefined ? [] : listOf(schema, 'prefixItems', at);
    const least = countOf(schema, 'minItems', at) ?? 0;
    let most = countOf(schema, 'maxItems', at) ?? Infinity;
    const tuple: string[] = [];
    for (const [i, item] of prefix.entries()) {
      const place = below(at, 'prefixItems', i);
      const text = i < most ? this.#deeper(() => this.#convert(item, place)) : undefined;
      if (text === undefined) most = Math.min(most, i);
      else if (tuple.length === i) tuple.push(text);
    }
    const { items = prefix.length === 0 || least > prefix.length } = schema;
    const item =
      most > tuple.length
        ? this.#deeper(() => this.#convert(items, below(at, 'items')))
        : undefined;
    if (item === undefined) most = Math.min(most, tuple.length);
    return least > most ? undefined : this.#rules.add(at, this.#brackets(tuple, item, least, most));
  }

  #brackets(tuple: string[], item: string | undefined, least: number, most: number): string {
    const comma = this.#comma();
    const others = (n: number) =>
      item === undefined
        ? []
        : [
            repeat(
              sequence(comma, item),
              Math.max(0, least - n),
              most === Infinity ? undefined : most - n,
            ),
          ];
    if (tuple.length > 0) {
      const parts = tuple.flatMap((text, i) => (i === 0 ? [text] : [comma, text]));
      return this.#enclosed('[', sequence(...parts, ...others(tuple.length)), ']', false);
    }
    const inside = item === undefined ? undefined : sequence(item, ...others(1));
    return this.#enclosed('[', inside, ']', least === 0);
  }

  #spellings(): Spelling[] {
    return this.#place === 'text' ? textSpellings(this.#notation, this.#languages) : this.#quoted;
  }

  #string(schema: SchemaObject, at: string): string | undefined {
    return union(this.#spellings().map((spelling) => this.#stringAs(spelling, schema, at)));
  }

  #stringAs(spelling: Spelling, schema: SchemaObject, at: string): string | undefined {
    const { characters, language } = spelling;
    const patterns = this.#patterns(schema, at);
    const least = countOf(schema, 'minLength', at) ?? 0;
    const most = countOf(schema, 'maxLength', at) ?? Infinity;
    if (least > most) return undefined;
    const isOfAnyLength = least === 0 && most === Infinity;
    const [pattern] = patterns;
    if (pattern === undefined && isOfAnyLength) return this.#anyText(spelling);
    if (pattern === undefined && !language) {
      const text = repeat(
        this.#anyCharacter(spelling),
        least,
        most === Infinity ? undefined : most,
      );
      return enclosed(spelling, text);
    }
    const plain =
      pattern !== undefined && patterns.length === 1 && isOfAnyLength && !language
        ? this.#followed(pattern, at, () => patternToGbnf(pattern, characters))
        : undefined;
    if (plain !== undefined) return this.#rules.add(at, enclosed(spelling, plain));
    return this.#ofLanguage(spelling, this.#texts(schema, at), at);
  }

  #anyText(spelling: Spelling): string {
    const { name, language } = spelling;
    if (spelling === this.#quoted[0] && !language) return this.#common('string');
    const inside = language
      ? (languageToGbnf(language, this.#languages, spelling.characters, this.#rules.sink(name)) ??
        '')
      : repeat(this.#anyCharacter(spelling), 0, undefined);
    return this.#rules.add(name, enclosed(spelling, inside));
  }

  #anyCharacter(spelling: Spelling): string {
    if (spelling === this.#quoted[0]) return this.#common('char');
    const characters = alternatives(spelling.characters([[0, lastCodePoint]]));
    return this.#rules.add('char', characters);
  }

  /** Returns the patterns that `pattern` and `format` require. */
  #patterns(schema: SchemaObject, at: string): string[] {
    const patterns = textsOf(schema, 'pattern', at);
    const ofFormats = textsOf(schema, 'format', at).flatMap((name) => {
      const pattern = formats.get(name);
      if (pattern !== undefined) return [pattern];
      if (namesOfPatterns.has(name) && patterns.length > 0) return [];
      const known = [...formats.keys()].join(', ');
      throw schemaError(at, `the format "${name}" is not supported; these are: ${known}`);
    });
    return [...new Set([...patterns, ...ofFormats])];
  }

  /** Returns the texts that satisfy all requirements on a string. */
  #texts(schema: SchemaObject, at: string): Language {
    const least = countOf(schema, 'minLength', at) ?? 0;
    const most = countOf(schema, 'maxLength', at) ?? Infinity;
    const patterns = this.#patterns(schema, at).map((pattern) => this.#pattern(pattern, at));
    if (least > most) return this.#languages.none;
    const length = this.#languages.repeat(this.#languages.anyCharacter, least, most);
    return this.#languages.both(length, ...patterns);
  }

  #pattern(pattern: string, at: string): Language {
    return this.#followed(pattern, at, () => patternLanguage(pattern, this.#languages));
  }

  #followed<T>(pattern: string, at: string, follow: () => T): T {
    try {
      return follow();
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      const spelled = JSON.stringify(pattern);
      throw schemaError(at, `the pattern ${spelled} is not supported: ${error.message}`);
    }
  }

  /** Returns GBNF for strings whose text is in the language. */
  #ofLanguage(spelling: Spelling, texts: Language, at: string): string | undefined {
    try {
      const { characters, language = this.#languages.anyText } = spelling;
      const both = this.#languages.both(texts, language);
      const text = languageToGbnf(both, this.#languages, characters, this.#rules.sink(at));
      return text === undefined ? undefined : this.#rules.add(at, enclosed(spelling, text));
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      throw schemaError(at, `what is asked of a string is not supported: ${error.message}`);
    }
  }

  #number(type: 'integer' | 'number', schema: SchemaObject, at: string): string | undefined {
    const least = tighter(schema, 'minimum', 'exclusiveMinimum', 1, at);
    const most = tighter(schema, 'maximum', 'exclusiveMaximum', -1, at);
    const step = stepOf(schema, at);
    if (!least && !most && step === undefined) return this.#common(type);
    try {
      const isWhole = type === 'integer';
      const numbers = numbersToGbnf({ least, most, step, isWhole }, this.#rules.sink(at));
      return numbers === undefined ? undefined : this.#rules.add(at, numbers);
    } catch (error) {
      if (!(error instanceof NumberError)) throw error;
      throw schemaError(at, `what is asked of a number is not supported: ${error.message}`);
    }
  }

  #common(name: string): string {
    if (!this.#rules.has(name)) {
      const body = commonRules[name] ?? '';
      this.#rules.define(name, body);
      if (name === 'string') this.#common('char');
    }
    return name;
  }
}

interface PropertyNames {
  language: Language;
  /** All names, if the schema lists them. */
  all?: string[] | undefined;
}

interface Member {
  text: string;
  isRequired: boolean;
}

function union(parts: (string | undefined)[]): string | undefined {
  const possible = parts.filter((part) => part !== undefined);
  return possible.length === 0 ? undefined : alternatives(possible);
}

/** A schema with only keywords for objects means objects, although other values are valid, too. */
function impliedTypes(keywords: string[]): string[] {
  return Object.entries(keywordsOf)
    .filter(([, ofType]) => ofType.some((keyword) => keywords.includes(keyword)))
    .map(([type]) => type);
}

function isOfType(value: unknown, type: string): boolean {
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array';
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

/** Returns the tighter of an inclusive and an exclusive bound. `sign` is 1 for the lower bound. */
function tighter(
  schema: SchemaObject,
  inclusive: string,
  exclusive: string,
  sign: 1 | -1,
  at: string,
): Bound | undefined {
  const closed = numberOf(schema, inclusive, at);
  const open = numberOf(schema, exclusive, at);
  if (open !== undefined && (closed === undefined || sign * open >= sign * closed)) {
    return { value: open, isOpen: true };
  }
  return closed === undefined ? undefined : { value: closed, isOpen: false };
}

function stepOf(schema: SchemaObject, at: string): number | undefined {
  const step = numberOf(schema, 'multipleOf', at);
  if (step === undefined || step > 0) return step;
  throw schemaError(at, `"multipleOf" is ${String(step)}, expected a number above 0`);
}
