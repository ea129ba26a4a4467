// Search indexes: in Node, where the desktop program reads the same files, and in each browser.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Kinglet } from 'kinglet';
import { isText, readText, SearchIndex } from 'kinglet/search';
import type { SearchIndexOptions } from 'kinglet/search';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { pdfOf } from './pdf.ts';
import { root, storyModel } from './support.ts';

const stories = new Uint8Array(readFileSync(storyModel));
const cats = 'The cat sat on the mat. It was a happy cat.';
const boats = 'The boat was on the sea. A big fish swam by.';
const long = Array.from({ length: 60 }, (_, i) => `Tom had ${String(i)} red balls.`).join('\n\n');

let model: Kinglet;
let folder: string;
beforeAll(async () => {
  model = await Kinglet.load(stories, { nThreads: 1 });
});
afterAll(() => {
  model.dispose();
});
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinglet-search-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const open = (name: string, options: Partial<SearchIndexOptions> = {}) =>
  SearchIndex.open(name, { model, folder, ...options });
const memory = (options: Partial<SearchIndexOptions> = {}) =>
  open('m', { keep: false, ...options });

describe('a search index', () => {
  it('finds the passage that says the same, and where it is', async () => {
    const index = await memory();
    await index.add('cats', cats, { meta: { title: 'Cats' } });
    await index.add('both', `${boats}\n\n${cats}`);
    const [first, second] = await index.search(cats, { limit: 2 });
    expect(first?.score).toBeGreaterThan(0.99);
    expect(first).toMatchObject({ id: 'cats', meta: { title: 'Cats' }, start: 0, page: undefined });
    expect(second?.id).toBe('both');
    expect((await index.content('both'))?.slice(second?.start, second?.end)).toBe(second?.text);
    expect(await index.content('none')).toBeUndefined();
  });

  it('counts places in UTF-16 units', async () => {
    const index = await memory({ passageTokens: 24 });
    const text = `Ünï 😀😀 cödé.\n\n${cats}`;
    const document = await index.add('a', text);
    expect(document.nCharacters).toBe(text.length);
    for (const { start, end, text: passage } of await index.search(cats)) {
      expect(text.slice(start, end)).toBe(passage);
    }
  });

  it('does not give its own objects away', async () => {
    const index = await memory();
    await index.add('cats', cats, { meta: { tags: ['a'] } });
    const [hit] = await index.search(cats);
    const { tags } = hit!.meta as { tags: string[] };
    expect(() => tags.push('b')).toThrow(TypeError);
    expect(index.documents[0]?.meta).toEqual({ tags: ['a'] });
  });

  it('is closed without complaint after its model, and then refuses', async () => {
    const own = await Kinglet.load(stories, { nThreads: 1 });
    const index = await memory({ model: own });
    await index.add('cats', cats);
    own.dispose();
    await index.close();
    for (const call of [() => index.clear(), () => index.remove('cats')]) {
      await expect(call()).rejects.toMatchObject({ code: 'disposed' });
    }
  });

  it('takes only documents that the filter lets through', async () => {
    const index = await memory();
    await index.add('cats', cats, { meta: 'animal' });
    await index.add('boats', boats);
    for (const hybrid of [false, true]) {
      const hits = await index.search(cats, { hybrid, filter: ({ meta }) => meta !== 'animal' });
      expect(hits.map(({ id }) => id)).toEqual(['boats']);
    }
    expect(await index.search(cats, { filter: () => false })).toEqual([]);
  });

  it('finds words that vectors miss, if it is hybrid', async () => {
    const index = await memory();
    await index.add('order', 'Order QX71 was sent.');
    for (const i of [1, 2, 3]) await index.add(`boats ${String(i)}`, boats);
    const [hit] = await index.search('Where is QX71 now? The boat was on the sea.', {
      hybrid: true,
    });
    expect(hit?.id).toBe('order');
  });

  it('computes only what is new', async () => {
    const index = await memory({ passageTokens: 16 });
    const counts: number[] = [];
    const onProgress = ({ total }: { total: number }) => counts.push(total);
    const { nPassages } = await index.add('a', long, { onProgress });
    expect(counts.at(-1)).toBe(nPassages);
    counts.length = 0;
    await index.add('a', `${long}\n\nThe end.`, { onProgress });
    expect(counts.at(-1)).toBeLessThan(4);
    await index.add('a', long);
    expect(index.documents).toHaveLength(1);
    expect(index.nPending).toBe(0);
  });

  it('goes on where it was cancelled', async () => {
    const index = await memory({ passageTokens: 16 });
    const controller = new AbortController();
    const added = index.add('a', long, {
      signal: controller.signal,
      onProgress: ({ done }) => {
        if (done >= 4) controller.abort();
      },
    });
    await expect(added).rejects.toThrow('abort');
    const { nPassages, nPending } = index.documents[0]!;
    expect(nPending).toBeGreaterThan(0);
    expect(nPending).toBeLessThanOrEqual(nPassages - 4);
    expect((await index.search('balls', { limit: 100 })).length).toBe(nPassages - nPending);
    let total = 0;
    await index.computePending({ onProgress: (progress) => (total = progress.total) });
    expect(total).toBe(nPending);
    expect(index.nPending).toBe(0);
    expect(await index.search('balls', { limit: 100 })).toHaveLength(nPassages);
  });

  it('computes later what is added so, and tells how much is left', async () => {
    const index = await memory({ passageTokens: 16 });
    const { nPassages, nPending } = await index.add('long', long, { compute: false });
    expect(nPending).toBe(nPassages);
    await index.add('cats', cats, { compute: false });
    expect(await index.search(cats)).toEqual([]);
    const total = index.nPending;
    const seen: number[][] = [];
    await index.computePending({
      onProgress: (progress) => {
        seen.push([progress.done, progress.total, index.nPending]);
      },
    });
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual(seen.map(([done = 0]) => [done, total, total - done]));
    expect(seen.at(-1)?.[0]).toBe(total);
  });

  it('takes and removes documents while others are computed', async () => {
    const index = await memory({ passageTokens: 16 });
    const first = index.add('first', long);
    const controller = new AbortController();
    const nDone = { first: 0, second: 0 };
    await index.add('second', long, { compute: false });
    const second = index.computePending({
      signal: controller.signal,
      onProgress: ({ done }) => (nDone.second = done),
    });
    await index.add('cats', cats, { compute: false });
    await index.remove('second');
    expect(index.documents.map(({ id }) => id)).toEqual(['cats', 'first']);
    // Nothing of this waited for the first document.
    expect(index.nPending).toBeGreaterThan(1);
    expect(await first).toMatchObject({ id: 'first', nPending: 0 });
    await second;
    expect(nDone.second).toBe(1);
    expect(index.documents.map(({ id }) => id)).toEqual(['cats', 'first']);
    expect(index.nPending).toBe(0);
  });

  it('ends computing a document that is removed, or goes on with what replaces it', async () => {
    const index = await memory({ passageTokens: 16 });
    let removed: Promise<unknown> | undefined;
    const { nPassages } = await index.add('a', long, {
      onProgress: () => {
        removed ??= index.remove('a');
      },
    });
    await removed;
    expect(index.documents).toEqual([]);
    expect(await index.search('balls')).toEqual([]);
    let replaced: Promise<unknown> | undefined;
    const progress: number[][] = [];
    await index.add('a', cats, { compute: false });
    await index.add('b', long, {
      onProgress: ({ done, total }) => {
        progress.push([done, total]);
        replaced ??= index.add('b', `${long}\n\n${long.replaceAll('Tom', 'Lily')}`);
      },
    });
    await replaced;
    const b = index.documents.find(({ id }) => id === 'b');
    expect(b).toMatchObject({ nPending: 0 });
    expect(b?.nPassages).toBeGreaterThan(nPassages);
    for (const [done = 0, total] of progress) expect(done).toBeLessThanOrEqual(total ?? 0);
    expect(await index.search('Lily', { limit: 500 })).toHaveLength(b?.nPassages ?? 0);
  });

  it('answers while documents are added, and other work goes on', async () => {
    const index = await memory({ passageTokens: 16 });
    await index.add('cats', cats);
    const added = index.add('long', long);
    const [hit] = await index.search(cats);
    expect(hit?.id).toBe('cats');
    expect((await model.generate('Once', { maxTokens: 3 }).result).usage.completionTokens).toBe(3);
    await added;
  });

  it('refuses what it cannot use, in words', async () => {
    const index = await memory();
    await expect(index.search('a', { limit: 0 })).rejects.toThrow('limit');
    await expect(index.add('a', new Blob([Uint8Array.of(0, 1, 2, 3)]))).rejects.toMatchObject({
      code: 'unsupported_type',
    });
    await expect(memory({ dimensions: 100_000 })).rejects.toThrow('dimensions');
    await expect(memory({ passageTokens: 3 })).rejects.toThrow('passages of 3 tokens');
    await index.close();
    await expect(index.search('a')).rejects.toMatchObject({ code: 'disposed' });
  });

  it('lets a reranker order the hits', async () => {
    const bytes = readFileSync(join(root, 'tests/fixtures/encoder/bert-rerank.gguf'));
    const reranker = await Kinglet.load(new Uint8Array(bytes), { nThreads: 1 });
    const index = await memory();
    for (const [id, text] of Object.entries({ cats, boats, sun: 'The sun and the rain.' })) {
      await index.add(id, text);
    }
    const hits = await index.search('a dog', { rerank: reranker, limit: 2 });
    const [best] = await reranker.rerank('a dog', [cats, boats, 'The sun and the rain.']);
    expect(hits).toHaveLength(2);
    expect(hits[0]?.score).toBe(best?.score);
    reranker.dispose();
  });
});

