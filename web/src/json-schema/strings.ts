// The characters of JSON strings. If a text must be distinguished from others (by a pattern or as a
// property's name), each character has only one spelling: it is escaped only if it must be.
import { complement, hex, literal, merged, set } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';

/**
 * Any character of a string, in all spellings but one: two escapes for a surrogate pair are not
 * allowed, because one of them alone would be half a character.
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

/** Returns alternatives that match one of the characters; an empty list if there are none. */
export type Characters = (ranges: readonly CodePoints[]) => string[];

/** Spells each character in its only way between such quotes. */
export function charactersBetween(quote: string): Characters {
  const quoteCode = quote.charCodeAt(0);
  const codes = [...Array(0x20).keys(), quoteCode, 0x5c];
  const escaped: CodePoints[] = [...codes.map((code): CodePoints => [code, code]), surrogates];
  return (ranges) => {
    const plain = complement([...complement(ranges), ...escaped]);
    const out = plain.length > 0 ? [set(plain)] : [];
    for (const code of codes) {
      if (!merged(ranges).some(([first, last]) => code >= first && code <= last)) continue;
      const name = code === quoteCode ? quote : shortEscapes.get(code);
      out.push(literal(`\\${name ?? `u${hex(code, 4)}`}`));
    }
    return out;
  };
}

/** Spells characters as they are. Of control characters, only tabs and line breaks are allowed. */
export function plainCharacters(ranges: readonly CodePoints[]): string[] {
  const control: CodePoints[] = [[0, 8], [0xb, 0x1f], surrogates]; // prettier-ignore
  const plain = complement([...complement(ranges), ...control]);
  return plain.length > 0 ? [set(plain)] : [];
}

const days = '(?:0[1-9]|[12]\\d|3[01])';
const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const date =
  `(?:\\d{4}-(?:(?:0[13578]|1[02])-${days}|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)` +
  `|02-(?:0[1-9]|1\\d|2[0-8]))|${leapYear}-02-29)`;
const hour = '(?:[01]\\d|2[0-3])';
const time = `${hour}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${hour}:[0-5]\\d)`;
const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const ipv4 = `${octet}(?:\\.${octet}){3}`;
const group = '[0-9a-f]{1,4}';
const groupsBehind = (n: number) => `(?:${group}:){${String(n)}}`;
/** All groups, or fewer with one "::". */
const ipv6 = [
  `${groupsBehind(7)}${group}`,
  ...[1, 2, 3, 4, 5, 6].map((n) => `${groupsBehind(n)}(?::${group}){1,${String(7 - n)}}`),
  `:(?::${group}){1,7}`,
  `(?:${group}:){1,7}:`,
  '::',
].join('|');
const label = '[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?';
const domain = `(?:${label}\\.){1,3}[a-z]{2,10}`;
const digits = '\\d{1,4}';
const pathCharacter = "[a-zA-Z0-9._~!$&'()*+,;=:@-]";
const uri =
  `(?:https?|ftp|wss?)://${domain}(?::[1-9]\\d{0,3})?(?:/${pathCharacter}*)*` +
  `(?:\\?(?:${pathCharacter}|[/?])*)?(?:#(?:${pathCharacter}|[/?])*)?`;
const base64url = '[A-Za-z0-9_-]';

/**
 * The supported values of `format`, as patterns of whole texts: RFC 3339 with its durations, RFC
 * 9562, and the usual kinds of addresses. A pattern may allow less than the format.
 */
export const formats = new Map(
  Object.entries({
    date,
    time,
    'date-time': `${date}T${time}`,
    duration:
      `P(?:${digits}W|(?!$)(?:${digits}Y)?(?:${digits}M)?(?:${digits}D)?` +
      `(?:T(?!$)(?:${digits}H)?(?:${digits}M)?(?:${digits}S)?)?)`,
    uuid: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    email: `[a-zA-Z0-9_+-]{1,30}(?:\\.[a-zA-Z0-9_+-]{1,30}){0,2}@${domain}`,
    hostname: `${label}(?:\\.${label}){0,3}`,
    ipv4,
    ipv6,
    uri,
    'uri-reference': `${uri}|(?:/${pathCharacter}*)+`,
    base64: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
    base64url: `(?:${base64url}{4})*(?:${base64url}{2,3})?`,
  }).map(([name, pattern]) => [name, `^(?:${pattern})$`]),
);

/** Names that Zod writes as `format` beside a pattern. The pattern alone is enough. */
export const namesOfPatterns = new Set([
  ...['nanoid', 'cuid', 'cuid2', 'ulid', 'xid', 'ksuid', 'emoji', 'cidrv4', 'cidrv6', 'e164'],
  ...['mac', 'hex', 'lowercase', 'uppercase', 'starts_with', 'ends_with', 'includes', 'regex'],
  ...['md5', 'sha1', 'sha256', 'sha384', 'sha512'].flatMap((hash) =>
    ['hex', 'base64', 'base64url'].map((spelling) => `${hash}_${spelling}`),
  ),
]);
