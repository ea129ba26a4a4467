// Writes src/text/unicode_data.cpp and src/schema/unicode_data.cpp from the Unicode data of Node's
// regular expressions. Run it by hand when a newer Node has a newer Unicode:
// node scripts/generate-unicode-table.mjs
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tools.mjs';

// The kinds of src/text/unicode_table.h: the general categories, then parts of Cc, then runs of
// upper and lower case. Surrogates count as unassigned.
const categories = [
  ...['Lu', 'Ll', 'Lt', 'Lm', 'Lo', 'Mn', 'Mc', 'Me', 'Nd', 'Nl', 'No'],
  ...['Pc', 'Pd', 'Ps', 'Pe', 'Pi', 'Pf', 'Po', 'Sm', 'Sc', 'Sk', 'So'],
  ...['Zs', 'Zl', 'Zp', 'Cc', 'Cf', 'Co', 'Cn'],
];
const [upper, lower] = [0, 1];
const unassigned = categories.indexOf('Cn');
const kinds = [
  [/[\t\n\r]/u, categories.length],
  [/[\v\f\x85]/u, categories.length + 1],
  ...categories.map((name, i) => [new RegExp(`\\p{${name}}`, 'u'), i]),
  [/\p{Cs}/u, unassigned],
];
const alternating = categories.length + 2;
const perLine = 16;

/** The bytes of a number below 2^28: seven bits each, lowest first; bit 7 on all but the last. */
function packed(number) {
  const bytes = [number & 127];
  for (let rest = number >> 7; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1] |= 128;
    bytes.push(rest & 127);
  }
  return bytes;
}

const kindOf = Array.from({ length: 0x110000 }, (_, codePoint) => {
  const character = String.fromCodePoint(codePoint);
  return kinds.find(([pattern]) => pattern.test(character))[1];
});

/** [length, kind] of each run. */
const runs = [];
for (let first = 0; first < kindOf.length;) {
  let end = first + 1;
  if (kindOf[first] === upper && kindOf[end] === lower) {
    while (kindOf[end] === ((end - first) % 2 ? lower : upper)) ++end;
    runs.push([end - first, alternating]);
  } else {
    while (kindOf[end] === kindOf[first]) ++end;
    runs.push([end - first, kindOf[first]]);
  }
  first = end;
}
const bytes = runs.flatMap(([length, kind]) => packed(kind | (length << 5)));

/**
 * The properties of src/schema/unicode_property.cpp, and the categories all of whose characters have
 * the property. The bytes of each are the number of ranges of its other characters, then for each
 * range how many characters are between it and the one before, and in it.
 */
const properties = [
  ['Alphabetic', '[\\p{L}\\p{Nl}]'],
  ['Uppercase', '\\p{Lu}'],
  ['Lowercase', '\\p{Ll}'],
  ['White_Space', '\\p{Z}'],
  ['Emoji', '[]'],
  ['Emoji_Presentation', '[]'],
  ['Emoji_Modifier', '[]'],
  ['Emoji_Modifier_Base', '[]'],
  ['Emoji_Component', '[]'],
  ['Extended_Pictographic', '[]'],
];
const propertyBytes = properties.flatMap(([name, included]) => {
  const [whole, part] = [new RegExp(`\\p{${name}}`, 'u'), new RegExp(included, 'u')];
  const borders = [];
  for (let codePoint = 0, was = false; codePoint <= 0x110000; ++codePoint) {
    const character = codePoint < 0x110000 ? String.fromCodePoint(codePoint) : '';
    if (part.test(character) && !whole.test(character)) throw new Error(`${name}: ${included}`);
    const is = whole.test(character) && !part.test(character);
    if (is !== was) borders.push(codePoint);
    was = is;
  }
  const steps = borders.map((border, i) => border - (borders[i - 1] ?? 0));
  return [borders.length / 2, ...steps].flatMap(packed);
});

/**
 * The bytes for CharacterMap::CharacterMap, from pairs [from, to] sorted by `from`. They store the
 * steps from pair to pair; a run of equal steps is stored once.
 */