describe('a stored index', () => {
  it('is there at the next visit', async () => {
    const index = await open('kept');
    await index.add('a/b c', cats, { meta: [1] });
    await index.add('gone', boats);
    await index.remove('gone');
    expect(index.isKept).toBe(true);
    await index.close();
    const again = await open('kept');
    expect(again.documents).toEqual(index.documents);
    expect(await again.search(cats)).toMatchObject([{ id: 'a/b c', meta: [1] }]);
    await again.clear();
    expect((await open('kept')).documents).toEqual([]);
  });

  it('says what another prompt made, and computes it again', async () => {
    const index = await open('prompts');
    await index.add('a', cats);
    const other = await open('prompts', { passagePrompt: 'text: ' });
    expect(other.nPending).toBe(1);
    expect(await other.search(cats)).toEqual([]);
    await other.computePending();
    expect(await other.search(cats)).toHaveLength(1);
    expect((await open('prompts', { passagePrompt: 'text: ' })).nPending).toBe(0);
  });

  it('leaves out what is damaged, and says so', async () => {
    const index = await open('damaged');
    await index.add('a', cats);
    await index.add('b', boats);
    const files = readdirSync(join(folder, 'damaged')).map((name) => join(folder, 'damaged', name));
    const bytes = readFileSync(files[0]!);
    bytes[bytes.length - 3]! ^= 1;
    writeFileSync(files[0]!, bytes);
    const warnings: string[] = [];
    const again = await open('damaged', { onWarning: (message) => warnings.push(message) });
    expect(again.documents).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('checksum');
  });
});

