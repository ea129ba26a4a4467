import { KingletError, messageOf } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import {
  checkOptions,
  checkedFilled,
  checkedFlag,
  checkedFolder,
  checkModel,
  checkedNumber,
  checkedPooling,
  checkedText,
  countRule,
  jsonOf,
} from '../options.ts';
import type { AnswerOf, CallName, TakesOf } from '../protocol.ts';
import type { AskOptions } from '../worker-client.ts';
import { checkPdfjs, isBlob, pageAt, readText } from './read-text.ts';
import { openKeptStore, openStore } from './store.ts';
import type { DocumentStore } from './store.ts';
import type {
  AddOptions,
  ComputeOptions,
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
  /** What it is opened with, again if the tab is gone whose worker had it. */
  readonly #opening: TakesOf<'openIndex'>;
  #index: number;
  /** Resolves when the index is there again. */
  #reopened: { instead: number; done: Promise<void> } | undefined;
  #isClosed = false;
  readonly #store: DocumentStore;
  readonly #options: SearchIndexOptions;
  readonly #entries = new Map<string, Entry>();
  /** Changes run one after the other, also while passages are computed. */
  readonly #change = inTurn();
  readonly #computing = inTurn();

  private constructor(
    name: string,
    store: DocumentStore,
    options: SearchIndexOptions,
    opening: TakesOf<'openIndex'>,
    { index, settings }: AnswerOf<'openIndex'>,
  ) {
    this.name = name;
    this.settings = settings;
    this.#model = options.model;
    this.#opening = opening;
    this.#index = index;
    this.#store = store;
    this.#options = options;
  }

  /**
   * Opens the index of that name, with the documents that earlier visits stored. If another model,
   * prompt or pooling made its vectors, its documents are pending: see {@link computePending}.
   *
   * @throws KingletError: `unsupported_feature` (a reranker), `missing_metadata` (the file
   * names no pooling), `missing_tensor`, `invalid_argument`.
   */
  static async open(name: string, options: SearchIndexOptions): Promise<SearchIndex> {
    checkOptions(options, [
      ...['model', 'queryPrompt', 'passagePrompt', 'pooling', 'dimensions', 'passageTokens'],
      ...['keep', 'folder', 'onWarning', 'onChange', 'pdfjs'],
    ]);
    const { model, queryPrompt, passagePrompt, pooling } = options;
    checkModel('model', model);
    const checkedName = checkedFilled(name, "the index's name");
    checkedFlag('keep', options.keep ?? true);
    checkedFolder(options.folder);
    checkPdfjs(options.pdfjs);
    const opening = {
      modelName: model.info.name,
      queryPrompt: queryPrompt === undefined ? undefined : checkedText(queryPrompt, 'queryPrompt'),
      passagePrompt:
        passagePrompt === undefined ? undefined : checkedText(passagePrompt, 'passagePrompt'),
      pooling: pooling === undefined ? undefined : checkedPooling(pooling),
      dimensions:
        options.dimensions === undefined
          ? 0
          : checkedNumber('dimensions', options.dimensions, countRule),
      passageTokens: checkedNumber('passageTokens', options.passageTokens ?? 200, countRule),
    };
    const opened = await model.askWorker('openIndex', opening);
    const guarded = withGuardedCallbacks(options);
    const store = await openStore(checkedName, guarded);
    const index = new SearchIndex(name, store, guarded, opening, opened);
    await index.#loadAll();
    store.onChange = ({ key, isRemoved }) => {
      const load = async () => {
        await index.#change(() => index.#loadOne(key));
        index.#options.onChange?.();
      };
      // A removal at once, or a document whose passages are being computed would be stored again.
      // Others later: two tabs with different models would undo each other's work without end.
      void (isRemoved ? load() : index.#computing(load));
    };
    return index;
  }

  /**
   * Deletes what is stored of the index of that name, for which no model is needed. Where the index
   * is open in a page, its documents are removed there soon after.
   *
   * @throws KingletError: `cache_unavailable`.
   */
  static async delete(
    name: string,
    options: Pick<SearchIndexOptions, 'folder'> = {},
  ): Promise<void> {
    checkOptions(options, ['folder']);
    const folder = checkedFolder(options.folder);
    const store = await openKeptStore(checkedFilled(name, "the index's name"), folder);
    for (const key of await store.keys()) await store.remove(key);
    store.close();
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
   * again. While they are computed, documents may be added and removed. Files may be text, Markdown,
   * HTML or, with the option `pdfjs` of {@link open}, PDF.
   *
   * @throws KingletError, those of {@link readText} among them, or the signal's reason. `cache_full`: the storage has no room.
   */
  async add(id: string, content: string | Blob, options: AddOptions = {}): Promise<SearchDocument> {
    checkOptions(options, ['meta', 'compute', 'signal', 'onProgress']);
    const { meta, signal, onProgress } = options;
    const compute = checkedFlag('compute', options.compute ?? true);
    this.#checkOpen();
    const { text, pages } = isBlob(content)
      ? await readText(content, { pdfjs: this.#options.pdfjs })
      : { text: checkedText(content, 'the content, if it is not a Blob,') };
    const info: Info = { meta, ...(pages && { pages }) };
    const takes = { id: checkedText(id, 'the id'), content: text, info: jsonOf('meta', info) };
    const added = await this.#change(async () => {
      signal?.throwIfAborted();
      const entry = this.#enter(await this.#ask('putDocument', takes, { signal }));
      await this.#saveNew(entry);
      return entry;
    });
    if (compute) await this.#computing(() => this.#compute([id], { signal, onProgress }));
    return (this.#entries.get(id) ?? added).document; // it may have been removed meanwhile
  }

  /** Computes all pending passages. */
  async computePending(options: ComputeOptions = {}): Promise<void> {
    checkOptions(options, ['signal', 'onProgress']);
    this.#checkOpen();
    await this.#computing(() => {
      const pending = this.documents.filter(({ nPending }) => nPending > 0);
      const ids = pending.map(({ id }) => id);
      return this.#compute(ids, options);
    });
  }

  /** Removes a document, if there is one of that id. */
  async remove(id: string): Promise<void> {
    this.#checkOpen();
    checkedText(id, 'the id');
    await this.#change(async () => {
      const entry = this.#entries.get(id);
      if (!entry) return;
      await this.#store.remove(entry.key);
      await this.#forget(id);
    });
  }

  /** Removes all documents. */
  async clear(): Promise<void> {
    this.#checkOpen();
    for (const { id } of this.documents) await this.remove(id);
  }

  /** The text of a document: undefined if there is none of that id. */
  async content(id: string): Promise<string | undefined> {
    this.#checkOpen();
    return this.#ask('documentContent', { id: checkedText(id, 'the id') });
  }

  /**
   * The passages that answer a query best, the best first. Every vector is compared with the query's;
   * nothing is approximate. Passages that are pending are not found.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    checkOptions(options, ['limit', 'filter', 'hybrid', 'rerank', 'signal']);
    this.#checkOpen();
    const { filter, rerank, signal } = options;
    const hybrid = checkedFlag('hybrid', options.hybrid ?? false);
    if (rerank !== undefined) checkModel('rerank', rerank);
    const limit = checkedNumber('limit', options.limit ?? 10, countRule);
    const among = filter && this.documents.filter((one) => kept(filter(one))).map(({ id }) => id);
    const wanted = rerank ? Math.max(rerankedPerHit * limit, leastReranked) : limit;
    const takes = { query: checkedText(query, 'the query'), hybrid, among };
    const hits = (
      await this.#ask('searchDocuments', { ...takes, limit: wanted }, { signal })
    ).flatMap((hit) => {
      const entry = this.#entries.get(hit.id);
      // Removed meanwhile, if it is not there.
      return entry
        ? [{ ...hit, meta: entry.info.meta, page: pageAt(entry.info.pages, hit.start) }]
        : [];
    });
    if (!rerank || hits.length === 0) return hits;
    const texts = hits.map(({ text }) => text);
    const ranked = await rerank.rerank(query, texts, { topN: limit, truncate: true, signal });
    return ranked.flatMap(({ index, score }) => {
      const hit = hits[index];
      return hit ? [{ ...hit, score }] : [];
    });
  }

  /** Frees the index's memory in the worker. What is stored stays. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#computing(() =>
      this.#change(async () => {
        this.#store.close();
        await this.#ask('closeIndex', {}).catch(() => undefined); // the model is gone, with all of it
      }),
    );
  }

  #checkOpen(): void {
    if (!this.#isClosed) return;
    throw new KingletError('disposed', `the search index ${this.name} has been closed`);
  }

  /** Posts a call about this index; again, if a shared model's worker ended with its tab. */
  async #ask<Name extends IndexCall>(
    call: Name,
    takes: Omit<TakesOf<Name>, 'index'>,
    options?: AskOptions<Name>,
  ): Promise<AnswerOf<Name>> {
    for (;;) {
      const index = this.#index;
      try {
        return await this.#model.askWorker(call, { ...takes, index }, options);
      } catch (error) {
        const isLost = error instanceof KingletError && error.code === 'host_gone';
        if (!isLost || this.#isClosed) throw error;
        await this.#reopen(index);
      }
    }
  }

  /** Opens the index in another worker, with the documents that are stored. */
  #reopen(instead: number): Promise<void> {
    if (this.#index !== instead) return Promise.resolve();
    if (this.#reopened?.instead !== instead) {
      const reopen = async () => {
        this.#index = (await this.#model.askWorker('openIndex', this.#opening)).index;
        await this.#loadAll();
        this.#options.onChange?.();
      };
      this.#reopened = { instead, done: reopen() };
    }
    return this.#reopened.done;
  }

  /** Documents may be removed and replaced meanwhile. */
  async #compute(ids: readonly string[], { signal, onProgress }: ComputeOptions): Promise<void> {
    const nPending = (id: string) => this.#entries.get(id)?.document.nPending ?? 0;
    let done = 0;
    for (const id of ids) {
      try {
        for (let n = 1; n > 0;) {
          let nNoticed = 0;
          const onNotice = (nDone: number) => {
            this.#setPending(id, nPending(id) - (nDone - nNoticed));
            done += nDone - nNoticed;
            nNoticed = nDone;
            const nLeft = ids.reduce((sum, other) => sum + nPending(other), 0);
            onProgress?.({ done, total: done + nLeft });
          };
          const takes = { id, ms: saveEveryMs };
          n = await this.#ask('computeDocument', takes, { signal, onNotice });
          if (n > nNoticed) onNotice(n);
          if (n > 0) await this.#change(() => this.#save(id));
        }
        this.#setPending(id, 0);
      } catch (error) {
        if (signal?.aborted) await this.#change(() => this.#countAgain(id));
        throw error;
      }
    }
  }

  /** A call that was aborted does not tell which passages it had computed. */
  async #countAgain(id: string): Promise<void> {
    await this.#save(id);
    if (!this.#entries.has(id)) return;
    const record = await this.#ask('documentRecord', { id });
    this.#enter(await this.#ask('loadDocument', { record }));
  }

  #setPending(id: string, nPending: number): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const document = { ...entry.document, nPending: Math.max(0, nPending) };
    this.#entries.set(id, { ...entry, document });
  }

  /** Stores a document that was added. If that fails, the index is as before. */
  async #saveNew({ document: { id }, key }: Entry): Promise<void> {
    try {
      await this.#save(id);
    } catch (error) {
      await this.#loadOne(key);
      throw error;
    }
  }

  /** Stores a document as the engine has it, unless it was removed. */
  async #save(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    if (this.#store.isWritable) {
      await this.#store.put(entry.key, await this.#ask('documentRecord', { id }));
    }
    this.#options.onChange?.();
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
    } catch (error) {
      this.#options.onWarning?.(`a document of the index was left out: ${messageOf(error)}`);
    }
  }

  async #forget(id: string): Promise<void> {
    await this.#ask('removeDocument', { id });
    this.#entries.delete(id);
    this.#options.onChange?.();
  }

  #enter({ info: json, key, ...document }: AnswerOf<'putDocument'>): Entry {
    // Frozen, because hits and documents give away the index's own objects.
    const info = JSON.parse(json, (_, value: unknown) => Object.freeze(value)) as Info;
    const entry = { document: { ...document, meta: info.meta }, info, key };
    this.#entries.set(document.id, entry);
    return entry;
  }
}

/** The index has done what it tells of: an error of the listener must not make that look failed. */
function withGuardedCallbacks({
  onWarning,
  onChange,
  ...options
}: SearchIndexOptions): SearchIndexOptions {
  const warn = (message: string) => {
    try {
      onWarning?.(message);
    } catch (error) {
      console.error(error);
    }
  };
  const tell = () => {
    try {
      onChange?.();
    } catch (error) {
      if (onWarning) warn(`onChange threw an error: ${messageOf(error)}`);
      else console.error(error);
    }
  };
  return { ...options, onWarning: warn, onChange: tell };
}

/** A promise would let every document through. */
function kept(isWanted: unknown): boolean {
  if (typeof isWanted !== 'object' || isWanted === null || !('then' in isWanted)) {
    return Boolean(isWanted);
  }
  const message = 'filter must return true or false, not a promise';
  throw new KingletError('invalid_argument', message);
}

/** Returns a function that runs what it is given, one after the other. */
function inTurn(): <Value>(run: () => Promise<Value>) => Promise<Value> {
  let tail: Promise<unknown> = Promise.resolve();
  return (run) => {
    const done = tail.then(run);
    tail = done.catch(() => undefined);
    return done;
  };
}
