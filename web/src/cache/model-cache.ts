// The cache's public interface.
import { KingletError, messageOf } from '../errors.ts';
import { checkedFolder } from '../options.ts';
import { isNode } from '../runtime.ts';
import { sourceUrl } from '../source.ts';
import { splitPaths } from '../split.ts';
import type { HubOptions } from '../types.ts';
import { CacheApiStore } from './cache-api-store.ts';
import { FolderStore } from './folder-store.ts';
import { OpfsStore } from './opfs-store.ts';
import type { CacheStore } from './store.ts';
import { isPrompt, slotNames } from './store.ts';

/** A model's file in the cache. */
export interface CachedFile {
  /** Where it was downloaded from. */
  url: string;
  /** Bytes of storage that the file takes. */
  bytes: number;
  /** False if the download was interrupted: the next load resumes it. */
  isComplete: boolean;
  savedAt: Date;
}

/**
 * The files that {@link Kinglet.load} has cached, one for each part of a split model. In Node the
 * cache is a folder: the given one, or load()'s default.
 */
export class ModelCache {
  readonly #folder: string | undefined;

  constructor(folder?: string) {
    if (folder !== undefined && !isNode) {
      throw new KingletError(
        'invalid_argument',
        'a folder for the cache can be chosen only in Node',
      );
    }
    this.#folder = checkedFolder(folder);
  }

  /** Returns the cached files, the newest first. */
  async list(): Promise<CachedFile[]> {
    const files: CachedFile[] = [];
    for (const store of await this.#stores()) {
      for (const name of await store.names()) {
        const entry = await store.peek(name);
        if (!entry || isPrompt(entry.head.url)) continue;
        const { url, bytes, savedAt } = entry.head;
        files.push({
          ...{ url, bytes: entry.storedBytes, savedAt: new Date(savedAt) },
          isComplete: bytes !== undefined,
        });
      }
    }
    return files.sort((a, b) => b.savedAt.getTime() - a.savedAt.getTime());
  }

  /** Returns the bytes of storage that all files take, including interrupted downloads. */
  async size(): Promise<number> {
    return (await this.list()).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Deletes a model with all its parts, given by the same source as for {@link Kinglet.load}. Does
   * nothing if the model is not in the cache.
   *
   * @throws {@link KingletError} `cache_unavailable` while a file is being downloaded or read.
   */
  async delete(source: string | URL, options: HubOptions = {}): Promise<void> {
    const urls = await this.#partsOf(sourceUrl(source, options));
    for (const store of await this.#stores()) {
      const names = await Promise.all(urls.map(slotNames));
      for (const name of names.flat()) await remove(store, name);
    }
  }

  /** Deletes all files in the cache, and the kept states of prompts. */
  async clear(): Promise<void> {
    for (const store of await this.#stores()) {
      for (const name of await store.names()) await remove(store, name);
    }
  }

  /** @internal Returns whether the cache has all files of the model. */
  async holds(url: string): Promise<boolean> {
    const files = await this.list();
    const complete = new Set(files.filter(({ isComplete }) => isComplete).map((file) => file.url));
    return (await this.#partsOf(url)).every((part) => complete.has(part));
  }

  /** A file that was loaded knows whether it is a part. For others, the name decides. */
  async #partsOf(url: string): Promise<string[]> {
    const parts = splitPaths(url);
    if (parts.length === 1) return parts;
    for (const store of await this.#stores()) {
      for (const name of await slotNames(url)) {
        const entry = await store.peek(name);
        if (entry?.head.isPart === false) return [url];
      }
    }
    return parts;
  }

  async #stores(): Promise<CacheStore[]> {
    if (isNode) return [await FolderStore.open(this.#folder)];
    const stores = await Promise.all([OpfsStore.open(), CacheApiStore.open()]);
    return stores.filter((store) => store !== undefined);
  }
}

/** Opens the best store available for a worker's downloads. `folder` is only for Node. */
export async function openStore(folder: string | undefined): Promise<CacheStore | undefined> {
  if (isNode) return FolderStore.open(folder);
  // Writing to the file system needs these handles, which only workers have.
  const hasHandles =
    typeof FileSystemFileHandle === 'function' &&
    'createSyncAccessHandle' in FileSystemFileHandle.prototype;
  const store = hasHandles ? await OpfsStore.open() : undefined;
  return store ?? CacheApiStore.open();
}

/** The waits in ms between attempts to remove a file that a closing worker may still hold. */
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
      // A worker releases its files a moment after it is ended.
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