describe('a document that cannot be stored', () => {
  it('is not in the index', async () => {
    const index = await open('lost');
    await index.add('a', cats);
    rmSync(join(folder, 'lost'), { recursive: true });
    await expect(index.add('b', boats)).rejects.toMatchObject({ code: 'cache_unavailable' });
    expect(index.documents.map(({ id }) => id)).toEqual(['a']);
    expect((await index.search(boats)).map(({ id }) => id)).toEqual(['a']);
  });
});

it('without storage is only in memory, and cannot be deleted there', async () => {
  const file = join(folder, 'a file');
  writeFileSync(file, '');
  const warnings: string[] = [];
  const onWarning = (message: string) => warnings.push(message);
  const index = await open('memory', { folder: file, onWarning });
  expect(warnings).toEqual([expect.stringMatching(/^the index is not kept: .*ENOTDIR/)]);
  expect(index.isKept).toBe(false);
  const lost = { code: 'cache_unavailable' };
  await expect(SearchIndex.delete('memory', { folder: file })).rejects.toMatchObject(lost);
});

describe('reading a file', () => {
  const fileOf = (...values: number[]) => new Blob([Uint8Array.from(values)]);

  it('knows UTF-8, UTF-16 and what older editors write, and refuses what is not text', async () => {
    const read = async (file: Blob) => (await readText(file)).text;
    expect(await read(new Blob(['Zaunkönig']))).toBe('Zaunkönig');
    expect(await read(fileOf(0xef, 0xbb, 0xbf, 0x41))).toBe('A');
    expect(await read(fileOf(0xff, 0xfe, 0xf6, 0))).toBe('ö');
    expect(await read(fileOf(0xfe, 0xff, 0, 0xf6))).toBe('ö');
    expect(await read(fileOf(0x6b, 0xf6, 0x6e))).toBe('kön');
    await expect(read(fileOf(0x47, 0, 0x55))).rejects.toMatchObject({ code: 'unsupported_type' });
  });

  it('tells a text by its beginning', async () => {
    expect(await isText(new Blob(['ö'.repeat(5000)]))).toBe(true);
    expect(await isText(new Blob(['é', 'ö'.repeat(5000)]))).toBe(true);
    expect(await isText(new Blob([]))).toBe(true);
    expect(await isText(fileOf(0x47, 0, 0x55))).toBe(false);
    expect(await isText(new Blob(['%PDF-1.7\n']))).toBe(false);
  });
});

