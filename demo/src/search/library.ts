// The texts that can be searched: adding, cutting and embedding them, and finding their passages.
import { Observable } from '../ui/observable.ts';
import { checksum } from './checksum.ts';
import type { SearchModel } from './embedder.ts';
import { cutPassages, sectionsOf } from './passages.ts';
import type { Span } from './passages.ts';
import { rank } from './ranking.ts';
import type { IndexRecord, SearchStore, TextRecord } from './store.ts';
import { fittedEstimate } from './token-estimate.ts';

export interface Entry {
  text: TextRecord;
  /** The index for the model in use; undefined until the text has been cut for that model. */
  index: IndexRecord | undefined;
}

export interface Progress {
  /** Embedded passages, of all texts. */
  done: number;
  total: number;
  cancel: () => void;
}

export interface Hit {
  text: TextRecord;
  /** The passage's index among those of the text, and its place in the text. */
  passage: number;
  span: Span;
  score: number;
}

/** The longest time, about, that a query waits for passages being embedded; milliseconds. */
const patienceMs = 150;
const maxBatch = 16;
/** The time between saves while passages are embedded; milliseconds. */
const saveEveryMs = 5000;
const overlapTokens = 32;
/** Characters to cut without a pause; this takes some hundredths of a second. */
const sectionLength = 20_000;

export class Library {
  /** Notified at every change of the fields below. */
  readonly updates = new Observable<Library>(this);
  entries: readonly Entry[] = [];
  progress: Progress | undefined;
  /** The size of the texts and all their indexes. */
  bytes = 0;
  readonly #store: SearchStore;
  #model: SearchModel | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(store: SearchStore) {
    this.#store = store;
  }

  /** Opens a library with the texts that earlier visits left in the store. */
  static async open(store: SearchStore): Promise<Library> {
    const library = new Library(store);
    const texts = await store.texts();
    texts.sort((a, b) => a.addedAt - b.addedAt);
    library.entries = texts.map((text) => ({ text, index: undefined }));
    library.bytes = await store.bytes();
    return library;
  }

  get isKept(): boolean {
    return this.#store.isKept;
  }

  /** Uses this model's vectors from now on (undefined: none). Ends embedding for the old model. */
  async use(model: SearchModel | undefined): Promise<void> {
    await this.cancel();
    this.#model = model;
    const entries = await Promise.all(
      this.entries.map(async ({ text }) => ({
        text,
        index: soundIndex(model && (await this.#store.index(model.key, text.checksum)), model),
      })),
    );
    if (this.#model === model) this.#change(entries);
  }

  /** Adds a text, unless it is already here. It can be found after embed() has processed it. */
  async add(name: string, content: string): Promise<void> {
    const sum = checksum(content);
    if (this.entries.some(({ text }) => text.checksum === sum)) return;
    const bytes = new TextEncoder().encode(content).length;
    const text = { checksum: sum, name, text: content, addedAt: Date.now(), bytes };
    await this.#store.putText(text);
    const index = this.#model && (await this.#store.index(this.#model.key, sum));
    this.#change([...this.entries, { text, index: soundIndex(index, this.#model) }]);
    await this.#measure();
  }

  /**
   * Embeds all passages that are not embedded yet. Resolves when all are done, or when cancelled:
   * the vectors made until then are kept, and the next call continues from there.
   *
   * @throws what the embedder or the store throws; the vectors made until then are kept, too.
   */
  embed(): Promise<void> {
    if (!this.progress) this.#running = this.#run();
    return this.#running;
  }

  /** Cancels the embedding. Resolves when it has ended. */
  async cancel(): Promise<void> {
    this.progress?.cancel();
    await this.#running.catch(() => undefined);
  }

  async remove(sum: string): Promise<void> {
    this.#change(this.entries.filter(({ text }) => text.checksum !== sum));
    await this.#store.remove(sum);
    await this.#measure();
  }

  async clear(): Promise<void> {
    await this.cancel();
    this.#change([]);
    await this.#store.clear();
    await this.#measure();
  }

  /** Returns the vector of a query. Rejects with the signal's reason if aborted. */
  async queryVector(query: string, signal: AbortSignal): Promise<Float32Array> {
    const { embedder, prompts } = this.#usedModel();
    const options = { prompt: prompts.query, truncate: true, signal };
    const [vector] = await embedder.embed([query], options);
    signal.throwIfAborted();
    if (!vector) throw new Error('the model did not return a vector for the query');
    return vector;
  }

  /** The `limit` passages nearest to a query's vector, best first. */
  best(query: Float32Array, limit: number): Hit[] {
    const known = this.entries.flatMap(({ text, index }) => (index ? [{ text, index }] : []));
    const sets = known.map(({ index: { vectors, size } }) => ({ values: vectors, size }));
    return rank(query, sets, limit).flatMap(({ set, index: passage, score }) => {
      const entry = known[set];
      return entry
        ? [{ text: entry.text, passage, span: spanAt(entry.index, passage), score }]
        : [];
    });
  }

  /** Embeds texts as passages are embedded; for example, parts of a passage. */
  async vectorsOf(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const { embedder, prompts } = this.#usedModel();
    return embedder.embed(texts, { prompt: prompts.passage, truncate: true, signal });
  }

  #usedModel(): SearchModel {
    if (!this.#model) throw new Error('no embedding model is loaded');
    return this.#model;
  }

  async #run(): Promise<void> {
    const model = this.#model;
    if (!model || this.entries.every(isComplete)) return;
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = () => {
      controller.abort();
    };
    this.progress = { done: 0, total: 0, cancel };
    try {
      // This also processes texts that are added in the meantime.
      for (;;) {
        for (const entry of this.entries) {
          if (!entry.index) await this.#cut(entry, model, signal);
        }
        const entry = this.entries.find((one) => !isComplete(one));
        if (!entry) return;
        await this.#embedText(entry, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.progress = undefined;
      this.updates.notify();
    }
  }

  async #cut({ text }: Entry, model: SearchModel, signal: AbortSignal): Promise<void> {
    const count = await fittedEstimate(text.text, (sample) => model.embedder.countTokens(sample));
    signal.throwIfAborted();
    const options = { maxTokens: model.passageTokens, overlapTokens, count };
    const spans: number[] = [];
    for (const section of sectionsOf(text.text, sectionLength)) {
      const part = text.text.slice(section.start, section.end);
      for (const { start, end } of cutPassages(part, options)) {
        spans.push(section.start + start, section.start + end);
      }
      await nextTask();
      signal.throwIfAborted();
    }
    this.#replace(text.checksum, {
      ...{ model: model.key, checksum: text.checksum, size: model.size, bytes: 0 },
      ...{ spans: Uint32Array.from(spans), vectors: new Float32Array(0) },
    });
  }

  /** Embeds a few passages at a time, so that a query can run between them. */
  async #embedText({ text, index }: Entry, signal: AbortSignal): Promise<void> {
    if (!index) return;
    const { spans, size } = index;
    const nPassages = spans.length / 2;
    const vectors = new Float32Array(nPassages * size);
    vectors.set(index.vectors);
    let nDone = index.vectors.length / size;
    let savedAt = performance.now();
    let batch = 1;
    try {
      while (nDone < nPassages && this.#has(text)) {
        const passages = Array.from({ length: Math.min(batch, nPassages - nDone) }, (_, i) => {
          const { start, end } = spanAt(index, nDone + i);
          return text.text.slice(start, end);
        });
        const startedAt = performance.now();
        for (const vector of await this.vectorsOf(passages, signal)) {
          vectors.set(vector, nDone++ * size);
        }
        const now = performance.now();
        batch = nextBatch(passages.length, now - startedAt);
        this.#replace(text.checksum, { ...index, vectors: vectors.subarray(0, nDone * size) });
        if (now - savedAt < saveEveryMs) continue;
        await this.#save(text.checksum);
        savedAt = now;
      }
    } finally {
      await this.#save(text.checksum);
    }
  }

  #has({ checksum: sum }: TextRecord): boolean {
    return this.entries.some(({ text }) => text.checksum === sum);
  }

  async #save(sum: string): Promise<void> {
    const index = this.entries.find(({ text }) => text.checksum === sum)?.index;
    if (!index) return; // deleted meanwhile
    const bytes = index.vectors.byteLength + index.spans.byteLength;
    await this.#store.putIndex({ ...index, vectors: index.vectors.slice(), bytes });
    await this.#measure();
  }

  async #measure(): Promise<void> {
    this.bytes = await this.#store.bytes();
    this.updates.notify();
  }

  #replace(sum: string, index: IndexRecord): void {
    this.#change(
      this.entries.map((entry) => (entry.text.checksum === sum ? { ...entry, index } : entry)),
    );
  }

  #change(entries: readonly Entry[]): void {
    this.entries = entries;
    if (this.progress) {
      const { cancel } = this.progress;
      const counts = entries.map(passagesOf);
      const done = counts.reduce((sum, one) => sum + one.done, 0);
      this.progress = { done, total: counts.reduce((sum, one) => sum + one.total, 0), cancel };
    }
    this.updates.notify();
  }
}

