// Cuts a text into passages: of whole sentences where they fit, and of whole paragraphs where the
// passages are then long enough.

/** A part of a text, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export interface CutOptions {
  /** The most tokens of a passage, as `count` counts them. */
  maxTokens: number;
  /** If a passage ends within a paragraph, the next one repeats at most this many of its tokens. */
  overlapTokens: number;
  count: (text: string) => number;
}

/** A sentence, or a part of one that is too long for a passage. */
interface Unit extends Span {
  tokens: number;
  /** Whether it is the first unit of a block: a paragraph, a heading, an item of a list. */
  opens: boolean;
  isHeading: boolean;
}

/** Returns the passages in order. They contain the whole text except the space between them. */
export function cutPassages(text: string, options: CutOptions): Span[] {
  const units = unitsOf(text, options);
  const passages: Span[] = [];
  for (let first = 0; first < units.length;) {
    const end = endOfPassage(units, first, options.maxTokens);
    const span = spanOf(units.slice(first, end));
    if (span) passages.push(span);
    first = end < units.length ? nextFirst(units, first, end, options) : end;
  }
  return passages;
}

/**
 * Returns parts of a long text to cut one by one, so that a page can do other work in between. A
 * part ends after a paragraph, or else after a line; if neither is near, after `length` characters.
 */
export function sectionsOf(text: string, length: number): Span[] {
  const sections: Span[] = [];
  for (let start = 0; start < text.length;) {
    const end =
      start + length < text.length ? endOfSection(text, start + length, length) : text.length;
    sections.push({ start, end });
    start = end;
  }
  return sections;
}

function endOfSection(text: string, from: number, reach: number): number {
  const ahead = text.slice(from, from + reach);
  const line = /\n\s*\n/.exec(ahead) ?? /\n|$/.exec(ahead);
  const end = line?.[0] ? from + line.index + line[0].length : from;
  return isWithinPair(text, end) ? end + 1 : end;
}

/** The sentences of a text. Lines that are not prose, such as list items, count as sentences. */
export function sentencesOf(text: string): Span[] {
  return blocksOf(text).flatMap((block) => sentencesOfBlock(text, block));
}

/** The index after the passage's last unit. */
function endOfPassage(units: readonly Unit[], first: number, maxTokens: number): number {
  let tokens = 0;
  let end = first;
  /** The end of the last paragraph after which the passage has at least half of `maxTokens`. */
  let endOfBlock: number | undefined;
  for (; end < units.length; ++end) {
    const unit = units[end];
    if (!unit || (end > first && tokens + unit.tokens > maxTokens)) break;
    if (unit.opens && tokens >= maxTokens / 2 && !units[end - 1]?.isHeading) endOfBlock = end;
    tokens += unit.tokens;
  }
  if (end === units.length || units[end]?.opens) return withoutHeading(units, first, end);
  return endOfBlock ?? end;
}

/** Leaves out headings at the end: they belong to the text that follows. */
function withoutHeading(units: readonly Unit[], first: number, end: number): number {
  let last = end;
  while (last - 1 > first && last < units.length && units[last - 1]?.isHeading) --last;
  return last;
}

/** The first unit of the passage after the one from `first` to `end`. */
function nextFirst(
  units: readonly Unit[],
  first: number,
  end: number,
  { maxTokens, overlapTokens }: CutOptions,
): number {
  const next = units[end];
  if (!next || next.opens) return end;
  // The repeated sentences must leave room for a new one.
  let room = Math.min(overlapTokens, maxTokens - next.tokens);
  let begin = end;
  while (begin - 1 > first) {
    room -= units[begin - 1]?.tokens ?? Infinity;
    if (room < 0) break;
    --begin;
  }
  return begin;
}

function unitsOf(text: string, { maxTokens, count }: CutOptions): Unit[] {
  return blocksOf(text).flatMap((block) => {
    const isHeading = /^\s*#{1,6}\s/.test(text.slice(block.start, block.end));
    return sentencesOfBlock(text, block)
      .flatMap((sentence) => fitted(text, sentence, maxTokens, count))
      .map(({ start, end }, i) => ({
        ...{ start, end, isHeading, opens: i === 0 },
        tokens: count(text.slice(start, end)),
      }));
  });
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

/** The sentence if it fits; else parts of it, cut between words, or within a very long word. */
function fitted(
  text: string,
  sentence: Span,
  maxTokens: number,
  count: (text: string) => number,
): Span[] {
  const tokens = count(text.slice(sentence.start, sentence.end));
  if (tokens <= maxTokens) return [sentence];
  const nParts = Math.ceil(tokens / maxTokens);
  const middle = breakNear(text, sentence, Math.ceil((sentence.end - sentence.start) / nParts));
  if (middle <= sentence.start || middle >= sentence.end) return [sentence];
  const head = trimmed(text, { start: sentence.start, end: middle });
  const tail = trimmed(text, { start: middle, end: sentence.end });
  return [...head, ...tail].flatMap((part) => fitted(text, part, maxTokens, count));
}

/** The last space in the first `length` characters; else their end, but not within a pair. */
function breakNear(text: string, { start, end }: Span, length: number): number {
  const at = Math.min(start + length, end);
  const space = text.slice(start, at).search(/\s\S*$/);
  if (space > 0) return start + space;
  return isWithinPair(text, at) ? at + 1 : at;
}

/** Whether `at` is between the two units (surrogates) of one character. */
function isWithinPair(text: string, at: number): boolean {
  return /[\udc00-\udfff]/.test(text.charAt(at));
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

function spanOf(units: readonly Unit[]): Span | undefined {
  const first = units[0];
  const last = units.at(-1);
  return first && last && { start: first.start, end: last.end };
}
