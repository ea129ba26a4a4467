// Where the documents of an index are stored: in IndexedDB, in a folder (Node), or only in memory.
import { KingletError, messageOf } from '../errors.ts';
import { usersFolder } from '../cache/folder-store.ts';
import { randomDigits } from '../random-digits.ts';
import { importNode, isNode } from '../runtime.ts';
import type { SearchIndexOptions } from './types.ts';

export interface RecordChange {
  key: string;
  isRemoved: boolean;
}

/** Records of an index by their keys. Each is written whole or not at all. */
export interface DocumentStore {
  /** Whether the records will still exist at the next visit. */
  readonly isKept: boolean;
  /** Whether put() stores anything. */
  readonly isWritable: boolean;
  /** Called when another tab, or in Node this program, has written or removed a record elsewhere. */
  onChange: (change: RecordChange) => void;
  keys(): Promise<string[]>;
  get(key: string): Promise<Uint8Array | undefined>;
  put(key: string, record: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  close(): void;
}

type StoreOptions = Pick<SearchIndexOptions, 'keep' | 'folder' | 'onWarning' | 'model'>;

/** Where there is no storage, this warns, and what is put lasts until the store is closed. */
export async function openStore(
  name: string,
  { keep = true, folder, onWarning, model }: StoreOptions,
): Promise<DocumentStore> {
  const inMemory = () => new MemoryStore(model.info.runtime.shared !== undefined);
  if (!keep) return inMemory();
  try {
    return await openKeptStore(name, folder);
  } catch (error) {
    onWarning?.(`the index is not kept: ${messageOf(error)}`);
    return inMemory();
  }
}

/** @throws KingletError: `cache_unavailable` where there is no storage. */
export async function openKeptStore(
  name: string,
  folder: string | undefined,
): Promise<DocumentStore> {
  try {
    return isNode ? await FolderStore.open(name, folder) : await DatabaseStore.open(name);
  } catch (error) {
    throw failed(error);
  }
}

/** Keeps nothing, unless the model is shared: then its worker may end, and the page goes on. */
class MemoryStore implements DocumentStore {
  readonly isKept = false;
  readonly isWritable: boolean;
  onChange = () => undefined;
  readonly #records = new Map<string, Uint8Array>();

