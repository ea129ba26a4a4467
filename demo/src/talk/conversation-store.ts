// Stores conversations in the page's storage (IndexedDB), if the browser allows it.
import type { Picture } from '../pictures/picture.ts';
import { completion, openDatabase, result } from '../storage/database.ts';

/** `chat`: messages, formatted by the file's chat template; `write`: plain text to continue. */
export type Mode = 'chat' | 'write';

export interface ConversationRecord {
  id: string;
  /**
   * A new one for each change of the exchanges, by which a tab notices that another tab has changed
   * them. Undefined in records from before there were revisions.
   */
  revision?: string | undefined;
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
  get(id: string): Promise<ConversationRecord | undefined>;
  /**
   * Stores what `change` makes of the stored record, which is undefined if there is none; removes
   * the record if that is nothing. No tab can change the record in between.
   */
  update<Result extends ConversationRecord | undefined>(
    id: string,
    change: Change<Result>,
  ): Promise<Update<Result>>;
}

export type Change<Result> = (stored: ConversationRecord | undefined) => Result;

export interface Update<Result> {
  before: ConversationRecord | undefined;
  after: Result;
}

/** Opens the page's storage, or a store in memory if the browser refuses storage. */
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

export class MemoryStore implements ConversationStore {
  readonly isKept = false;
  readonly #records = new Map<string, ConversationRecord>();

  all(): Promise<ConversationRecord[]> {
    return Promise.resolve([...this.#records.values()]);
  }

  get(id: string): Promise<ConversationRecord | undefined> {
    return Promise.resolve(this.#records.get(id));
  }

  update<Result extends ConversationRecord | undefined>(
    id: string,
    change: Change<Result>,
  ): Promise<Update<Result>> {
    const before = this.#records.get(id);
    const after = change(before);
    if (after) this.#records.set(after.id, after);
    else this.#records.delete(id);
    return Promise.resolve({ before, after });
  }
}

class DatabaseStore implements ConversationStore {
  readonly isKept = true;
  readonly #database: IDBDatabase;

  constructor(database: IDBDatabase) {
    this.#database = database;
  }

  all(): Promise<ConversationRecord[]> {
    return result(this.#store().getAll() as IDBRequest<ConversationRecord[]>);
  }

  get(id: string): Promise<ConversationRecord | undefined> {
    return result(this.#store().get(id) as IDBRequest<ConversationRecord | undefined>);
  }

  async update<Result extends ConversationRecord | undefined>(
    id: string,
    change: Change<Result>,
  ): Promise<Update<Result>> {
    const transaction = this.#database.transaction(storeName, 'readwrite');
    const store = transaction.objectStore(storeName);
    const before = await result(store.get(id) as IDBRequest<ConversationRecord | undefined>);
    const after = change(before);
    if (after) store.put(after);
    else store.delete(id);
    await completion(transaction);
    return { before, after };
  }

  #store(): IDBObjectStore {
    return this.#database.transaction(storeName).objectStore(storeName);
  }
}
