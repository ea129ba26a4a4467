// The marked parts of a passage: its best sentence, and the words of the query.
import type { Span } from './sentences.ts';

export interface Segment {
  text: string;
  isInSentence: boolean;
  isWord: boolean;
}

/** Splits the passage into pieces, each with the same marks throughout. */
export function segmentsOf(passage: string, sentence: Span | undefined, query: string): Segment[] {
  const words = wordsIn(passage, query);
  const ends = [
    0,
    passage.length,
    ...[...words, ...(sentence ? [sentence] : [])].flatMap(({ start, end }) => [start, end]),
  ];
  const borders = [...new Set(ends)].sort((a, b) => a - b);
  return borders.slice(1).map((end, i) => {
    const start = borders[i] ?? 0;
    const isIn = (span: Span) => span.start <= start && end <= span.end;
    return {
      text: passage.slice(start, end),
      isInSentence: sentence !== undefined && isIn(sentence),
      isWord: words.some(isIn),
    };
  });
}

/** Words that nearly every English text has. */
const common = new Set(
  (
    'a about an and are as at be but by can could did do does for from had has have how i in into is ' +
    'it its me my not of on or our should so that the their them there these they this to us was we ' +
    'were what when where which who whom why will with would you your'
  ).split(' '),
);

/** The places where the passage has a word of the query, with any ending. */
export function wordsIn(passage: string, query: string): Span[] {
  const wanted = new Set(
    words(query)
      .map(({ word }) => word)
      .filter((word) => !common.has(word))
      .map(stem),
  );
  return words(passage)
    .filter(({ word }) => wanted.has(stem(word)))
    .map(({ start, word }) => ({ start, end: start + word.length }));
}

function words(text: string): { word: string; start: number }[] {
  return [...text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)].map(({ 0: word, index }) => {
    const lower = word.toLowerCase();
    // A few letters change their length in lower case.
    return { word: lower.length === word.length ? lower : word, start: index };
  });
}

/** Removes an English ending if at least three letters are left. */
function stem(word: string): string {
  const rest = word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '');
  return rest.length < 3 ? word : rest;
}