/** The number of a text's passages (`total`), and how many of them are embedded (`done`). */
export function passagesOf({ index }: Entry): { done: number; total: number } {
  if (!index) return { done: 0, total: 0 };
  return { done: index.vectors.length / index.size, total: index.spans.length / 2 };
}

export function isComplete(entry: Entry): boolean {
  const { done, total } = passagesOf(entry);
  return entry.index !== undefined && done === total;
}

/** The number of passages that take as long to embed as a query may wait. */
export function nextBatch(nLast: number, lastMs: number): number {
  const wanted = Math.round((nLast * patienceMs) / Math.max(lastMs, 1));
  return Math.max(1, Math.min(wanted, 2 * nLast, maxBatch));
}

/** Returns undefined for an inconsistent record: the index must then be made again. */
function soundIndex(
  index: IndexRecord | undefined,
  model: SearchModel | undefined,
): IndexRecord | undefined {
  const isSound =
    index !== undefined &&
    index.size === model?.size &&
    index.spans.length % 2 === 0 &&
    index.vectors.length % index.size === 0 &&
    index.vectors.length / index.size <= index.spans.length / 2;
  return isSound ? index : undefined;
}

function spanAt({ spans }: IndexRecord, passage: number): Span {
  return { start: spans[2 * passage] ?? 0, end: spans[2 * passage + 1] ?? 0 };
}

/** Lets the page do its other work. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
