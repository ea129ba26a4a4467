// Writes GBNF. Every expression from here can be put into a sequence or repeated without brackets.

/** A range of code points, both ends included. */
export type CodePoints = [first: number, last: number];

export const lastCodePoint = 0x10ffff;

export function literal(text: string): string {
  let out = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (character === '"' || character === '\\') out += `\\${character}`;
    else if (code < 0x20 || code === 0x7f) out += `\\x${hex(code, 2)}`;
    else out += character;
  }
  return `"${out}"`;
}

/** Matches one of the characters; `ranges` must not be empty. */
export function set(ranges: readonly CodePoints[]): string {
  const spelled = ranges.map(([first, last]) =>
    first === last ? setCharacter(first) : `${setCharacter(first)}-${setCharacter(last)}`,
  );
  return `[${spelled.join('')}]`;
}

export function sequence(...parts: string[]): string {
  return group(parts, ' ');
}

export function alternatives(parts: readonly string[]): string {
  return group([...new Set(parts)], ' | ');
}

/** `most` undefined: no upper bound. */
export function repeat(part: string, least: number, most: number | undefined): string {
  if (least === 1 && most === 1) return part;
  if (most === 0) return '""';
  if (least === 0 && most === undefined) return `${part}*`;
  if (least === 0 && most === 1) return `${part}?`;
  return `${part}{${String(least)}${most === least ? '' : `,${most === undefined ? '' : String(most)}`}}`;
}

/** Returns the ranges in order. Ranges that touch are merged. */
export function merged(ranges: readonly CodePoints[]): CodePoints[] {
  const out: CodePoints[] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const previous = out.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else out.push([first, last]);
  }
  return out;
}

/** Returns all other code points. */
export function complement(ranges: readonly CodePoints[]): CodePoints[] {
  const out: CodePoints[] = [];
  let next = 0;
  for (const [first, last] of merged(ranges)) {
    if (first > next) out.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= lastCodePoint) out.push([next, lastCodePoint]);
  return out;
}

export function hex(code: number, nDigits: number): string {
  return code.toString(16).padStart(nDigits, '0');
}

function group(parts: readonly string[], separator: string): string {
  const [first] = parts;
  if (first === undefined) return '""';
  return parts.length === 1 ? first : `(${parts.join(separator)})`;
}

function setCharacter(code: number): string {
  const character = String.fromCodePoint(code);
  if (/^[\w ]$/.test(character)) return character;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}
