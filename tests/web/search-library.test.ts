// The texts of the demo page's search panel: they are embedded once, found and deleted. The fake
// model has vectors that tests can predict.
import { describe, expect, it } from 'vitest';
import type { EmbedOptions, SearchModel } from '../../demo/src/search/embedder.ts';
import { isComplete, Library, nextBatch, passagesOf } from '../../demo/src/search/library.ts';
import { MemoryStore } from '../../demo/src/search/store.ts';

const subjects = ['bird', 'train', 'soup'];

/** Its vectors count each subject in a text. `asked` holds the texts that it was given. */
class FakeEmbedder {
  readonly asked: string[] = [];
  /** Called before each answer. */
  onEmbed: (texts: readonly string[]) => unknown = () => undefined;

  async embed(texts: readonly string[], { prompt = '', signal }: EmbedOptions) {
    await this.onEmbed(texts);
    signal?.throwIfAborted();
    this.asked.push(...texts.map((text) => prompt + text));
    return texts.map((text) => {
      const counts = subjects.map((subject) => text.split(subject).length - 1 + 0.01);
      return Float32Array.from(counts, (count) => count / Math.hypot(...counts));
    });
  }

  countTokens(text: string): Promise<number> {
    return Promise.resolve(text.match(/\S+/g)?.length ?? 0);
  }
}

function modelOf(embedder: FakeEmbedder, key = 'fake'): SearchModel {
  const prompts = { query: 'query: ', passage: 'passage: ' };
  return { ...{ embedder, key, prompts }, size: subjects.length, passageTokens: 10 };
}

const birds = 'A bird sings in the old tree at dawn.\n\nA train leaves for the far coast at noon.';
const soup = 'The soup is hot, and it smells of leek.';
const { signal } = new AbortController();

async function openLibrary(store = new MemoryStore()) {
  const library = await Library.open(store);
  const embedder = new FakeEmbedder();
  await library.use(modelOf(embedder));
  return { store, library, embedder };
}

async function found(library: Library, query: string): Promise<string[]> {
  const hits = library.best(await library.queryVector(query, signal), 2);
  return hits.map(({ text, span }) => text.text.slice(span.start, span.end));
}

