// Downloads files from a web server through the cache.
import { openStore } from '../cache/model-cache.ts';
import type { CacheHead, CacheStore } from '../cache/store.ts';
import { blockBytes, keyOf, NoRoom, slotNames } from '../cache/store.ts';
import { KingletError, messageOf } from '../errors.ts';
import { isSameVersion } from '../file-version.ts';
import type { ByteSource, SourcePiece, Stored } from './byte-source.ts';
import { plainSource } from './byte-source.ts';
import { Download, StaleBytes } from './download.ts';
import type { RequestOptions } from './http.ts';
import { KeptFile } from './kept-file.ts';
import { storedFile } from './stored-file.ts';

/** If the cache has a complete copy, the server has this long to report a newer version. */
const answerTimeoutMs = 5000;

export interface CacheOptions {
  /** Only for Node; undefined for the default folder. */
  folder: string | undefined;
  onWarning: (warning: KingletError) => void;
}

/** The cache, as one load uses it. */
export class FileCache {
  readonly #store: CacheStore;
  readonly #warn: (warning: KingletError) => void;

  private constructor(store: CacheStore, warn: (warning: KingletError) => void) {
    this.#store = store;
    this.#warn = warn;
  }

  /** Returns undefined, and warns, if there is no storage. */
  static async open({ folder, onWarning }: CacheOptions): Promise<FileCache | undefined> {
    try {
      const store = await openStore(folder);
      if (store) return new FileCache(store, onWarning);
      onWarning(new KingletError('cache_unavailable', 'this browser offers no storage here'));
    } catch (error) {
      onWarning(new KingletError('cache_unavailable', `no cache: ${messageOf(error)}`));
    }
    return undefined;
  }

