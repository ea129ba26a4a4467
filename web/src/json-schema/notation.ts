// The notations of values: JSON, or that of a model family in calls of tools.
import type { EngineCallFormat } from '#engine';
import { alternatives, complement, literal, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import type { Language, Languages } from './language.ts';
import { charactersBetween, plainCharacters } from './strings.ts';
import type { Characters } from './strings.ts';

/** The parts of a call's format with which values are written. */
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
 * What is being written: the arguments of a call, one argument that is a string, one argument that
 * is not, or any other value.
 */
export type Place = 'arguments' | 'text' | 'argument' | 'value';

/** One of the ways to write a string. */
export interface Spelling {
  name: string;
  /** GBNF before and after the text. */
  begin: string;
  end: string;
  characters: Characters;
  /** The texts that may be between `begin` and `end`; undefined: any text. */
  language: Language | undefined;
  /** Returns GBNF for the whole string with a text of the language. */
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

/** Puts the inside of a JSON string between other quotes. */
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

/** Puts `begin` and `end`, which may be empty, around an expression. */
function surrounded(begin: string, inside: string, end: string): string {
  return begin === '""' ? inside : sequence(begin, inside, end);
}

/** Returns the ways to write an argument that is a string without quotes. */
export function textSpellings(notation: ValueNotation, languages: Languages): Spelling[] {
  const { textEnd, cdataBegin, cdataEnd, keyEnd } = notation;
  const { anyText } = languages;
  // If the marks have no line breaks, a line break next to a mark counts as part of the mark.
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

/** Returns the texts that do not contain the mark. */
export function without(mark: string, languages: Languages): Language {
  const { anyText } = languages;
  return languages.not(languages.sequence(anyText, languages.text(mark), anyText));
}

/** Puts a spelling's marks around an expression. */
export function enclosed({ begin, end }: Spelling, inside: string): string {
  return surrounded(begin, inside, end);
}

/** Returns GBNF for true, false or null. */
export function word(value: 'true' | 'false' | 'null', { hasPythonWords }: ValueNotation): string {
  if (hasPythonWords === 0) return literal(value);
  const python = { true: 'True', false: 'False', null: 'None' }[value];
  return alternatives([literal(value), literal(python)]);
}

/** The characters of names without quotes. */
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

/** Returns GBNF for a piece of a notation. Marks are tokens if the vocabulary has them. */
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
