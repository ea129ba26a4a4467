// Parses regular expressions (ECMA-262 with the u flag, as JSON Schema requires) into trees.
import { complement, lastCodePoint } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';

/** Says why a pattern is not supported. */
export class PatternError extends Error {}

export type Pattern =
  | { kind: 'set'; ranges: CodePoints[] }
  | { kind: 'sequence' | 'choice'; parts: Pattern[] }
  | { kind: 'repeat'; part: Pattern; least: number; most: number }
  | { kind: 'start' | 'end' }
  | { kind: 'look'; part: Pattern; isNegated: boolean };

const digits: CodePoints[] = [[0x30, 0x39]];
const wordCharacters: CodePoints[] = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const spaces: CodePoints[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const lineEnds: CodePoints[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const classes = new Map<string, CodePoints[]>([
  ['d', digits],
  ['D', complement(digits)],
  ['w', wordCharacters],
  ['W', complement(wordCharacters)],
  ['s', spaces],
  ['S', complement(spaces)],
]);
const controls = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
  ['0', 0x00],
]);

export function readPattern(pattern: string): Pattern {
  const plain = withoutUnneededEscapes(pattern);
  try {
    new RegExp(plain, 'u');
  } catch {
    throw new PatternError('it is not a regular expression');
  }
  return new PatternReader(plain).read();
}

/**
 * Drops the backslash in front of marks that need none, such as \\@ or \\". ECMAScript accepts it
 * without the u flag, and so do other languages' expressions.
 */
function withoutUnneededEscapes(pattern: string): string {
  let isInSet = false;
  return pattern.replace(/\\(.)|[[\]]/gsu, (found, escaped: string | undefined) => {
    if (escaped === undefined) {
      isInSet = found === '[' || (isInSet && found !== ']');
      return found;
    }
    const isNeeded = /[\p{L}\p{N}^$\\.*+?()[\]{}|/]/u.test(escaped) || (isInSet && escaped === '-');
    return isNeeded ? found : escaped;
  });
}

/** Unicode properties that were used before: computing one takes a while. */
const properties = new Map<string, CodePoints[]>();

/** The limit for groups inside groups, the same as in grammars. */
const maxDepth = 100;