  constructor(isShared: boolean) {
    this.isWritable = isShared;
  }
  keys(): Promise<string[]> {
    return Promise.resolve([...this.#records.keys()]);
  }
  get(key: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#records.get(key));
  }
  put(key: string, record: Uint8Array): Promise<void> {
    this.#records.set(key, record);
    return Promise.resolve();
  }
  remove(key: string): Promise<void> {
    this.#records.delete(key);
    return Promise.resolve();
  }
  close(): void {
    this.#records.clear();
  }
}

/** Connects the stores of an index: of an origin's tabs, and in Node of one program. */
function channelOf(store: DocumentStore, index: string): BroadcastChannel {
  const channel = new BroadcastChannel(`kinglet search index ${index}`);
  channel.onmessage = ({ data }: MessageEvent<RecordChange>) => {
    store.onChange(data);
  };
  // Only Node has this: an open index should not keep a program from ending.
  (channel as { unref?: () => void }).unref?.();
  return channel;
}

/**
 * Returns a name for an index's folder that all systems allow and that stays in the folder around
 * it: "." and ".." do not.
 */
function fileNameOf(name: string): string {
  const hex = (text: string) =>
    Array.from(text, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
  return name.replace(/^\.+|[. ]+$|[%/\\:*?"<>|\p{Cc}]/gu, hex);
}

/** Each document is a file, KEY.kpassages; `kinglet index` writes the same. */
class FolderStore implements DocumentStore {
  readonly isKept = true;
  readonly isWritable = true;
  onChange: (change: RecordChange) => void = () => undefined;
  readonly #fs: typeof import('node:fs/promises');
  readonly #folder: string;
  readonly #channel: BroadcastChannel;

  private constructor(fs: typeof import('node:fs/promises'), folder: string) {
    this.#fs = fs;
    this.#folder = folder;
    this.#channel = channelOf(this, folder);
  }

  static async open(name: string, folder: string | undefined): Promise<FolderStore> {
    const fs = await importNode('fs/promises');
    const path = `${folder ?? `${await usersFolder()}/search`}/${fileNameOf(name)}`;
    await fs.mkdir(path, { recursive: true });
    return new FolderStore(fs, await fs.realpath(path));
  }

  async keys(): Promise<string[]> {
    const files = await this.#fs.readdir(this.#folder);
    return files.flatMap((file) => /^([0-9a-f]{16})\.kpassages$/.exec(file)?.[1] ?? []).sort();
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.#fs.readFile(this.#path(key)).catch((error: unknown) => {
      if ((error as { code?: string }).code === 'ENOENT') return undefined;
      throw error;
    });
  }

  async put(key: string, record: Uint8Array): Promise<void> {
    const path = this.#path(key);
    const part = `${path}.${String(process.pid)}-${randomDigits(4)}.part`;
    try {
      await this.#fs.writeFile(part, record, { flush: true });
      await this.#fs.rename(part, path);
    } catch (error) {
      await this.#fs.rm(part, { force: true });
      throw failed(error);
    }
    this.#channel.postMessage({ key, isRemoved: false });
  }

  async remove(key: string): Promise<void> {
    await this.#fs.rm(this.#path(key), { force: true }).catch((error: unknown) => {
      throw failed(error);
    });
    this.#channel.postMessage({ key, isRemoved: true });
  }

  close(): void {
    this.#channel.close();
  }

  #path(key: string): string {
    return `${this.#folder}/${key}.kpassages`;
  }
}

const table = 'documents';

class DatabaseStore implements DocumentStore {
  readonly isKept = true;
  readonly isWritable = true;
  onChange: (change: RecordChange) => void = () => undefined;
  readonly #name: string;
  readonly #database: IDBDatabase;
  readonly #channel: BroadcastChannel;

  private constructor(name: string, database: IDBDatabase) {
    this.#name = name;
    this.#database = database;
    this.#channel = channelOf(this, name);
  }

  static async open(name: string): Promise<DatabaseStore> {
    const request = indexedDB.open('kinglet search index', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    return new DatabaseStore(name, await resultOf(request));
  }

  async keys(): Promise<string[]> {
    const all = IDBKeyRange.bound([this.#name], [this.#name, []]);
    const keys = await resultOf(this.#records('readonly').getAllKeys(all));
    return keys.map((key) => (key as [string, string])[1]);
  }

  get(key: string): Promise<Uint8Array | undefined> {
    const request = this.#records('readonly').get([this.#name, key]);
    return resultOf(request as IDBRequest<Uint8Array | undefined>);
  }

  async put(key: string, record: Uint8Array): Promise<void> {
    await this.#write((records) => records.put(record, [this.#name, key]));
    this.#channel.postMessage({ key, isRemoved: false });
  }

  async remove(key: string): Promise<void> {
    await this.#write((records) => records.delete([this.#name, key]));
    this.#channel.postMessage({ key, isRemoved: true });
  }

  close(): void {
    this.#channel.close();
    this.#database.close();
  }

  #records(mode: IDBTransactionMode): IDBObjectStore {
    return this.#database.transaction(table, mode).objectStore(table);
  }

  /** Resolves when the change is saved: a full disk is reported only then. */
  #write(change: (records: IDBObjectStore) => unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const records = this.#records('readwrite');
      records.transaction.oncomplete = () => {
        resolve();
      };
      records.transaction.onabort = () => {
        reject(failed(records.transaction.error));
      };
      change(records);
    });
  }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(failed(request.error));
    };
  });
}

function failed(error: unknown): KingletError {
  if (error instanceof KingletError) return error;
  const { name = '', code = '' } = (error ?? {}) as { name?: string; code?: string };
  const isFull = name === 'QuotaExceededError' || code === 'ENOSPC';
  return new KingletError(
    isFull ? 'cache_full' : 'cache_unavailable',
    `the storage of the search index failed: ${messageOf(error)}`,
  );
}
