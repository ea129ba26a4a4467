// The texts that can be searched: an index that the browser keeps, or, without an embedding model,
// texts that wait for one.
import type { SearchDocument, SearchHit, SearchIndex } from 'kinglet/search';
import { Observable } from '../ui/observable.ts';

export interface LibraryText extends Omit<SearchDocument, 'meta'> {
  /** Whether it is not in the index yet, and not cut into passages. */
  isWaiting: boolean;
}

export class Library {
  /** Notified at every change. */
  readonly updates = new Observable<Library>(this);
  #index: SearchIndex | undefined;
  readonly #waiting = new Map<string, string>();
  #controller = new AbortController();
  #nRunning = 0;

  get texts(): readonly LibraryText[] {
    const known = this.#index?.documents ?? [];
    const waiting = [...this.#waiting].map(([id, { length: nCharacters }]) => ({
      id,
      nCharacters,
    }));
    return [
      ...known.map((document) => ({ ...document, isWaiting: false })),
      ...waiting.map((text) => ({ ...text, nPassages: 0, nPending: 0, isWaiting: true })),
    ];
  }

  /** Passages of all texts, and how many of them can be found. */
  get passages(): { done: number; total: number } {
    const total = this.texts.reduce((sum, { nPassages }) => sum + nPassages, 0);
    return { done: total - (this.#index?.nPending ?? 0), total };
  }

  get isEmbedding(): boolean {
    return this.#nRunning > 0;
  }

  /** Whether the texts will still be here at the next visit. */
  get isKept(): boolean {
    return this.#index?.isKept ?? false;
  }

  /** About the size of what is stored, in bytes. Vectors have two bytes a number. */
  get bytes(): number {
    const dimensions = this.#index?.settings.dimensions ?? 0;
    const nCharacters = this.texts.reduce((sum, text) => sum + text.nCharacters, 0);
    return nCharacters + 2 * dimensions * this.passages.total;
  }

  /** Uses this index from now on (undefined: none), and closes the one before. */
  async use(index: SearchIndex | undefined): Promise<void> {
    const before = this.#index;
    this.cancel();
    this.#index = index;
    this.updates.notify();
    if (!before) return;
    if (!before.isKept) await this.#takeFrom(before);
    await before.close();
  }

  /** Adds a text, or replaces the one of that name. It can be found when embed() has run. */
  async add(name: string, text: string): Promise<void> {
    if (this.#index) await this.#index.add(name, text, { compute: false });
    else this.#waiting.set(name, text);
    this.updates.notify();
  }

  /**
   * Embeds all passages that are not embedded yet. Resolves when they are, or when cancelled: the
   * next call continues from there.
   *
   * @throws what the index throws.
   */
  async embed(): Promise<void> {
    const index = this.#index;
    if (!index) return;
    const { signal } = this.#controller;
    ++this.#nRunning;
    try {
      await this.#addWaiting(index);
      const onProgress = () => {
        this.updates.notify();
      };
      await index.computePending({ signal, onProgress });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      --this.#nRunning;
      this.updates.notify();
    }
  }

  cancel(): void {
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  async remove(name: string): Promise<void> {
    this.#waiting.delete(name);
    await this.#index?.remove(name);
    this.updates.notify();
  }

  async clear(): Promise<void> {
    this.cancel();
    this.#waiting.clear();
    await this.#index?.clear();
    this.updates.notify();
  }

  /** The `limit` passages nearest to a query, the best first. */
  async search(query: string, limit: number, signal: AbortSignal): Promise<SearchHit[]> {
    return (await this.#index?.search(query, { limit, signal })) ?? [];
  }

  async #addWaiting(index: SearchIndex): Promise<void> {
    for (const [name, text] of this.#waiting) {
      this.#waiting.delete(name);
      try {
        await index.add(name, text, { compute: false });
      } catch (error) {
        this.#waiting.set(name, text);
        throw error;
      }
    }
  }

  /** Lets the texts of an index that is not kept wait for the next one. */
  async #takeFrom(index: SearchIndex): Promise<void> {
    for (const { id } of index.documents) {
      const text = await index.content(id);
      if (text !== undefined) this.#waiting.set(id, text);
    }
    this.updates.notify();
  }
}

/** The page's only library. */
export const library = new Library();
