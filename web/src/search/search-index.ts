import { KingletError, messageOf } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import { checkedNumber, checkedText, countRule, jsonOf, refuseUnknown } from '../options.ts';
import type { AnswerOf, CallName, TakesOf } from '../protocol.ts';
import type { AskOptions } from '../worker-client.ts';
import { pageAt, readText } from './read-text.ts';
import { openStore } from './store.ts';
import type { DocumentStore } from './store.ts';
import type {
  AddOptions,
  SearchDocument,
  SearchHit,
  SearchIndexOptions,
  SearchIndexSettings,
  SearchOptions,
} from './types.ts';

/** The longest time between saves while passages are computed; milliseconds. */
const saveEveryMs = 5000;

/** A reranker reads this many hits for each that is wanted, and at least so many. */
const rerankedPerHit = 4;
const leastReranked = 20;

/** The calls about an index. */
type IndexCall = {
  [Name in CallName]: TakesOf<Name> extends { index: number } ? Name : never;
}[CallName];

/** What the engine stores of a document and does not interpret. */
interface Info {
  meta?: unknown;
  /** Where pages begin, in UTF-16 units of the text. */
  pages?: readonly number[];
}

interface Entry {
  document: SearchDocument;
  info: Info;
  key: string;
}

/**
 * Documents that can be searched. Vectors are made by the model, and kept in its worker while the
 * index is open; the documents are also stored on the device. Several tabs may open the same index:
 * what one adds, the others find.
 */
export class SearchIndex {
  readonly name: string;
  /** The prompts and the pooling that were chosen. */
  readonly settings: SearchIndexSettings;
  readonly #model: Kinglet;
  readonly #index: number;
  readonly #store: DocumentStore;
  readonly #options: SearchIndexOptions;
  readonly #entries = new Map<string, Entry>();
  /** Changes run one after the other. */
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(
    name: string,
    store: DocumentStore,
    options: SearchIndexOptions,
    { index, settings }: AnswerOf<'openIndex'>,
  ) {
    this.name = name;
    this.settings = settings;
    this.#model = options.model;
    this.#index = index;
    this.#store = store;
    this.#options = options;
  }

  /**
   * Opens the index of that name, with the documents that earlier visits stored. If another model,
   * prompt or pooling made its vectors, its documents are pending: see {@link computePending}.
   *
   * @throws {@link KingletError}: `unsupported_feature` (a reranker), `missing_metadata` (the file
   * names no pooling), `missing_tensor`, `invalid_argument`.
   */
  static async open(name: string, options: SearchIndexOptions): Promise<SearchIndex> {
    refuseUnknown(options, [
      ...['model', 'queryPrompt', 'passagePrompt', 'pooling', 'dimensions', 'passageTokens'],
      ...['keep', 'folder', 'onWarning', 'onChange'],
    ]);
    const { model, queryPrompt, passagePrompt, pooling } = options;
    const opened = await model.askWorker('openIndex', {
      modelName: model.info.name,
      queryPrompt,
      passagePrompt,
      pooling,
      dimensions:
        options.dimensions === undefined
          ? 0
          : checkedNumber('dimensions', options.dimensions, countRule),
      passageTokens: checkedNumber('passageTokens', options.passageTokens ?? 200, countRule),
    });
    const store = await openStore(checkedText(name, 'name'), options);
    const index = new SearchIndex(name, store, options, opened);
    await index.#loadAll();
    store.onChange = (key) => {
      void index.#change(() => index.#loadOne(key));
    };
    return index;
  }

  /** In the order of their ids. */
  get documents(): readonly SearchDocument[] {
    return [...this.#entries.values()]
      .map(({ document }) => document)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Passages of all documents that cannot be found yet. */
  get nPending(): number {
    return this.documents.reduce((sum, { nPending }) => sum + nPending, 0);
  }

  /** Whether the documents will still be here at the next visit. */
  get isKept(): boolean {
    return this.#store.isKept;
  }

  /**
   * Adds a document, or replaces the one of that id: passages that it had already are not computed
   * again. Files may be text, Markdown, HTML or, with the package `pdfjs-dist` installed, PDF.
   *
   * @throws {@link KingletError}, or the signal's reason. `cache_full`: the storage has no room.
   */
  async add(
    id: string,
    content: string | Blob,
    { meta, signal, onProgress }: AddOptions = {},
  ): Promise<SearchDocument> {
    const { text, pages } =
      typeof content === 'string' ? { text: content } : await readText(content);
    const info: Info = { meta, ...(pages && { pages }) };
    return this.#change(async () => {
      signal?.throwIfAborted();
      const takes = { id: checkedText(id, 'id'), content: text, info: jsonOf('meta', info) };
      this.#enter(await this.#ask('putDocument', takes, { signal }));
      await this.#compute([id], { signal, onProgress });
      return this.#entry(id).document;
    });
  }

