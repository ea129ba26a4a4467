// Reads GBNF in another way than the engine, by trees and recursion, to draw random texts of a
// grammar and to match texts. It reads what the converter of schemas writes: one rule a line.

type Node =
  | { kind: 'text'; text: string }
  | { kind: 'set'; negated: boolean; ranges: [number, number][] }
  | { kind: 'rule'; name: string }
  | { kind: 'sequence' | 'choice'; parts: Node[] }
  | { kind: 'repeat'; part: Node; least: number; most: number };

/** Returns numbers in [0, 1). */
export type Random = () => number;

/** Returns the generator mulberry32 (T. Ettinger). */
export function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Gbnf {
  readonly #rules = new Map<string, Node>();
  readonly #depths = new Map<string, number>();

  constructor(text: string) {
    for (const line of text.split('\n').filter(Boolean)) {
      const [, name, body] = /^([\w-]+) ::= (.*)$/.exec(line)!;
      if (this.#rules.has(name!)) throw new Error(`two rules ${name!}`);
      this.#rules.set(name!, new Reader(body!).read());
    }
  }

  /** Returns a random text of the grammar. After 300 nodes it takes the shallowest choices. */
  sample(random: Random): string {
    let nSteps = 0;
    const write = (node: Node): string => {
      const isLong = (nSteps += 1) > 300;
      switch (node.kind) {
        case 'text':
          return node.text;
        case 'set':
          return pick(node, random);
        case 'rule':
          return write(this.#rule(node.name));
        case 'sequence':
          return node.parts.map(write).join('');
        case 'choice': {
          const parts = isLong ? this.#shallowest(node.parts) : node.parts;
          return write(parts[Math.floor(random() * parts.length)]!);
        }
        case 'repeat': {
          const most = Math.min(node.most, node.least + (isLong ? 0 : 3));
          const n = node.least + Math.floor(random() * (most - node.least + 1));
          return Array.from({ length: n }, () => write(node.part)).join('');
        }
      }
    };
    return write(this.#rule('root'));
  }

  matches(text: string): boolean {
    const characters = Array.from(text);
    const known = new Map<string, Set<number>>();
    const ends = (node: Node, at: number): Set<number> => {
      switch (node.kind) {
        case 'text': {
          const wanted = Array.from(node.text);
          const found = characters.slice(at, at + wanted.length).join('');
          return new Set(found === node.text ? [at + wanted.length] : []);
        }
        case 'set': {
          const character = characters[at];
          return new Set(character !== undefined && isIn(node, character) ? [at + 1] : []);
        }
        case 'rule': {
          const key = `${String(at)} ${node.name}`;
          const found = known.get(key) ?? ends(this.#rule(node.name), at);
          known.set(key, found);
          return found;
        }
        case 'sequence':
          return node.parts.reduce((from, part) => behind(part, from), new Set([at]));
        case 'choice':
          return new Set(node.parts.flatMap((part) => [...ends(part, at)]));
        case 'repeat': {
          const all = new Set(node.least === 0 ? [at] : []);
          let current = new Set([at]);
          const nRounds = Math.min(node.most, node.least + characters.length);
          for (let round = 1; round <= nRounds && current.size > 0; round += 1) {
            current = behind(node.part, current);
            if (round >= node.least) for (const end of current) all.add(end);
          }
          return all;
        }
      }
    };
    const behind = (node: Node, from: Set<number>) =>
      new Set([...from].flatMap((at) => [...ends(node, at)]));
    return ends(this.#rule('root'), 0).has(characters.length);
  }

  #rule(name: string): Node {
    const rule = this.#rules.get(name);
    if (!rule) throw new Error(`no rule ${name}`);
    return rule;
  }

  #findDepths(): void {
    for (const name of this.#rules.keys()) this.#depths.set(name, Infinity);
    for (let isNew = true; isNew;) {
      isNew = false;
      for (const [name, rule] of this.#rules) {
        const depth = this.#depth(rule);
        isNew ||= depth < (this.#depths.get(name) ?? 0);
        this.#depths.set(name, depth);
      }
    }
  }

  #shallowest(parts: Node[]): Node[] {
    const depths = parts.map((part) => this.#depth(part));
    const least = Math.min(...depths);
    return parts.filter((_, i) => depths[i] === least);
  }

  /** Returns the least number of nested rules with which the node can be written. */
  #depth(node: Node): number {
    if (this.#depths.size === 0) this.#findDepths();
    switch (node.kind) {
      case 'rule':
        return 1 + (this.#depths.get(node.name) ?? Infinity);
      case 'sequence':
        return Math.max(0, ...node.parts.map((part) => this.#depth(part)));
      case 'choice':
        return Math.min(...node.parts.map((part) => this.#depth(part)));
      case 'repeat':
        return node.least === 0 ? 0 : this.#depth(node.part);
      default:
        return 0;
    }
  }
}

type SetNode = Extract<Node, { kind: 'set' }>;

function isIn({ ranges, negated }: SetNode, character: string): boolean {
  const code = character.codePointAt(0)!;
  return ranges.some(([first, last]) => code >= first && code <= last) !== negated;
}

function pick(node: SetNode, random: Random): string {
  for (;;) {
    const [first, last] = node.negated
      ? [0, random() < 0.5 ? 0x7f : 0x1ffff]
      : node.ranges[Math.floor(random() * node.ranges.length)]!;
    const span = random() < 0.5 ? Math.min(last, first + 0x5f) - first : last - first;
    const code = first + Math.floor(random() * (span + 1));
    const character = String.fromCodePoint(code);
    if ((code < 0xd800 || code > 0xdfff) && isIn(node, character)) return character;
  }
}

class Reader {
  readonly #text: string[];
  #at = 0;

  constructor(text: string) {
    this.#text = Array.from(text);
  }

  read(): Node {
    const node = this.#choice();
    if (this.#at < this.#text.length)
      throw new Error(`left: ${this.#text.slice(this.#at).join('')}`);
    return node;
  }

  #choice(): Node {
    const parts: Node[] = [];
    do parts.push(this.#sequence());
    while (this.#take('|'));
    return { kind: 'choice', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (;;) {
      while (this.#take(' '));
      const next = this.#text[this.#at];
      if (next === undefined || next === '|' || next === ')') break;
      if ('*+?{'.includes(next)) parts.push(this.#repeat(parts.pop()!));
      else parts.push(this.#symbol());
    }
    return { kind: 'sequence', parts };
  }

  #symbol(): Node {
    if (this.#take('(')) {
      const inside = this.#choice();
      if (!this.#take(')')) throw new Error('no )');
      return inside;
    }
    if (this.#take('"')) {
      let text = '';
      while (!this.#take('"')) text += this.#character();
      return { kind: 'text', text };
    }
    if (this.#take('[')) {
      const negated = this.#take('^');
      const ranges: [number, number][] = [];
      while (!this.#take(']')) {
        const first = this.#character().codePointAt(0)!;
        const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']';
        if (isRange) this.#at += 1;
        ranges.push([first, isRange ? this.#character().codePointAt(0)! : first]);
      }
      return { kind: 'set', negated, ranges };
    }
    let name = '';
    while (/[\w-]/.test(this.#text[this.#at] ?? '')) name += this.#text[this.#at++]!;
    if (name === '') throw new Error(`found ${this.#text.slice(this.#at).join('')}`);
    return { kind: 'rule', name };
  }

  #repeat(part: Node): Node {
    const sign = this.#text[this.#at++];
    if (sign === '*') return { kind: 'repeat', part, least: 0, most: Infinity };
    if (sign === '+') return { kind: 'repeat', part, least: 1, most: Infinity };
    if (sign === '?') return { kind: 'repeat', part, least: 0, most: 1 };
    let bounds = '';
    while (!this.#take('}')) bounds += this.#text[this.#at++]!;
    const [least, most] = bounds.split(',');
    return {
      ...{ kind: 'repeat', part, least: Number(least) },
      most: most === undefined ? Number(least) : most === '' ? Infinity : Number(most),
    };
  }

  #character(): string {
    const character = this.#text[this.#at++]!;
    if (character !== '\\') return character;
    const name = this.#text[this.#at++]!;
    const nDigits = { x: 2, u: 4, U: 8 }[name];
    if (nDigits === undefined) return { n: '\n', r: '\r', t: '\t' }[name] ?? name;
    const digits = this.#text.slice(this.#at, this.#at + nDigits).join('');
    this.#at += nDigits;
    return String.fromCodePoint(parseInt(digits, 16));
  }

  #take(wanted: string): boolean {
    if (this.#text[this.#at] !== wanted) return false;
    this.#at += 1;
    return true;
  }
}