function packedMap(pairs) {
  const steps = pairs.map(([from, to], i) => [
    from - (pairs[i - 1]?.[0] ?? -1) - 1,
    to - (pairs[i - 1]?.[1] ?? 0),
  ]);
  const bytes = [];
  for (let i = 0, next; i < steps.length; i = next) {
    const [gap, delta] = steps[i];
    next = i + 1;
    while (steps[next]?.[0] === gap && steps[next][1] === delta) ++next;
    if (next < i + 3) next = i + 1;
    const repeats = next > i + 1;
    const zigzag = delta < 0 ? -2 * delta - 1 : 2 * delta;
    bytes.push(...packed((zigzag << 3) | (repeats ? 4 : 0) | Math.min(gap, 3)));
    if (gap >= 3) bytes.push(...packed(gap - 3));
    if (repeats) bytes.push(...packed(next - i - 1));
  }
  return bytes;
}

const codePoints = (text) => Array.from(text, (character) => character.codePointAt(0));
const bases = [];
const seconds = [];
const lowers = [];
const pairs = new Map(); // from two parts to the character that decomposes into them
for (let codePoint = 0; codePoint < 0x110000; ++codePoint) {
  if (codePoint >= 0xac00 && codePoint <= 0xdfff) continue; // Hangul, by formula; surrogates
  const character = String.fromCodePoint(codePoint);
  // Only U+0130 becomes two code points; its accent stays after it.
  const [low] = codePoints(character.toLowerCase());
  if (low !== codePoint) lowers.push([codePoint, low]);
  const parts = codePoints(character.normalize('NFD').replaceAll(/\p{Mn}/gu, ''));
  if (parts.length === 0 || parts[0] === codePoint) continue; // an accent, or itself
  const first = parts.length > 2 ? pairs.get(parts.slice(0, -1).join()) : parts[0];
  if (first === undefined) throw new Error(`three parts, and no character of two: ${codePoint}`);
  bases.push([codePoint, first]);
  if (parts.length === 1) continue;
  seconds.push([codePoint, parts.at(-1)]);
  pairs.set(parts.join(), codePoint);
}

/** The bytes as the lines of an array's initializer. */
function list(bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += perLine) {
    lines.push(
      `    ${bytes
        .slice(i, i + perLine)
        .map((byte) => `${byte},`)
        .join(' ')}`,
    );
  }
  return lines.join('\n');
}

const maps = {
  Bases: packedMap(bases),
  Seconds: packedMap(seconds),
  Lowers: packedMap(lowers),
};
const source = `// Generated by scripts/generate-unicode-table.mjs from Unicode ${process.versions.unicode}.
#include "text/character_map.h"
#include "text/unicode_table.h"

namespace kinglet {

// clang-format off
const uint8_t kPackedRuns[kNumPackedBytes] = {
${list(bytes)}
};
${Object.entries(maps)
  .map(([name, map]) => `const uint8_t kPacked${name}[kNum${name}Bytes] = {\n${list(map)}\n};`)
  .join('\n')}
// clang-format on

}  // namespace kinglet
`;
writeFileSync(join(root, 'src/text/unicode_data.cpp'), source);
writeFileSync(
  join(root, 'src/schema/unicode_data.cpp'),
  `// Generated by scripts/generate-unicode-table.mjs from Unicode ${process.versions.unicode}.
#include "schema/unicode_property.h"

namespace kinglet::schema {

// clang-format off
const uint8_t kPackedProperties[kNumPropertyBytes] = {
${list(propertyBytes)}
};
// clang-format on

}  // namespace kinglet::schema
`,
);
console.log(
  `Unicode ${process.versions.unicode}: kNumPackedBytes ${bytes.length}; ${runs.length} runs; ` +
    `kNumPropertyBytes ${propertyBytes.length}; ` +
    Object.entries(maps)
      .map(([name, map]) => `kNum${name}Bytes ${map.length}`)
      .join(', '),
);