describe('an index', () => {
  it('is closed for good', async () => {
    const index = await open('closed');
    await index.add('a', cats);
    await index.close();
    await index.close();
    for (const call of [
      () => index.add('b', cats),
      () => index.remove('a'),
      () => index.clear(),
      () => index.content('a'),
      () => index.search(cats),
      () => index.computePending(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'disposed',
        message: 'the search index closed has been closed',
      });
    }
    expect((await open('closed')).documents).toHaveLength(1);
  });

  it('stays in its folder, whatever its name is', async () => {
    const inner = join(folder, 'inner');
    for (const name of ['..', '.', 'a/../../b', '.hidden', 'x'.repeat(9), '索引'.repeat(40)]) {
      const index = await SearchIndex.open(name, { model, folder: inner });
      expect(index.isKept).toBe(true);
      await index.add(name, cats);
      await index.close();
      const again = await SearchIndex.open(name, { model, folder: inner });
      expect(again.documents.map(({ id }) => id)).toEqual([name]);
    }
    expect(readdirSync(folder)).not.toContain('b');
    expect(readdirSync(folder).filter((name) => name.endsWith('.kpassages'))).toEqual([]);
    await expect(SearchIndex.open('', { model })).rejects.toMatchObject({
      message: "the index's name must not be empty",
    });
  });

  it('is followed by another of the same process, which it does not keep alive', async () => {
    let nChanges = 0;
    const one = await open('followed');
    const other = await open('followed', { onChange: () => nChanges++ });
    await one.add('a', cats);
    await expect.poll(() => other.documents.map(({ nPending }) => nPending)).toEqual([0]);
    await one.remove('a');
    await expect.poll(() => other.documents).toEqual([]);
    expect(nChanges).toBeGreaterThan(1);
    await one.close();
    const program = `import { Kinglet } from 'kinglet';
      import { SearchIndex } from 'kinglet/search';
      const model = await Kinglet.load(${JSON.stringify(fileURLToPath(storyModel))}, { nThreads: 1 });
      await SearchIndex.open('followed', { model, folder: ${JSON.stringify(folder)} });`;
    const args = ['--input-type=module', '-e', program];
    expect(spawnSync(process.execPath, args, { cwd: root, timeout: 20_000 }).status).toBe(0);
  });

  it('takes documents of one id from two at once', async () => {
    const [one, other] = [await open('twice'), await open('twice')];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? one : other).add('x', `${cats} ${String(i)}`)),
    );
    expect((await open('twice')).documents).toHaveLength(1);
  });

  it('finds what is pending only when it is computed, by words, too', async () => {
    const index = await memory();
    await index.add('a', 'zebra crossing', { compute: false });
    expect(await index.search('zebra', { hybrid: true })).toEqual([]);
    await index.computePending();
    expect(await index.search('zebra', { hybrid: true })).toHaveLength(1);
  });

  it('works the same if the listeners throw', async () => {
    const fail = () => {
      throw new Error('mine');
    };
    const log = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => {
      log.mockRestore();
    });
    const warnings: string[] = [];
    const onWarning = (message: string) => {
      warnings.push(message);
      fail();
    };
    const index = await open('throwing', { onChange: fail, onWarning });
    expect((await index.add('a', cats)).nPending).toBe(0);
    await index.add('b', boats);
    await index.remove('b');
    expect(new Set(warnings)).toEqual(new Set(['onChange threw an error: mine']));
    warnings.length = 0;
    const again = await open('throwing', { onChange: fail, onWarning });
    expect(again.documents.map(({ id, nPending }) => [id, nPending])).toEqual([['a', 0]]);
    expect(warnings).toEqual([]);
  });

  it('refuses what is wrong, and the model lives', async () => {
    const index = await memory();
    const filled = await memory();
    await filled.add('a', cats);
    const wrong = (value: unknown) => value as never;
    for (const [call, message] of [
      [() => memory({ queryPrompt: wrong(5) }), 'queryPrompt must be a string, not 5'],
      [
        () => memory({ passagePrompt: wrong(['x']) }),
        'passagePrompt must be a string, not an array',
      ],
      [() => memory({ pooling: wrong(5) }), 'pooling must be one of mean, cls, last, not 5'],
      [() => memory({ keep: wrong('no') }), 'keep must be true or false, not "no"'],
      [
        () => SearchIndex.open('x', wrong({})),
        'model must be a loaded model, a Kinglet, not undefined',
      ],
      [() => index.add('a', wrong(5)), 'the content, if it is not a Blob, must be a string, not 5'],
      [
        () => index.add('a', wrong(new Uint8Array(3))),
        'the content, if it is not a Blob, must be a string, not an object (Uint8Array)',
      ],
      [
        () => index.add('a', 'x', wrong({ metta: 1 })),
        'unknown option "metta"; the options are meta, compute, signal, onProgress',
      ],
      [() => memory({ folder: wrong(5) }), 'the folder must be a string, not 5'],
      [() => memory({ folder: '' }), 'the folder must not be empty'],
      [() => memory({ pdfjs: wrong(5) }), 'pdfjs must be the module pdfjs-dist'],
      [() => readText(wrong(null)), 'the file must be a Blob or File'],
      [() => index.remove(wrong(null)), 'the id must be a string, not null'],
      [() => SearchIndex.delete(''), "the index's name must not be empty"],
      [
        () => filled.search('a', { filter: wrong(() => Promise.resolve(false)) }),
        'filter must return true or false, not a promise',
      ],
      [() => filled.search('a', { filter: wrong(5) }), 'filter must be a function, not 5'],
      [() => index.search('a', wrong(null)), 'the options must be an object, not null'],
      [
        () => index.search('a', { rerank: wrong({}) }),
        'rerank must be a loaded model, a Kinglet, not an object (Object)',
      ],
      [() => memory({ onChange: wrong(5) }), 'onChange must be a function, not 5'],
      [
        () => index.search('a', { signal: wrong({}) }),
        'signal must be an AbortSignal, not an object (Object)',
      ],
      [
        () => index.search('a', { hybrid: wrong('yes') }),
        'hybrid must be true or false, not "yes"',
      ],
    ] as const) {
      await expect(call()).rejects.toMatchObject({ code: 'invalid_argument', message });
    }
    expect(await index.search('a')).toEqual([]);
  });
});

