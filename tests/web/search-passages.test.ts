// How the demo page's search panel cuts texts, ranks passages and marks words: the parts that need
// no page.
import { describe, expect, it } from 'vitest';
import { answerPrompt, fittingSources } from '../../demo/src/search/answer-prompt.ts';
import { checksum } from '../../demo/src/search/checksum.ts';
import { passageTokensOf } from '../../demo/src/search/embedder.ts';
import { segmentsOf, wordsIn } from '../../demo/src/search/marks.ts';
import { cutPassages, sectionsOf, sentencesOf, unwrapped } from '../../demo/src/search/passages.ts';
import type { Span } from '../../demo/src/search/passages.ts';
import { promptsFor } from '../../demo/src/search/prompts.ts';
import { nearest, rank } from '../../demo/src/search/ranking.ts';
import { decode } from '../../demo/src/search/read-text.ts';
import { fileNameOf, modelKey } from '../../demo/src/search/storage-keys.ts';
import { estimateTokens, fittedEstimate, samples } from '../../demo/src/search/token-estimate.ts';
import { seededRandom } from './support.ts';

/** Counts tokens: each word is a token. */
const countWords = (text: string) => text.match(/\S+/g)?.length ?? 0;

const partsOf = (text: string, spans: readonly Span[]) =>
  spans.map(({ start, end }) => text.slice(start, end));

function cut(text: string, maxTokens: number, overlapTokens = 0): string[] {
  return partsOf(text, cutPassages(text, { maxTokens, overlapTokens, count: countWords }));
}

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

describe('passages', () => {
  it('hold as many sentences as fit', () => {
    expect(cut('A b c. D e f. G h i. J.', 6)).toEqual(['A b c. D e f.', 'G h i. J.']);
    expect(cut('', 6)).toEqual([]);
  });

  it('repeat the last sentences of the one before within a paragraph', () => {
    expect(cut('A b c. D e. F g h. I j k. L.', 8, 3)).toEqual([
      'A b c. D e. F g h.',
      'F g h. I j k. L.',
    ]);
  });

  it('repeat nothing where that would leave no room for what follows', () => {
    expect(cut('A b. C d. E f g h i j.', 6, 3)).toEqual(['A b. C d.', 'E f g h i j.']);
  });

  it('end with a paragraph where they are half full, and repeat nothing there', () => {
    expect(cut('A b c. D e f.\n\nG h. I j k l m. N o.', 10, 4)).toEqual([
      'A b c. D e f.',
      'G h. I j k l m. N o.',
    ]);
    // The passage is too short to end with the first paragraph.
    expect(cut('A b.\n\nC d e. F g h i j. K l.', 10)).toEqual([
      'A b.\n\nC d e. F g h i j.',
      'K l.',
    ]);
  });

  it('do not end with a heading', () => {
    const text = 'A b c d e f.\n\n# Title\n\nG h i j. K l m n.';
    expect(cut(text, 9)).toEqual(['A b c d e f.', '# Title\n\nG h i j.', 'K l m n.']);
  });

  it('cut a sentence that is too long between its words, a word too long anywhere', () => {
    expect(cut('a b c d e f g h i j', 4)).toEqual(['a b c', 'd e f', 'g h i j']);
    const count = (text: string) => text.length;
    const text = '😀'.repeat(10);
    const parts = partsOf(text, cutPassages(text, { maxTokens: 7, overlapTokens: 0, count }));
    expect(parts.join('')).toBe(text);
    for (const part of parts) expect(part).toMatch(/^(?:😀){1,3}$/u);
  });

  it('are cut section by section of a long text', () => {
    const paragraph = 'Some words stand here, one after the other.\n';
    const text = `${paragraph.repeat(5)}\n`.repeat(20);
    const sections = partsOf(text, sectionsOf(text, 500));
    expect(sections.join('')).toBe(text);
    expect(sections.length).toBeGreaterThan(5);
    for (const section of sections.slice(0, -1)) expect(section).toMatch(/\n\n$/);
    const lines = partsOf(paragraph.repeat(40), sectionsOf(paragraph.repeat(40), 500));
    for (const section of lines) expect(section).toMatch(/\n$/);
    expect(partsOf('a'.repeat(12), sectionsOf('a'.repeat(12), 5))).toEqual([
      'aaaaa',
      'aaaaa',
      'aa',
    ]);
    expect(sectionsOf('', 5)).toEqual([]);
  });

  it('keep within their length and lose no word, whatever the text', () => {
    const random = seededRandom(1);
    const pieces = ['word', 'a', 'longer', '.', '!', '\n', '\n\n', '# Head\n', '- item', '  ', 'x'];
    for (let round = 0; round < 300; ++round) {
      const text = Array.from({ length: random(120) }, () => pieces[random(pieces.length)]).join(
        random(2) ? ' ' : '',
      );
      const options = { maxTokens: 5 + random(20), overlapTokens: random(5), count: countWords };
      const spans = cutPassages(text, options);
      let covered = 0;
      for (const [i, { start, end }] of spans.entries()) {
        expect(countWords(text.slice(start, end))).toBeLessThanOrEqual(options.maxTokens);
        expect(text.slice(covered, start).trim()).toBe('');
        expect(end).toBeGreaterThan(spans[i - 1]?.end ?? 0);
        covered = end;
      }
      expect(text.slice(covered).trim()).toBe('');
    }
  });
});

