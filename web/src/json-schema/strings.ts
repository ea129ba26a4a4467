// Characters of JSON strings. Where a text must be told from others, by a pattern or as the name of
// a property, each character is spelled in one way only: escaped where it must be.
import { complement, hex, literal, merged, set } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';

/**
 * Any character of a string, in all spellings but one: surrogates are not written as two escapes, as
 * one of them alone would be half a character.
 */
export const anyCharacter = String.raw`[^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))`;

const shortEscapes = new Map([
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x22, '"'],
  [0x5c, '\\'],
]);

const surrogates: CodePoints = [0xd800, 0xdfff];
const escaped: CodePoints[] = [[0, 0x1f], [0x22, 0x22], [0x5c, 0x5c], surrogates];

/** One of the characters, in its one spelling: alternatives, of which there are none without any. */
export function characters(ranges: readonly CodePoints[]): string[] {
  const inside = complement(ranges);
  const plain = complement([...inside, ...escaped]);
  const out = plain.length > 0 ? [set(plain)] : [];
  for (const code of [...Array(0x20).keys(), 0x22, 0x5c]) {
    if (!merged(ranges).some(([first, last]) => code >= first && code <= last)) continue;
    out.push(literal(`\\${shortEscapes.get(code) ?? `u${hex(code, 4)}`}`));
  }
  return out;
}

/** The string's text without quotation marks, as JSON.stringify would write it. */
export function inner(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const days = String.raw`("0" [1-9] | [12] [0-9] | "3" [01])`;
const leapYear = String.raw`([0-9] [0-9] ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00")`;
const date = String.raw`([0-9]{4} "-" (("0" [13578] | "1" [02]) "-" ${days} | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | ${leapYear} "-02-29")`;
const hour = String.raw`([01] [0-9] | "2" [0-3])`;
const time = String.raw`(${hour} ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [+-] ${hour} ":" [0-5] [0-9]))`;
const octet = String.raw`("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])`;
const label = String.raw`[a-z0-9] ([a-z0-9-]{0,20} [a-z0-9])?`;

/** What `format` can ask for: RFC 3339, RFC 9562, and the usual kinds of addresses. */
export const formats = new Map([
  ['date', date],
  ['time', time],
  ['date-time', `(${date} "T" ${time})`],
  ['uuid', `([0-9a-f]{8} ("-" [0-9a-f]{4}){3} "-" [0-9a-f]{12})`],
  [
    'email',
    `([a-zA-Z0-9_+-]{1,30} ("." [a-zA-Z0-9_+-]{1,30}){0,2} "@" ${label} ("." ${label}){1,3})`,
  ],
  ['ipv4', `(${octet} ("." ${octet}){3})`],
]);
