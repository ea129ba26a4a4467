// A text cut into passages: whole sentences where they fit, from paragraph to paragraph where that
// leaves them long enough.

/** Of a text, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export interface CutOptions {
  /** Tokens of a passage at most, as `count` tells them. */
  maxTokens: number;
  /** Where a passage ends within a paragraph, the next repeats sentences of so many tokens at most. */
  overlapTokens: number;
  count: (text: string) => number;
}

/** A sentence, or a part of one that is too long for a passage. */
interface Unit extends Span {
  tokens: number;
  /** It is the first of a block: a paragraph, a heading, an item of a list. */
  opens: boolean;
  isHeading: boolean;
}

/** The passages in order. Together they hold everything but the space between them. */
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
 * Parts of a long text to cut one by one, so that a page can do other things in between. They end
 * with a paragraph, or where a line does; with neither in reach, after `length` characters.
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

/** The sentences of a text. Lines that are no prose, such as items of a list, count as sentences. */
export function sentencesOf(text: string): Span[] {
  return blocksOf(text).flatMap((block) => sentencesOfBlock(text, block));
}

/** The index after the passage's last unit. */
function endOfPassage(units: readonly Unit[], first: number, maxTokens: number): number {
  let tokens = 0;
  let end = first;
  /** Behind the last paragraph that leaves the passage at least half as long as it may be. */
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

/** A heading belongs to what follows it. */
function withoutHeading(units: readonly Unit[], first: number, end: number): number {
  let last = end;
  while (last - 1 > first && last < units.length && units[last - 1]?.isHeading) --last;
  return last;
}

/** Where the passage after the one from `first` to `end` begins. */
function nextFirst(
  units: readonly Unit[],
  first: number,
  end: number,
  { maxTokens, overlapTokens }: CutOptions,
): number {
  const next = units[end];
  if (!next || next.opens) return end;
  // What is repeated must leave room for something new.
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

/** Begins a block where the line before did not end in a blank one: headings, lists, quotes, tables. */
const beginsBlock = /^[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)/;

/**
 * The text with lines joined that were broken to fit a page, character for character: short lines,
 * as those of poems and programs, stay as they are.
 */
export function unwrapped(text: string): string {
  return text.replace(
    /([^\n]{50,})(\r?\n)(?=\S)(?!#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)/g,
    (_, line: string, end: string) => line + ' '.repeat(end.length),
  );
}

/** Blank lines end a block, and so does a heading. */
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

/** Older browsers have none. */
const segmenter =
  'Segmenter' in Intl ? new Intl.Segmenter(undefined, { granularity: 'sentence' }) : undefined;

function splitSentences(text: string): { segment: string; index: number }[] {
  if (segmenter) return [...segmenter.segment(text)];
  const found = text.matchAll(/.+?(?:[.!?…]+\s+|[。！？]|$)/gsu);
  return [...found].map(({ 0: segment, index }) => ({ segment, index }));
}

/** Characters from which on what the segmenter calls a sentence is taken for lines without full stops. */
const longSentence = 400;

function sentencesOfBlock(text: string, block: Span): Span[] {
  // A line that is broken to fit a page is no end of a sentence; to the segmenter it would be one.
  const joined = text.slice(block.start, block.end).replace(/[\r\n]/g, ' ');
  return splitSentences(joined).flatMap(({ segment, index }) => {
    const span = { start: block.start + index, end: block.start + index + segment.length };
    const parts = segment.length > longSentence ? split(text, span, /[^\n]+/g) : [span];
    return parts.flatMap((part) => trimmed(text, part));
  });
}

/** The sentence where it fits; else parts of it, between words, or within one that fills a passage. */
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

/** The last space in the first `length` characters; without one the place itself, not within a pair. */
function breakNear(text: string, { start, end }: Span, length: number): number {
  const at = Math.min(start + length, end);
  const space = text.slice(start, at).search(/\s\S*$/);
  if (space > 0) return start + space;
  return isWithinPair(text, at) ? at + 1 : at;
}

/** Of the two units of one character. */
function isWithinPair(text: string, at: number): boolean {
  return /[\udc00-\udfff]/.test(text.charAt(at));
}

function split(text: string, { start, end }: Span, parts: RegExp): Span[] {
  return [...text.slice(start, end).matchAll(parts)].map((match) => ({
    start: start + match.index,
    end: start + match.index + match[0].length,
  }));
}

/** Without the space around it; nothing where it is nothing but space. */
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