describe('a PDF', () => {
  const paper = new Blob([pdfOf([[cats], [boats, 'The end.']])]);

  it('is read by pdf.js, and its hits have pages', async () => {
    const pdfjs = await import('pdfjs-dist/legacy/build/pdf.mjs');
    const index = await memory({ pdfjs, passageTokens: 16 });
    await index.add('paper.pdf', paper);
    expect(await index.content('paper.pdf')).toBe(`${cats}\n\n${boats}\nThe end.\n\n`);
    const hits = await index.search(boats, { limit: 100 });
    expect(hits[0]).toMatchObject({ id: 'paper.pdf', page: 2 });
    expect(new Set(hits.map(({ page }) => page))).toEqual(new Set([1, 2]));
    await expect(index.add('cut.pdf', paper.slice(0, 40))).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringMatching(/^the PDF cannot be read: /) as string,
    });
    expect(index.documents).toHaveLength(1);
  });

  it('needs pdf.js', async () => {
    await expect(readText(paper)).rejects.toMatchObject({
      code: 'unsupported_environment',
      message: 'reading a PDF needs pdf.js: pass the module pdfjs-dist as the option `pdfjs`',
    });
  });
});

describe.concurrent.each(browserNames)('in %s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer();
    server.files.set('/model.gguf', { bytes: stories });
    server.files.set('/paper.pdf', { bytes: pdfOf([[cats], [boats]]) });
    for (const file of ['pdf.mjs', 'pdf.worker.mjs']) {
      const bytes = readFileSync(join(root, 'node_modules/pdfjs-dist/legacy/build', file));
      server.files.set(`/${file}`, { bytes, contentType: 'text/javascript' });
    }
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it('reads PDF', async () => {
    const read = await page.evaluate(async () => {
      // The test's own import() becomes another function.
      const load = eval('(address) => import(address)') as (address: string) => Promise<unknown>;
      const { readText } = (await load('/dist/search/index.js')) as typeof import('kinglet/search');
      const pdfjs = (await load('/pdf.mjs')) as typeof import('pdfjs-dist');
      pdfjs.GlobalWorkerOptions.workerSrc = '/pdf.worker.mjs';
      return readText(await (await fetch('/paper.pdf')).blob(), { pdfjs });
    });
    const first = `${cats}\n\n`;
    expect(read).toEqual({ text: `${first}${boats}\n\n`, pages: [0, first.length] });
  });

  it('reads HTML as it is seen', async () => {
    const html =
      '<!doctype html><table><tr><th>Name</th><th>Price</th></tr><tr><td>Apple</td><td>12</td></tr></table>' +
      '<main>One</main><aside>Two</aside><figcaption>Cap</figcaption>After<hr>rule' +
      '<pre>def f(x):\n    if x:\n\n\n        return 1</pre><select><option>Red</option>' +
      '<option>Blue</option></select><p hidden>secret</p><p style="display: none">none</p>';
    const text = await page.evaluate(async (source) => {
      const load = eval('(address) => import(address)') as (address: string) => Promise<unknown>;
      const { readText } = (await load('/dist/search/index.js')) as typeof import('kinglet/search');
      return (await readText(new Blob([source], { type: 'text/html' }))).text;
    }, html);
    expect(text.split(/\n\n/)).toEqual([
      ...['Name Price', 'Apple 12', 'One', 'Two', 'Cap', 'After', 'rule'],
      ...['def f(x):\n    if x:', '\n        return 1', 'Red', 'Blue'],
    ]);
  });

  it('is kept, reads HTML, and follows what another tab changes', async () => {
    const found = await page.evaluate(async (cats) => {
      const load = eval('(address) => import(address)') as (
        address: string,
      ) => Promise<typeof import('kinglet/search')>;
      const { SearchIndex } = await load('/dist/search/index.js');
      const { Kinglet } = (globalThis as unknown as { kinglet: typeof import('kinglet') }).kinglet;
      const model = await Kinglet.load('/model.gguf', { nThreads: 1, cache: false });
      const first = await SearchIndex.open('docs', { model });
      const html = `<!doctype html><title>No</title><p>${cats}</p><script>no</script>`;
      await first.add('page', new Blob([html], { type: 'text/html' }), { meta: { at: '/page' } });

      const changed = new Promise<void>((resolve) => {
        void SearchIndex.open('docs', { model }).then(async (second) => {
          await second.add('late', 'The end.');
        });
        const look = () => {
          if (first.documents.length > 1) resolve();
          else setTimeout(look, 20);
        };
        look();
      });
      await changed;
      const hits = await first.search(cats, { limit: 1 });
      const kept = first.isKept;
      await first.remove('late');
      await SearchIndex.delete('docs');
      while (first.documents.length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      const again = await SearchIndex.open('docs', { model });
      const nLeft = again.documents.length;
      model.dispose();
      return { hits, kept, nLeft };
    }, cats);
    expect(found).toMatchObject({ kept: true, nLeft: 0 });
    expect(found.hits).toMatchObject([{ id: 'page', text: cats, meta: { at: '/page' } }]);
  });
});
