// The cache as its users see it.
import { KingletError, messageOf } from '../errors.ts';
import { isNode } from '../runtime.ts';
import { sourceUrls } from '../source.ts';
import type { HubOptions } from '../types.ts';
import { CacheApiStore } from './cache-api-store.ts';
import { FolderStore } from './folder-store.ts';
import { OpfsStore } from './opfs-store.ts';
import type { CacheStore } from './store.ts';
import { slotNames } from './store.ts';

/** A file of a model, as it lies in the cache. */
export interface CachedFile {
  /** Where it was downloaded from. */
  url: string;
  /** Bytes of storage that it takes. */
  bytes: number;
  /** False for the beginning of a download that was interrupted: loading it again goes on there. */
  isComplete: boolean;
  savedAt: Date;
}

/**
 * The files that {@link Kinglet.load} has kept, one for each part of a split model. In Node the
 * cache is a folder: the one that is given, or that load() takes where its option names none.
 */
export class ModelCache {
  readonly #folder: string | undefined;

  constructor(folder?: string) {
    if (folder !== undefined && (!isNode || folder === '')) {
      throw new KingletError('invalid_argument', 'the cache is a folder in Node, and only there');
    }
    this.#folder = folder;
  }

  /** The newest first. */
  async list(): Promise<CachedFile[]> {
    const files: CachedFile[] = [];
    for (const store of await this.#stores()) {
      for (const name of await store.names()) {
        const entry = await store.peek(name);
        if (!entry) continue;
        const { url, bytes, savedAt } = entry.head;
        files.push({
          ...{ url, bytes: entry.storedBytes, savedAt: new Date(savedAt) },
          isComplete: bytes !== undefined,
        });
      }
    }
    return files.sort((a, b) => b.savedAt.getTime() - a.savedAt.getTime());
  }

  /** Bytes of storage that all files take, interrupted downloads included. */
  async size(): Promise<number> {
    return (await this.list()).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Deletes a model, given as to {@link Kinglet.load}: of a split one all parts. Nothing happens
   * where it is not there.
   *
   * @throws {@link KingletError} `cache_unavailable` while it is being downloaded or read.
   */
  async delete(source: string | URL, options: HubOptions = {}): Promise<void> {
    const urls = sourceUrls(source, options);
    for (const store of await this.#stores()) {
      const names = await Promise.all(urls.map(slotNames));
      for (const name of names.flat()) await remove(store, name);
    }
  }

  /** Deletes everything. */
  async clear(): Promise<void> {
    for (const store of await this.#stores()) {
      for (const name of await store.names()) await remove(store, name);
    }
  }

  async #stores(): Promise<CacheStore[]> {
    if (isNode) return [await FolderStore.open(this.#folder)];
    const stores = await Promise.all([OpfsStore.open(), CacheApiStore.open()]);
    return stores.filter((store) => store !== undefined);
  }
}

/** Where a worker keeps what it downloads: the best that there is. The folder is Node's. */
export async function openStore(folder: string | undefined): Promise<CacheStore | undefined> {
  if (isNode) return FolderStore.open(folder);
  // Without these handles, which only workers have, the file system could not be written to.
  const hasHandles =
    typeof FileSystemFileHandle === 'function' &&
    'createSyncAccessHandle' in FileSystemFileHandle.prototype;
  const store = hasHandles ? await OpfsStore.open() : undefined;
  return store ?? CacheApiStore.open();
}

/** How long a file may still be held by what has just been disposed of or closed, in ms. */
const releaseWaits = [20, 50, 100, 200, 400];

async function remove(store: CacheStore, name: string): Promise<void> {
  for (const wait of [...releaseWaits, undefined]) {
    try {
      await store.remove(name);
      return;
    } catch (error) {
      if (wait === undefined) {
        throw new KingletError('cache_unavailable', `the file is in use: ${messageOf(error)}`);
      }
      // A worker lets go of its files a moment after it was told to end.
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