  /** Computes all pending passages. */
  computePending({ signal, onProgress }: Omit<AddOptions, 'meta'> = {}): Promise<void> {
    return this.#change(() => {
      const pending = this.documents.filter(({ nPending }) => nPending > 0);
      const ids = pending.map(({ id }) => id);
      return this.#compute(ids, { signal, onProgress });
    });
  }

  /** Removes a document, if there is one of that id. */
  remove(id: string): Promise<void> {
    return this.#change(async () => {
      const entry = this.#entries.get(id);
      if (!entry) return;
      await this.#store.remove(entry.key);
      await this.#forget(id);
    });
  }

  /** Removes all documents. */
  async clear(): Promise<void> {
    for (const { id } of this.documents) await this.remove(id);
  }

  /** The text of a document: undefined if there is none of that id. */
  content(id: string): Promise<string | undefined> {
    return this.#ask('documentContent', { id });
  }

  /**
   * The passages that answer a query best, the best first. Every vector is compared with the query's;
   * nothing is approximate. Passages that are pending are not found.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    refuseUnknown(options, ['limit', 'filter', 'hybrid', 'rerank', 'signal']);
    const { filter, hybrid = false, rerank, signal } = options;
    const limit = checkedNumber('limit', options.limit ?? 10, countRule);
    const among = filter && this.documents.filter(filter).map(({ id }) => id);
    const wanted = rerank ? Math.max(rerankedPerHit * limit, leastReranked) : limit;
    const takes = { query: checkedText(query, 'query'), hybrid, among };
    const hits = (
      await this.#ask('searchDocuments', { ...takes, limit: wanted }, { signal })
    ).flatMap((hit) => {
      const entry = this.#entries.get(hit.id);
      // Removed meanwhile, if it is not there.
      return entry
        ? [{ ...hit, meta: entry.info.meta, page: pageAt(entry.info.pages, hit.start) }]
        : [];
    });
    if (!rerank) return hits;
    const texts = hits.map(({ text }) => text);
    const ranked = await rerank.rerank(query, texts, { topN: limit, truncate: true, signal });
    return ranked.flatMap(({ index, score }) => {
      const hit = hits[index];
      return hit ? [{ ...hit, score }] : [];
    });
  }

  /** Frees the index's memory in the worker. What is stored stays. */
  async close(): Promise<void> {
    await this.#change(async () => {
      this.#store.close();
      await this.#ask('closeIndex', {});
    });
  }

  /** Posts a call about this index. */
  #ask<Name extends IndexCall>(
    call: Name,
    takes: Omit<TakesOf<Name>, 'index'>,
    options?: AskOptions<Name>,
  ): Promise<AnswerOf<Name>> {
    return this.#model.askWorker(call, { ...takes, index: this.#index }, options);
  }

  #change<Value>(run: () => Promise<Value>): Promise<Value> {
    const done = this.#tail.then(run);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #compute(
    ids: readonly string[],
    { signal, onProgress }: Omit<AddOptions, 'meta'>,
  ): Promise<void> {
    const total = ids.reduce((sum, id) => sum + this.#entry(id).document.nPending, 0);
    let done = 0;
    for (const id of ids) {
      const takes = { id, ms: saveEveryMs };
      try {
        await this.#save(id); // so that its text is not lost
        for (let n = 1; n > 0;) {
          const before = done;
          const onNotice = (nDone: number) => {
            onProgress?.({ done: before + nDone, total });
          };
          n = await this.#ask('computeDocument', takes, { signal, onNotice });
          done += n;
          if (n > 0) await this.#save(id, n);
        }
      } catch (error) {
        if (signal?.aborted)
          this.#enter(await this.#ask('loadDocument', { record: await this.#save(id) }));
        throw error;
      }
    }
  }

  /**
   * Stores a document as the engine has it, with `nComputed` more passages. Returns its record.
   */
  async #save(id: string, nComputed = 0): Promise<Uint8Array> {
    const record = await this.#ask('documentRecord', { id });
    const { document, info, key } = this.#entry(id);
    await this.#store.put(key, record);
    const nPending = document.nPending - nComputed;
    this.#entries.set(id, { document: { ...document, nPending }, info, key });
    this.#options.onChange?.();
    return record;
  }

  async #loadAll(): Promise<void> {
    for (const key of await this.#store.keys()) await this.#loadOne(key);
  }

  /** Reads a document that this tab does not have, or that another tab has changed. */
  async #loadOne(key: string): Promise<void> {
    try {
      const record = await this.#store.get(key);
      if (record) {
        this.#enter(await this.#ask('loadDocument', { record }));
      } else {
        const gone = [...this.#entries].find(([, entry]) => entry.key === key);
        if (gone) await this.#forget(gone[0]);
      }
      this.#options.onChange?.();
    } catch (error) {
      this.#options.onWarning?.(`a document of the index was left out: ${messageOf(error)}`);
    }
  }

  async #forget(id: string): Promise<void> {
    await this.#ask('removeDocument', { id });
    this.#entries.delete(id);
    this.#options.onChange?.();
  }

  #enter({ info: json, key, ...document }: AnswerOf<'putDocument'>): void {
    const info = JSON.parse(json) as Info;
    this.#entries.set(document.id, { document: { ...document, meta: info.meta }, info, key });
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry) return entry;
    throw new KingletError('invalid_argument', `the index has no document "${id}"`);
  }
}
