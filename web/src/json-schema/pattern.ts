// Regular expressions (ECMA-262 with the u flag, as JSON Schema asks for) → GBNF of the JSON strings
// that match, without quotation marks.
import { alternatives, complement, lastCodePoint, repeat, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import { characters } from './strings.ts';

/** Why a pattern cannot be followed. */
export class PatternError extends Error {}

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

/** A pattern matches anywhere in a text: where it has no anchor, anything may be around it. */
export function patternToGbnf(pattern: string): string {
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw new PatternError('it is not a regular expression');
  }
  return new PatternReader(pattern).read();
}

/** Groups in groups, as grammars have them. */
const maxDepth = 100;

/** Reads what RegExp has checked. */
class PatternReader {
  readonly #characters: string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = Array.from(pattern);
  }

  read(): string {
    const branches: string[] = [];
    do {
      const before = this.#take('^') ? [] : [anything];
      const body = this.#sequence();
      const after = this.#take('$') ? [] : [anything];
      branches.push(sequence(...before, ...body, ...after));
    } while (this.#take('|'));
    if (this.#peek() !== undefined) throw new PatternError('an anchor is not at its end');
    return alternatives(branches);
  }

  #alternatives(): string {
    const branches: string[] = [];
    do branches.push(sequence(...this.#sequence()));
    while (this.#take('|'));
    return alternatives(branches);
  }

  #sequence(): string[] {
    const parts: string[] = [];
    for (
      let next = this.#peek();
      next !== undefined && !'|)$'.includes(next);
      next = this.#peek()
    ) {
      if (next === '^') throw new PatternError('an anchor is not at its beginning');
      parts.push(this.#quantified(this.#atom()));
    }
    return parts;
  }

  #atom(): string {
    const character = this.#next();
    if (character === '(') return this.#group();
    if (character === '.') return oneOf(complement(lineEnds));
    if (character === '[') return oneOf(this.#set());
    if (character === '\\') return oneOf(this.#escape());
    return oneOf([codePoint(character)]);
  }

  #group(): string {
    if (this.#take('?')) {
      const kind = this.#next();
      if (kind === '<' && this.#peek() !== '=' && this.#peek() !== '!') {
        while (this.#next() !== '>');
      } else if (kind !== ':') {
        throw new PatternError('it looks ahead or behind');
      }
    }
    if ((this.#depth += 1) > maxDepth) {
      throw new PatternError(`its groups are nested more than ${String(maxDepth)} deep`);
    }
    const inside = this.#alternatives();
    this.#depth -= 1;
    if (!this.#take(')')) throw new PatternError('an anchor is in a group');
    return inside;
  }

  #quantified(part: string): string {
    const bounds = this.#quantifier();
    if (!bounds) return part;
    this.#take('?'); // lazy: the same texts
    return repeat(part, ...bounds);
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
    if (/[pP]/.test(name)) throw new PatternError('it asks for Unicode properties');
    return [codePoint(name)];
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

function oneOf(ranges: CodePoints[]): string {
  const spellings = characters(ranges);
  if (spellings.length === 0) throw new PatternError('a part of it matches no character');
  return alternatives(spellings);
}

const anything = repeat(oneOf([[0, lastCodePoint]]), 0, undefined);