describe('the library', () => {
  it('finds passages by meaning, with the prompts of the model', async () => {
    const { library, embedder } = await openLibrary();
    await library.add('a.txt', birds);
    await library.add('b.txt', soup);
    await library.embed();
    expect(library.entries.map(passagesOf)).toEqual([
      { done: 2, total: 2 },
      { done: 1, total: 1 },
    ]);
    expect(await found(library, 'train')).toEqual([
      'A train leaves for the far coast at noon.',
      expect.any(String),
    ]);
    expect((await found(library, 'soup'))[0]).toBe(soup);
    expect(embedder.asked[0]).toBe('passage: A bird sings in the old tree at dawn.');
    expect(embedder.asked.at(-1)).toBe('query: soup');
  });

  it('tells how far it has come, texts that were added meanwhile among the rest', async () => {
    const { library, embedder } = await openLibrary();
    const seen: string[] = [];
    library.updates.subscribe(({ progress }) => {
      if (progress) seen.push(`${String(progress.done)}/${String(progress.total)}`);
    });
    await library.add('a.txt', birds);
    let added: Promise<void> | undefined;
    // embed() is called while it runs: the second call must not wait for itself.
    embedder.onEmbed = () =>
      void (added ??= library.add('b.txt', soup).then(() => library.embed()));
    await library.embed();
    await added;
    expect(seen[0]).toBe('0/2');
    expect(seen.at(-1)).toBe('3/3');
    expect(library.progress).toBeUndefined();
    expect(library.entries.every(isComplete)).toBe(true);
  });

  it('embeds nothing twice: the same text, another visit, another model and back', async () => {
    const { store, library, embedder } = await openLibrary();
    await library.add('a.txt', birds);
    await library.add('copy.txt', birds);
    await library.embed();
    await library.embed();
    expect(library.entries).toHaveLength(1);
    expect(embedder.asked).toHaveLength(2);

    const other = new FakeEmbedder();
    await library.use(modelOf(other, 'other'));
    expect(library.entries.some(isComplete)).toBe(false);
    await library.embed();
    expect(other.asked).toHaveLength(2);

    const next = await openLibrary(store);
    expect(next.library.entries.map(({ text }) => text.name)).toEqual(['a.txt']);
    await next.library.embed();
    expect(await found(next.library, 'bird')).toEqual(await found(library, 'bird'));
    expect(next.embedder.asked).toEqual(['query: bird']);
  });

  it('goes on where it was cancelled, at the next visit too', async () => {
    const { store, library, embedder } = await openLibrary();
    const sentences = Array.from(
      { length: 30 },
      (_, i) => `Bird ${String(i)} sits in the tree today.`,
    );
    await library.add('long.txt', sentences.join('\n\n'));
    let nCalls = 0;
    embedder.onEmbed = () => {
      if (++nCalls === 3) library.progress?.cancel();
    };
    await library.embed();
    const { done, total } = passagesOf(library.entries[0]!);
    expect(total).toBe(30);
    expect(done).toBe(embedder.asked.length);
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(total);
    expect(library.progress).toBeUndefined();

    const next = await openLibrary(store);
    await next.library.embed();
    expect(next.library.entries.every(isComplete)).toBe(true);
    expect(next.embedder.asked.length).toBe(total - done);
    const all = [...embedder.asked, ...next.embedder.asked].map((text) =>
      text.slice('passage: '.length),
    );
    expect(all).toEqual(sentences);
  });

  it('keeps what was done when the model fails, and tells of it', async () => {
    const { library, embedder } = await openLibrary();
    await library.add('a.txt', birds);
    embedder.onEmbed = (texts) => {
      if (texts[0]?.includes('train')) throw new Error('out of memory');
    };
    await expect(library.embed()).rejects.toThrow('out of memory');
    expect(library.entries.map(passagesOf)).toEqual([{ done: 1, total: 2 }]);
    expect(library.progress).toBeUndefined();
    embedder.onEmbed = () => undefined;
    await library.embed();
    expect(library.entries.every(isComplete)).toBe(true);
  });

  it('forgets a text with all indexes of it, also one that is being embedded', async () => {
    const { store, library, embedder } = await openLibrary();
    await library.add('a.txt', birds);
    await library.add('b.txt', soup);
    await library.embed();
    await library.use(modelOf(embedder, 'other'));
    const before = library.bytes;
    let removed: Promise<void> | undefined;
    const sum = library.entries[0]!.text.checksum;
    embedder.onEmbed = () => void (removed ??= library.remove(sum));
    await library.embed();
    await removed;
    expect(library.entries.map(({ text }) => text.name)).toEqual(['b.txt']);
    expect(await store.index('fake', sum)).toBeUndefined();
    expect(await store.index('other', sum)).toBeUndefined();
    expect(library.bytes).toBeLessThan(before);
    await library.clear();
    expect(library.bytes).toBe(0);
    expect(await store.texts()).toEqual([]);
  });

  it('makes an index anew that does not hold together', async () => {
    const { store, library, embedder } = await openLibrary();
    await library.add('a.txt', birds);
    await library.embed();
    const { checksum } = library.entries[0]!.text;
    const index = (await store.index('fake', checksum))!;
    const damaged = [
      { ...index, size: 2 },
      { ...index, spans: index.spans.slice(1) },
      { ...index, vectors: index.vectors.slice(1) },
      { ...index, spans: index.spans.slice(2) },
    ];
    for (const record of damaged) {
      await store.putIndex(record);
      await library.use(modelOf(embedder));
      expect(library.entries.some(isComplete)).toBe(false);
      await library.embed();
      expect((await store.index('fake', checksum))!.vectors).toEqual(index.vectors);
    }
  });

  it('has nothing to find in without a model', async () => {
    const library = await Library.open(new MemoryStore());
    await library.add('a.txt', birds);
    await library.embed();
    expect(library.entries.map(passagesOf)).toEqual([{ done: 0, total: 0 }]);
    await expect(library.queryVector('bird', signal)).rejects.toThrow(/no embedding model/);
  });

  it('hears when a query is outdated', async () => {
    const { library, embedder } = await openLibrary();
    const controller = new AbortController();
    embedder.onEmbed = () => {
      controller.abort(new Error('outdated'));
    };
    await expect(library.queryVector('bird', controller.signal)).rejects.toThrow('outdated');
  });
});

describe('batches', () => {
  it('grow while they are quick, at most twofold, and shrink to one when they are not', () => {
    expect(nextBatch(1, 10)).toBe(2);
    expect(nextBatch(4, 150)).toBe(4);
    expect(nextBatch(4, 100)).toBe(6);
    expect(nextBatch(8, 3000)).toBe(1);
    expect(nextBatch(16, 0)).toBe(16);
  });
});
