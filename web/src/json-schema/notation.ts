// How values are written: as JSON, or as a family of models does in calls of tools.
import type { EngineCallFormat } from '#engine';
import { alternatives, complement, literal, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import type { Language, Languages } from './language.ts';
import { charactersBetween, plainCharacters } from './strings.ts';
import type { Characters } from './strings.ts';

/** What objects, lists, strings and words are written with. */
export type ValueNotation = Pick<
  EngineCallFormat,
  | ('argumentsBegin' | 'argumentBegin' | 'keyEnd' | 'valueEnd' | 'argumentSeparator')
  | ('argumentsEnd' | 'textEnd' | 'cdataBegin' | 'cdataEnd' | 'separator' | 'colon' | 'quotes')
  | ('textQuote' | 'hasPlainKeys' | 'sortsKeys' | 'hasPythonWords' | 'marks')
>;

export const json: ValueNotation = {
  ...{ argumentsBegin: '', argumentBegin: '', keyEnd: '', valueEnd: '' },
  ...{ argumentSeparator: '', argumentsEnd: '', textEnd: '', cdataBegin: '', cdataEnd: '' },
  ...{ separator: ',', colon: ':', quotes: '"', textQuote: '' },
  ...{ hasPlainKeys: 0, sortsKeys: 0, hasPythonWords: 0, marks: [] },
};

/**
 * What is being written: the arguments of a call, one of them that is a string, one that is not, or
 * any other value.
 */
export type Place = 'arguments' | 'text' | 'argument' | 'value';

/** One of the ways to write a string. */
export interface Spelling {
  name: string;
  /** In front of it and behind it, in GBNF. */
  begin: string;
  end: string;
  characters: Characters;
  /** What stands between the two; undefined: any text. */
  language: Language | undefined;
  /** All of it, in GBNF, of a text that is of the language. */
  write: (text: string) => string;
}

export function quotedSpellings(notation: ValueNotation, languages: Languages): Spelling[] {
  const { textQuote, quotes } = notation;
  if (textQuote !== '') {
    const quote = pieceOf(textQuote, notation.marks);
    const language = without(textQuote, languages);
    return [markedSpelling('quoted', quote, quote, language)];
  }
  return Array.from(quotes, (quote, i) => ({
    name: i === 0 ? 'string' : `string-${String(i + 1)}`,
    begin: literal(quote),
    end: literal(quote),
    characters: charactersBetween(quote),
    language: undefined,
    write: (text) => literal(between(quote, JSON.stringify(text).slice(1, -1))),
  }));
}

/** What stands between quotation marks, between other quotes. */
function between(quote: string, json: string): string {
  if (quote === '"') return `"${json}"`;
  const escaped = json.replaceAll(/\\.|./gsu, (character) => {
    if (character === quote) return `\\${quote}`;
    return character === '\\"' ? '"' : character;
  });
  return `${quote}${escaped}${quote}`;
}

function markedSpelling(name: string, begin: string, end: string, language?: Language): Spelling {
  const write = (text: string) => surrounded(begin, literal(text), end);
  return { name, begin, end, characters: plainCharacters, language, write };
}

/** In GBNF, where what is around it may be empty. */
function surrounded(begin: string, inside: string, end: string): string {
  return begin === '""' ? inside : sequence(begin, inside, end);
}

/** Of a string that is an argument, without quotes. */
export function textSpellings(notation: ValueNotation, languages: Languages): Spelling[] {
  const { textEnd, cdataBegin, cdataEnd, keyEnd } = notation;
  const { anyText } = languages;
  // A line break that is next to a mark counts as the mark's, where it has none.
  const lineBreak = languages.text('\n');
  const borders = [languages.sequence(lineBreak, anyText), languages.sequence(anyText, lineBreak)];
  const inside = (language: Language) =>
    keyEnd.endsWith('\n')
      ? language
      : languages.both(language, ...borders.map((border) => languages.not(border)));
  const text = markedSpelling('text', '""', '""', inside(without(textEnd, languages)));
  if (cdataEnd === '') return [text];
  const [begin, end] = [literal(cdataBegin), literal(cdataEnd)];
  return [text, markedSpelling('cdata', begin, end, inside(without(cdataEnd, languages)))];
}

/** Texts that the mark is not in. */
export function without(mark: string, languages: Languages): Language {
  const { anyText } = languages;
  return languages.not(languages.sequence(anyText, languages.text(mark), anyText));
}

/** In GBNF. */
export function enclosed({ begin, end }: Spelling, inside: string): string {
  return surrounded(begin, inside, end);
}

/** True, false or null. */
export function word(value: 'true' | 'false' | 'null', { hasPythonWords }: ValueNotation): string {
  if (hasPythonWords === 0) return literal(value);
  const python = { true: 'True', false: 'False', null: 'None' }[value];
  return alternatives([literal(value), literal(python)]);
}

/** What names without quotes are made of. */
export const plainNameCharacters = complement([
  [0, 0x20],
  ...Array.from('"\'`<>=:,(){}[]|\\\x7f', (character): CodePoints => {
    const code = character.charCodeAt(0);
    return [code, code];
  }),
]);

export function isPlainName(name: string): boolean {
  const codes = Array.from(name, (character) => character.codePointAt(0) ?? 0);
  const isPlain = (code: number) =>
    plainNameCharacters.some(([first, last]) => code >= first && code <= last);
  return codes.length > 0 && codes.every(isPlain);
}

export const plainNames = markedSpelling('name', '""', '""', undefined);

/** A piece of a notation, whose marks are tokens where the vocabulary has them. */
export function pieceOf(text: string, marks: EngineCallFormat['marks']): string {
  const [first] = marks
    .map((mark) => ({ ...mark, at: text.indexOf(mark.text) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  if (!first) return literal(text);
  const before = text.slice(0, first.at);
  const behind = text.slice(first.at + first.text.length);
  const parts = [
    ...(before === '' ? [] : [literal(before)]),
    `<[${String(first.token)}]>`,
    ...(behind === '' ? [] : [pieceOf(behind, marks)]),
  ];
  return sequence(...parts);
}