  /** Returns the addresses and sizes of all files that are complete in the cache. */
  async kept(): Promise<{ url: string; bytes: number }[]> {
    const names = await this.#store.names();
    const entries = await Promise.all(names.map((name) => this.#store.peek(name)));
    return entries.flatMap((entry) => {
      const { url = '', bytes } = entry?.head ?? {};
      return bytes === undefined ? [] : [{ url, bytes }];
    });
  }

  /** Opens the complete copy of a file; undefined if there is none. */
  async openKept(url: string): Promise<ByteSource | undefined> {
    const { whole } = await this.#find(url);
    return whole && this.#readWhole(whole.name, whole.head);
  }

  /** Stores a file that was not downloaded. Does nothing while another tab does the same. */
  async put(url: string, bytes: Uint8Array): Promise<void> {
    const release = await this.#lock(url);
    if (!release) return;
    try {
      const room = await this.#store.room();
      if (room !== undefined && bytes.length > room) throw new NoRoom();
      const { whole, free } = await this.#find(url);
      const version = { etag: undefined, lastModified: undefined, size: bytes.length };
      const head = { url, version, bytes: undefined, savedAt: Date.now() };
      const entry = await this.#store.openWriter(free, 0);
      try {
        await entry.writeHead(head);
        for (let at = 0; at < bytes.length; at += blockBytes) {
          await entry.write(at / blockBytes, bytes.subarray(at, at + blockBytes));
        }
        await entry.writeHead({ ...head, bytes: bytes.length });
      } finally {
        entry.close();
      }
      if (whole) await this.#store.remove(whole.name).catch(() => undefined);
    } finally {
      release();
    }
  }

  async remove(url: string): Promise<void> {
    for (const name of await slotNames(url)) await this.#store.remove(name);
  }

  /** Returns the size of a complete copy; undefined if there is none. */
  async sizeOf(url: string): Promise<number | undefined> {
    return (await this.#find(url)).whole?.head.bytes;
  }

  /**
   * Opens the cached copy, unless the server has another version. Otherwise opens a download that
   * is cached. It continues an interrupted one if possible.
   */
  async openUrl(url: string, request: RequestOptions): Promise<ByteSource> {
    const release = await this.#lock(url);
    try {
      const { whole, rest, free } = await this.#find(url);
      let download: Download | undefined;
      if (whole) {
        download = await newerVersion(url, request, whole.head);
        if (!download) {
          release?.();
          return this.#readWhole(whole.name, whole.head);
        }
      }
      if (!release) {
        const why =
          'another tab is downloading the same file, or this browser has no locks to prevent that';
        this.#warn(new KingletError('cache_unavailable', why));
        return plainSource(download ?? (await Download.open(url, request)));
      }
      const { head, nBlocks = 0 } = rest ?? {};
      if (head && (!download || isSameVersion(download.version, head.version))) {
        download?.cancel();
        const bytes = nBlocks * blockBytes;
        const part = { bytes, version: head.version };
        download = await Download.open(url, request, { part });
      }
      download ??= await Download.open(url, request);
      return await this.#keep(url, download, rest?.name ?? free, release);
    } catch (error) {
      release?.();
      throw error;
    }
  }

  async #lock(url: string): Promise<(() => void) | undefined> {
    try {
      return await this.#store.lock(await keyOf(url));
    } catch {
      return undefined;
    }
  }

  /** Finds the newest complete copy, an incomplete one, and the name of an entry to write to. */
  async #find(url: string) {
    const names = await slotNames(url);
    const entries = [];
    for (const name of names) {
      const info = await this.#store.peek(name);
      if (info?.head.url === url) entries.push({ name, ...info });
    }
    const [whole] = entries
      .filter(({ head }) => head.bytes !== undefined)
      .sort((a, b) => b.head.savedAt - a.head.savedAt);
    const rest = entries.find(({ head }) => head.bytes === undefined);
    const free = whole?.name === names[0] ? names[1] : names[0];
    return { whole, rest, free };
  }

  #readWhole(name: string, { bytes: size = 0, url }: CacheHead): ByteSource {
    const store = this.#store;
    const warn = this.#warn;
    let at = 0;
    async function* pieces(): AsyncGenerator<SourcePiece> {
      try {
        const reader = await store.openReader(name);
        try {
          while (at < size) {
            const index = Math.floor(at / blockBytes);
            const start = index * blockBytes;
            const bytes = await reader.read(index);
            if (bytes?.length !== Math.min(blockBytes, size - start)) {
              throw new Error(`it is damaged at byte ${String(start)}`);
            }
            const left = bytes.subarray(at - start);
            at = start + bytes.length;
            yield { bytes: left, phase: 'cache' };
          }
        } finally {
          reader.close();
        }
      } catch (error) {
        const message = `the cached copy of ${url} is downloaded again: ${messageOf(error)}`;
        warn(new KingletError('cache_corrupt', message));
        await store.remove(name).catch(() => undefined);
        throw new StaleBytes(message);
      }
    }
    const skip = (bytes: number) => {
      at += bytes;
    };
    const stored = this.#stored(name, () => true);
    return { size, pieces: pieces(), end: () => Promise.resolve(), skip, stored };
  }

  /** Returns undefined if the store cannot be read synchronously. */
  #stored(name: string, isKept: () => boolean): Stored | undefined {
    const store = this.#store;
    if (!store.openPlaces) return undefined;
    const open = async () => {
      const places = await store.openPlaces?.(name);
      if (!places) throw new Error('it is not in the cache');
      return storedFile(
        (target, at) => places.read(target, at),
        () => {
          places.close();
        },
      );
    };
    return { isKept, open };
  }

  /** Reads the blocks before the download's beginning from the cache, and caches what arrives. */
  async #keep(
    url: string,
    download: Download,
    name: string,
    release: () => void,
  ): Promise<ByteSource> {
    const kept = new KeptFile(this.#store, url, download, name, release, this.#warn);
    const { size = 0 } = download.version;
    const hasRest = await kept.open();
    if (!hasRest) throw new StaleBytes('the part of the file that was there cannot be read');
    const stored = this.#stored(name, () => kept.isKept);
    return { size, pieces: kept.pieces(), end: (...how) => kept.end(...how), stored };
  }
}

/** Opens the download of another version than the copy's; undefined if the server has none. */
async function newerVersion(
  url: string,
  request: RequestOptions,
  { version }: CacheHead,
): Promise<Download | undefined> {
  try {
    const answerTimeout = Math.min(answerTimeoutMs, request.stallTimeout);
    const download = await Download.open(url, request, { answerTimeout });
    if (!isSameVersion(download.version, version)) return download;
    download.cancel();
    return undefined;
  } catch {
    return undefined; // without the server, the copy is used
  }
}