describe('the estimate of tokens', () => {
  it('is near what vocabularies count', () => {
    expect(estimateTokens('The goldcrest is the smallest bird in Europe.')).toBe(11);
    expect(estimateTokens('鳥が歌う。')).toBe(5);
    expect(estimateTokens('12345')).toBe(2);
    expect(estimateTokens(' \n')).toBe(0);
  });

  it('is scaled by what the model counts in some places of the text', async () => {
    const asked: string[] = [];
    const count = await fittedEstimate('one two '.repeat(5000), (sample) => {
      asked.push(sample);
      return Promise.resolve(3 * estimateTokens(sample));
    });
    expect(count('one two')).toBeCloseTo(6, 5);
    expect(asked.join('').length).toBeLessThan(10_000);
    expect(samples('short')).toEqual(['short']);
    expect((await fittedEstimate('', () => Promise.resolve(2)))('one')).toBe(1);
  });

  it('leaves room for prompts, and for what short contexts hold', () => {
    expect(passageTokensOf(512, 4)).toBe(200);
    expect(passageTokensOf(128, 26)).toBe(85);
    expect(passageTokensOf(2, 26)).toBe(8);
  });
});

describe('ranking', () => {
  const vectors = (...rows: number[][]) => ({ values: Float32Array.from(rows.flat()), size: 2 });
  const query = Float32Array.of(1, 0);

  it('gives the best of all sets, best first, equal ones in their order', () => {
    const sets = [vectors([0, 1], [0.6, 0.8]), vectors(), vectors([1, 0], [0.6, 0.8], [-1, 0])];
    expect(rank(query, sets, 3)).toEqual([
      { set: 2, index: 0, score: 1 },
      { set: 0, index: 1, score: expect.closeTo(0.6, 5) as number },
      { set: 2, index: 1, score: expect.closeTo(0.6, 5) as number },
    ]);
    expect(rank(query, sets, 9).at(-1)).toEqual({ set: 2, index: 2, score: -1 });
    expect(rank(query, [], 3)).toEqual([]);
  });

  it('agrees with sorting', () => {
    const random = seededRandom(2);
    const rows = Array.from({ length: 200 }, () => [random(100) / 100, random(100)]);
    const best = rank(query, [vectors(...rows)], 10).map(({ score }) => score);
    const sorted = rows.map(([x = 0]) => Math.fround(x)).sort((a, b) => b - a);
    expect(best).toEqual(sorted.slice(0, 10));
  });

  it('refuses vectors of another length', () => {
    expect(() => rank(Float32Array.of(1), [vectors([1, 0])], 1)).toThrow(/2/);
  });

  it('finds the nearest', () => {
    expect(nearest(query, [Float32Array.of(0, 1), Float32Array.of(1, 0)])).toBe(1);
    expect(nearest(query, [])).toBeUndefined();
  });
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

describe('keys of what is kept', () => {
  it('differ where texts differ by a character, its place or their length', () => {
    const texts = ['', 'a', 'b', 'ab', 'ba', 'aa', '\u0000', '\u0000\u0000', 'a'.repeat(1000)];
    for (let i = 0; i < 2000; ++i) texts.push(`passage ${String(i)}`, `${String(i)} passage`);
    expect(new Set(texts.map(checksum)).size).toBe(texts.length);
    expect(checksum('wren')).toBe(checksum('wr' + 'en'));
    expect(checksum('wren')).toMatch(/^[0-9a-f]{16}$/);
  });

  it('change about half of their bits with one of the text', () => {
    const bits = (text: string) => BigInt(`0x${checksum(text)}`);
    const changed = Array.from({ length: 200 }, (_, i) => {
      const difference = bits(`text ${String(i)} a`) ^ bits(`text ${String(i)} c`);
      return difference.toString(2).replaceAll('0', '').length;
    });
    const mean = changed.reduce((sum, n) => sum + n) / changed.length;
    expect(mean).toBeGreaterThan(28);
    expect(mean).toBeLessThan(36);
  });

  it('tell models apart by all that changes their vectors', () => {
    const prompts = { query: '', passage: '' };
    const model = {
      ...{ architecture: 'bert', name: 'a', fileName: 'a.gguf', nParameters: 1, weightBytes: 2 },
      ...{ size: 3, pooling: 'mean', prompts },
    };
    const others = [
      ...[{ architecture: 'nomic-bert' }, { name: 'b' }, { fileName: 'b.gguf' }],
      ...[{ nParameters: 4 }, { weightBytes: 4 }, { size: 4 }, { pooling: 'cls' }],
      { prompts: { query: '', passage: 'passage: ' } },
    ];
    const keys = [model, ...others.map((other) => ({ ...model, ...other }))].map(modelKey);
    expect(new Set(keys).size).toBe(keys.length);
    // The prompt of queries does not change the vectors that are kept.
    expect(modelKey({ ...model, prompts: { query: 'query: ', passage: '' } })).toBe(keys[0]);
  });

  it('take the last part of an address', () => {
    expect(fileNameOf('hf:owner/repo@v1/dir/a.gguf')).toBe('a.gguf');
    expect(fileNameOf('https://x.org/a/b.gguf?download=true#x')).toBe('b.gguf');
    expect(fileNameOf('b.gguf')).toBe('b.gguf');
  });
});

describe('prompts', () => {
  const none = { query: '', passage: '' };
  const represent = 'Represent this sentence for searching relevant passages: ';

  it.each([
    ['nomic-bert', '', 'x.gguf', { query: 'search_query: ', passage: 'search_document: ' }],
    [
      ...(['gemma-embedding', 'Embeddinggemma 300M', 'x.gguf'] as const),
      { query: 'task: search result | query: ', passage: 'title: none | text: ' },
    ],
    ['bert', 'Bge Small En v1.5', 'x.gguf', { query: represent, passage: '' }],
    ['bert', '', 'bge-small-en-v1.5-q8_0.gguf', { query: represent, passage: '' }],
    ['bert', 'Bge M3', 'bge-m3.gguf', none],
    ['bert', '', 'e5-small-v2.Q8_0.gguf', { query: 'query: ', passage: 'passage: ' }],
    ['bert', 'Multilingual E5 Small', '', { query: 'query: ', passage: 'passage: ' }],
    ['bert', 'all-MiniLM-L6-v2', 'all-MiniLM-L6-v2-Q8_0.gguf', none],
    ['llama', 'Kinglet Stories 5M', 'kinglet-stories.gguf', none],
  ])('of %s %s %s', (architecture, name, fileName, prompts) => {
    expect(promptsFor({ architecture, name, fileName })).toEqual(prompts);
  });
});

describe('reading a file', () => {
  const bytes = (...values: number[]) => Uint8Array.from(values);

  it('knows UTF-8, UTF-16 and what older editors write, and refuses what is no text', () => {
    expect(decode(new TextEncoder().encode('Zaunkönig'))).toBe('Zaunkönig');
    expect(decode(bytes(0xef, 0xbb, 0xbf, 0x41))).toBe('A');
    expect(decode(bytes(0xff, 0xfe, 0xf6, 0))).toBe('ö');
    expect(decode(bytes(0xfe, 0xff, 0, 0xf6))).toBe('ö');
    expect(decode(bytes(0x6b, 0xf6, 0x6e))).toBe('kön');
    expect(decode(bytes(0x47, 0, 0x55))).toBeUndefined();
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
