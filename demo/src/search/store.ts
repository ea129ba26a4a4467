// Stores texts and their vectors in the page's storage (IndexedDB), or in memory without it.
import { openDatabase, result, sumOfKeys, write } from '../storage/database.ts';

export interface TextRecord {
  /** The checksum of the text; the record's key. */
  checksum: string;
  name: string;
  text: string;
  /** Milliseconds since 1970. */
  addedAt: number;
  /** The approximate size of the record. */
  bytes: number;
}

export interface IndexRecord {
  /** The key of the model that made the vectors; with the text's checksum, the record's key. */
  model: string;
  checksum: string;
  /** The beginning and end of each passage, in UTF-16 units of the text. */
  spans: Uint32Array<ArrayBuffer>;
  /** The vectors of the first passages, one after the other; of all if the index is complete. */
  vectors: Float32Array<ArrayBuffer>;
  /** The length of a vector. */
  size: number;
  bytes: number;
}

export interface SearchStore {
  /** Whether the records will still exist at the next visit. */
  readonly isKept: boolean;
  texts(): Promise<TextRecord[]>;
  index(model: string, checksum: string): Promise<IndexRecord | undefined>;
  putText(record: TextRecord): Promise<void>;
  putIndex(record: IndexRecord): Promise<void>;
  /** Removes a text, and the indexes of all models for it. */
  remove(checksum: string): Promise<void>;
  clear(): Promise<void>;
  /** The size of all records, including those of other models. */
  bytes(): Promise<number>;
}

/** Opens the page's storage, or a store in memory if the browser refuses storage. */
export async function openStore(): Promise<SearchStore> {
  try {
    return new DatabaseStore(await openSearchDatabase());
  } catch {
    return new MemoryStore();
  }
}

export class MemoryStore implements SearchStore {
  readonly isKept = false;
  readonly #texts = new Map<string, TextRecord>();
  readonly #indexes = new Map<string, IndexRecord>();

  texts(): Promise<TextRecord[]> {
    return Promise.resolve([...this.#texts.values()]);
  }

  index(model: string, checksum: string): Promise<IndexRecord | undefined> {
    return Promise.resolve(this.#indexes.get(JSON.stringify([model, checksum])));
  }

  putText(record: TextRecord): Promise<void> {
    this.#texts.set(record.checksum, record);
    return Promise.resolve();
  }

  putIndex(record: IndexRecord): Promise<void> {
    this.#indexes.set(JSON.stringify([record.model, record.checksum]), record);
    return Promise.resolve();
  }

  remove(checksum: string): Promise<void> {
    this.#texts.delete(checksum);
    for (const [key, index] of this.#indexes) {
      if (index.checksum === checksum) this.#indexes.delete(key);
    }
    return Promise.resolve();
  }

  clear(): Promise<void> {
    this.#texts.clear();
    this.#indexes.clear();
    return Promise.resolve();
  }

  bytes(): Promise<number> {
    const records = [...this.#texts.values(), ...this.#indexes.values()];
    return Promise.resolve(records.reduce((sum, { bytes }) => sum + bytes, 0));
  }
}

class DatabaseStore implements SearchStore {
  readonly isKept = true;
  readonly #database: IDBDatabase;

  constructor(database: IDBDatabase) {
    this.#database = database;
  }

  texts(): Promise<TextRecord[]> {
    return result(this.#store('texts').getAll() as IDBRequest<TextRecord[]>);
  }

  index(model: string, checksum: string): Promise<IndexRecord | undefined> {
    const found = this.#store('indexes').get([model, checksum]);
    return result(found as IDBRequest<IndexRecord | undefined>);
  }

  async putText(record: TextRecord): Promise<void> {
    await write(this.#database, ['texts'], ([texts]) => texts?.put(record));
  }

  async putIndex(record: IndexRecord): Promise<void> {
    await write(this.#database, ['indexes'], ([indexes]) => indexes?.put(record));
  }

  async remove(checksum: string): Promise<void> {
    const keys = await result(this.#store('indexes').index('checksum').getAllKeys(checksum));
    await write(this.#database, ['texts', 'indexes'], ([texts, indexes]) => {
      texts?.delete(checksum);
      for (const key of keys) indexes?.delete(key);
    });
  }

  async clear(): Promise<void> {
    await write(this.#database, ['texts', 'indexes'], (stores) => {
      for (const store of stores) store.clear();
    });
  }

  async bytes(): Promise<number> {
    const [texts, indexes] = await Promise.all([
      sumOfKeys(this.#store('texts').index('bytes')),
      sumOfKeys(this.#store('indexes').index('bytes')),
    ]);
    return texts + indexes;
  }

  #store(name: string): IDBObjectStore {
    return this.#database.transaction(name).objectStore(name);
  }
}

function openSearchDatabase(): Promise<IDBDatabase> {
  return openDatabase('kinglet search', 1, (database) => {
    const texts = database.createObjectStore('texts', { keyPath: 'checksum' });
    const indexes = database.createObjectStore('indexes', { keyPath: ['model', 'checksum'] });
    indexes.createIndex('checksum', 'checksum');
    for (const store of [texts, indexes]) store.createIndex('bytes', 'bytes');
  });
}