/** Reads a pattern that RegExp has accepted. */
class PatternReader {
  readonly #characters: string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = Array.from(pattern);
  }

  read(): Pattern {
    const whole = this.#choice();
    if (this.#peek() !== undefined) throw new PatternError('it ends too early');
    return whole;
  }

  #choice(): Pattern {
    const parts: Pattern[] = [];
    do parts.push(this.#sequence());
    while (this.#take('|'));
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (let next = this.#peek(); next !== undefined && !'|)'.includes(next); next = this.#peek()) {
      parts.push(this.#quantified(this.#atom()));
    }
    return { kind: 'sequence', parts };
  }

  #atom(): Pattern {
    const character = this.#next();
    if (character === '^') return { kind: 'start' };
    if (character === '$') return { kind: 'end' };
    if (character === '(') return this.#group();
    if (character === '.') return { kind: 'set', ranges: complement(lineEnds) };
    if (character === '[') return { kind: 'set', ranges: this.#set() };
    if (character === '\\') return { kind: 'set', ranges: this.#escape() };
    return { kind: 'set', ranges: [codePoint(character)] };
  }

  #group(): Pattern {
    let look: string | undefined;
    if (this.#take('?')) {
      const kind = this.#next();
      if (kind === '=' || kind === '!') look = kind;
      else if (kind === '<' && this.#peek() !== '=' && this.#peek() !== '!') {
        while (this.#next() !== '>');
      } else if (kind !== ':') {
        throw new PatternError(kind === '<' ? 'it looks behind' : 'it changes flags');
      }
    }
    if ((this.#depth += 1) > maxDepth) {
      throw new PatternError(`its groups are nested more than ${String(maxDepth)} deep`);
    }
    const part = this.#choice();
    this.#depth -= 1;
    this.#next(); // the bracket
    return look === undefined ? part : { kind: 'look', part, isNegated: look === '!' };
  }

  #quantified(part: Pattern): Pattern {
    const bounds = this.#quantifier();
    if (!bounds) return part;
    this.#take('?'); // a lazy quantifier matches the same texts
    const [least, most = Infinity] = bounds;
    return { kind: 'repeat', part, least, most };
  }

  #quantifier(): [number, number | undefined] | undefined {
    if (this.#take('*')) return [0, undefined];
    if (this.#take('+')) return [1, undefined];
    if (this.#take('?')) return [0, 1];
    return this.#take('{') ? this.#bounds() : undefined;
  }

  #bounds(): [number, number | undefined] {
    let text = '';
    for (let next = this.#next(); next !== '}'; next = this.#next()) text += next;
    const [least = '', most] = text.split(',');
    return [
      Number(least),
      most === undefined ? Number(least) : most === '' ? undefined : Number(most),
    ];
  }

  #set(): CodePoints[] {
    const negated = this.#take('^');
    const ranges: CodePoints[] = [];
    while (!this.#take(']')) {
      const [first, ...others] = this.#setMember();
      if (this.#peek() === '-' && this.#characters[this.#at + 1] !== ']' && first) {
        this.#at += 1;
        const [last] = this.#setMember();
        ranges.push([first[0], last?.[1] ?? first[1]]);
      } else {
        ranges.push(...(first ? [first] : []), ...others);
      }
    }
    return negated ? complement(ranges) : ranges;
  }

  #setMember(): CodePoints[] {
    const character = this.#next();
    if (character !== '\\') return [codePoint(character)];
    if (this.#take('b')) return [[0x08, 0x08]];
    return this.#escape();
  }

  #escape(): CodePoints[] {
    const name = this.#next();
    const named = classes.get(name);
    if (named) return named;
    const control = controls.get(name);
    if (control !== undefined) return [[control, control]];
    if (name === 'c') return [single(this.#next().charCodeAt(0) % 32)];
    if (name === 'x') return [single(this.#hexadecimal(2))];
    if (name === 'u') return [single(this.#unicode())];
    if (/[bB]/.test(name)) throw new PatternError('it asks for borders of words');
    if (/[1-9k]/.test(name)) throw new PatternError('it refers back to a group');
    if (name === 'p' || name === 'P') return this.#property(name);
    return [codePoint(name)];
  }

  /** Returns the characters with a Unicode property, as the runtime defines it. */
  #property(name: string): CodePoints[] {
    this.#take('{');
    let property = '';
    for (let next = this.#next(); next !== '}'; next = this.#next()) property += next;
    const known = properties.get(name + property);
    if (known) return known;
    const isInside = new RegExp(`\\${name}{${property}}`, 'u');
    const ranges: CodePoints[] = [];
    for (let code = 0; code <= lastCodePoint; code += 1) {
      if (!isInside.test(String.fromCodePoint(code))) continue;
      const last = ranges.at(-1);
      if (last?.[1] === code - 1) last[1] = code;
      else ranges.push([code, code]);
    }
    properties.set(name + property, ranges);
    return ranges;
  }

  #unicode(): number {
    if (this.#take('{')) {
      let digits = '';
      for (let next = this.#next(); next !== '}'; next = this.#next()) digits += next;
      return parseInt(digits, 16);
    }
    const unit = this.#hexadecimal(4);
    const isPair = /^\\u[dD][c-fC-F]/.test(this.#characters.slice(this.#at, this.#at + 4).join(''));
    if (unit < 0xd800 || unit > 0xdbff || !isPair) return unit;
    this.#at += 2;
    return 0x10000 + (unit - 0xd800) * 0x400 + this.#hexadecimal(4) - 0xdc00;
  }

  #hexadecimal(nDigits: number): number {
    this.#at += nDigits;
    return parseInt(this.#characters.slice(this.#at - nDigits, this.#at).join(''), 16);
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new PatternError('it ends too early');
    this.#at += 1;
    return character;
  }

  #take(wanted: string): boolean {
    if (this.#peek() !== wanted) return false;
    this.#at += 1;
    return true;
  }
}

function codePoint(character: string): CodePoints {
  return single(character.codePointAt(0) ?? 0);
}

function single(code: number): CodePoints {
  return [code, code];
}
