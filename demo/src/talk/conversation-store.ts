// Stores conversations in the page's storage (IndexedDB), if the browser allows it.
import type { Picture } from '../pictures/picture.ts';
import { openDatabase, result, write } from '../storage/database.ts';

/** `chat`: messages, formatted by the file's chat template; `write`: plain text to continue. */
export type Mode = 'chat' | 'write';

export interface ConversationRecord {
  id: string;
  title: string;
  /** Milliseconds since 1970. */
  changedAt: number;
  /** The name of the model that answered last. */
  model: string;
  exchanges: readonly ExchangeRecord[];
}

/** A prompt and its answer, without tokens and speeds. */
export interface ExchangeRecord {
  mode: Mode;
  prompt: string;
  /** The prompt's pictures; undefined in records from before the page accepted pictures. */
  pictures?: readonly Picture[] | undefined;
  /** What the model thought before it answered; empty if it did not think. */
  reasoning: string;
  text: string;
}

export interface ConversationStore {
  /** Whether the records will still exist at the next visit. */
  readonly isKept: boolean;
  all(): Promise<ConversationRecord[]>;
  put(record: ConversationRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Opens the page's storage, or a store that keeps nothing if the browser refuses storage. */
export async function openConversationStore(): Promise<ConversationStore> {
  try {
    const database = await openDatabase('kinglet conversations', 1, (created) => {
      created.createObjectStore(storeName, { keyPath: 'id' });
    });
    return new DatabaseStore(database);
  } catch {
    return new MemoryStore();
  }
}

const storeName = 'conversations';

class MemoryStore implements ConversationStore {
  readonly isKept = false;

  // The list that uses the store keeps all conversations in memory itself.
  all(): Promise<ConversationRecord[]> {
    return Promise.resolve([]);
  }

  put(): Promise<void> {
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }
}

class DatabaseStore implements ConversationStore {
  readonly isKept = true;
  readonly #database: IDBDatabase;

  constructor(database: IDBDatabase) {
    this.#database = database;
  }

  all(): Promise<ConversationRecord[]> {
    const store = this.#database.transaction(storeName).objectStore(storeName);
    return result(store.getAll() as IDBRequest<ConversationRecord[]>);
  }

  put(record: ConversationRecord): Promise<void> {
    return write(this.#database, [storeName], ([store]) => store?.put(record));
  }

  remove(id: string): Promise<void> {
    return write(this.#database, [storeName], ([store]) => store?.delete(id));
  }
}
