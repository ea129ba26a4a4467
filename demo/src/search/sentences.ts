// The sentences of a passage.

/** A part of a text, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

/** The sentences of a text. Lines that are not prose, such as list items, count as sentences. */
export function sentencesOf(text: string): Span[] {
  return blocksOf(text).flatMap((block) => sentencesOfBlock(text, block));
}

/** Lines that begin a block even without a blank line before: headings, lists, quotes, tables. */
const beginsBlock = /^[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)/;

/**
 * Joins lines that were broken to fit a page, by replacing line ends with spaces; positions do not
 * change. Short lines, as in poems and programs, stay as they are.
 */
export function unwrapped(text: string): string {
  return text.replace(
    /([^\n]{50,})(\r?\n)(?=\S)(?!#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)/g,
    (_, line: string, end: string) => line + ' '.repeat(end.length),
  );
}

/** The blocks of a text. A blank line or a heading ends a block. */
function blocksOf(text: string): Span[] {
  const blocks: Span[] = [];
  let open: Span | undefined;
  for (const { 0: line, index: start } of text.matchAll(/[^\n]+\n?|\n/g)) {
    const isBlank = line.trim() === '';
    const end = start + line.length;
    if (isBlank) open = undefined;
    else if (open && !beginsBlock.test(line)) open.end = end;
    else blocks.push((open = { start, end }));
    if (/^\s*#{1,6}\s/.test(line)) open = undefined;
  }
  return blocks;
}

/** Undefined in older browsers. */
const segmenter =
  'Segmenter' in Intl ? new Intl.Segmenter(undefined, { granularity: 'sentence' }) : undefined;

function splitSentences(text: string): { segment: string; index: number }[] {
  if (segmenter) return [...segmenter.segment(text)];
  const found = text.matchAll(/.+?(?:[.!?…]+\s+|[。！？]|$)/gsu);
  return [...found].map(({ 0: segment, index }) => ({ segment, index }));
}

/** A longer "sentence" of the segmenter (in characters) is taken for lines without full stops. */
const longSentence = 400;

function sentencesOfBlock(text: string, block: Span): Span[] {
  // The segmenter ends a sentence at each line break, but lines may be broken just to fit a page.
  const joined = text.slice(block.start, block.end).replace(/[\r\n]/g, ' ');
  return splitSentences(joined).flatMap(({ segment, index }) => {
    const span = { start: block.start + index, end: block.start + index + segment.length };
    const parts = segment.length > longSentence ? split(text, span, /[^\n]+/g) : [span];
    return parts.flatMap((part) => trimmed(text, part));
  });
}

function split(text: string, { start, end }: Span, parts: RegExp): Span[] {
  return [...text.slice(start, end).matchAll(parts)].map((match) => ({
    start: start + match.index,
    end: start + match.index + match[0].length,
  }));
}

/** Returns the span without the space around it; nothing if it is only space. */
function trimmed(text: string, { start, end }: Span): Span[] {
  const part = text.slice(start, end);
  const first = part.search(/\S/);
  if (first < 0) return [];
  return [{ start: start + first, end: start + part.trimEnd().length }];
}
