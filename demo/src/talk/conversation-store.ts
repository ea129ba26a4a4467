// Conversations in the page's storage (IndexedDB), or in memory where there is none.
import type { Picture } from '../pictures/picture.ts';
import { openDatabase, result, write } from '../storage/database.ts';

/** `chat`: messages under the file's template; `write`: plain text, to be gone on with. */
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

/** What was said, without its tokens and speeds. */
export interface ExchangeRecord {
  mode: Mode;
  prompt: string;
  /** Those that the prompt is about; undefined of what was kept before the page took any. */
  pictures?: readonly Picture[] | undefined;
  /** What the model thought before it answered; empty where it did not. */
  reasoning: string;
  text: string;
}

export interface ConversationStore {
  /** Whether what is put here is there at the next visit. */
  readonly isKept: boolean;
  all(): Promise<ConversationRecord[]>;
  put(record: ConversationRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The page's storage, or memory where the browser denies it. */
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

  // The list that uses the store has all of them.
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
