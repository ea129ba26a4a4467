// How the demo page's search panel marks sentences and words, and asks for an answer: the parts that
// need no page.
import { describe, expect, it } from 'vitest';
import { answerPrompt, fittingSources } from '../../demo/src/search/answer-prompt.ts';
import { segmentsOf, wordsIn } from '../../demo/src/search/marks.ts';
import { sentencesOf, unwrapped } from '../../demo/src/search/sentences.ts';
import type { Span } from '../../demo/src/search/sentences.ts';

const partsOf = (text: string, spans: readonly Span[]) =>
  spans.map(({ start, end }) => text.slice(start, end));

const sentences = (text: string) => partsOf(text, sentencesOf(text));

describe('sentences', () => {
  it('end at full stops, also in the middle of lines, not at the ends of lines', () => {
    expect(sentences('One bird sings.  Two\nfly away! Why?')).toEqual([
      'One bird sings.',
      'Two\nfly away!',
      'Why?',
    ]);
  });

  it('end where scripts without spaces end them', () => {
    expect(sentences('鳥が歌う。猫が眠る。')).toEqual(['鳥が歌う。', '猫が眠る。']);
  });

  it('do not go beyond a paragraph, a heading or an item of a list', () => {
    const text = '# A list\nof\n- one\n- two\n  more\n\n\nAn end without a stop\r\n\r\nAnother';
    const found = ['# A list', 'of', '- one', '- two\n  more', 'An end without a stop', 'Another'];
    expect(sentences(text)).toEqual(found);
  });

  it('are lines where a long text has no full stops', () => {
    const lines = Array.from({ length: 40 }, (_, i) => `${String(i)}, some, values, of a row`);
    expect(sentences(lines.join('\n'))).toEqual(lines);
    expect(sentences(' \n\n ')).toEqual([]);
  });
});

it('lines that were broken to fit a page are joined for display, in place', () => {
  const long = 'This line of a paragraph was broken here, as it has no room to';
  const text = `${long}\ngo on.\r\n\r\n${long}\r\n- an item\n  more\n${long}\n${long}\n\nshort\nlines`;
  const shown = unwrapped(text);
  expect(shown).toHaveLength(text.length);
  expect(shown).toBe(
    `${long} go on.\r\n\r\n${long}\r\n- an item\n  more\n${long} ${long}\n\nshort\nlines`,
  );
});

describe('marks', () => {
  const passage = 'The wren sings. Wrens are singing loudly!';
  const wordsOf = (query: string) => partsOf(passage, wordsIn(passage, query));

  it('are words of the query with any ending, without those that every text has', () => {
    expect(wordsOf('a SINGING wren')).toEqual(['wren', 'sings', 'Wrens', 'singing']);
    expect(wordsOf('the are')).toEqual([]);
    expect(wordsOf('sin')).toEqual([]);
  });

  it('divide the passage into pieces that are marked alike', () => {
    const pieces = segmentsOf(passage, { start: 16, end: 41 }, 'wren');
    expect(pieces.map(({ text }) => text).join('')).toBe(passage);
    expect(pieces).toEqual([
      { text: 'The ', isInSentence: false, isWord: false },
      { text: 'wren', isInSentence: false, isWord: true },
      { text: ' sings. ', isInSentence: false, isWord: false },
      { text: 'Wrens', isInSentence: true, isWord: true },
      { text: ' are singing loudly!', isInSentence: true, isWord: false },
    ]);
    expect(segmentsOf('', undefined, 'wren')).toEqual([]);
  });
});

describe('the prompt of an answer', () => {
  const sources = [1, 2, 3].map((n) => ({
    name: `${String(n)}.txt`,
    text: `Fact ${String(n)}.\n`,
  }));

  it('numbers the passages, and ends with the question', () => {
    const prompt = answerPrompt(' Why? ', sources);
    expect(prompt).toContain('\n[1] 1.txt\nFact 1.\n\n[2] 2.txt\nFact 2.\n');
    expect(prompt.endsWith('Question: Why?')).toBe(true);
  });

  it('has as many of the passages as fit', async () => {
    const fitting = (maxTokens: number) =>
      fittingSources('Why?', sources, maxTokens, (prompt) => Promise.resolve(prompt.length));
    const lengthWith = (n: number) => answerPrompt('Why?', sources.slice(0, n)).length;
    expect(await fitting(10_000)).toEqual(sources);
    expect(await fitting(lengthWith(3) - 1)).toEqual(sources.slice(0, 2));
    expect(await fitting(lengthWith(1) - 1)).toEqual([]);
  });
});
