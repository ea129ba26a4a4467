// A file from a web server by way of the cache.
import { openStore } from '../cache/model-cache.ts';
import type { CacheHead, CacheStore } from '../cache/store.ts';
import { blockBytes, keyOf, slotNames } from '../cache/store.ts';
import { KingletError, messageOf } from '../errors.ts';
import { isSameVersion } from '../file-version.ts';
import type { ByteSource, SourcePiece, Stored } from './byte-source.ts';
import { plainSource } from './byte-source.ts';
import { Download, StaleBytes } from './download.ts';
import type { RequestOptions } from './http.ts';
import { KeptFile } from './kept-file.ts';
import { storedFile } from './stored-file.ts';

/** Where there is a whole copy, the server has this long to say that it has a newer one. */
const patienceMs = 5000;

export interface CacheOptions {
  /** Node's; undefined for the user's own. */
  folder: string | undefined;
  onWarning: (warning: KingletError) => void;
}

/** The files of one load. */
export class FileCache {
  readonly #store: CacheStore;
  readonly #warn: (warning: KingletError) => void;

  private constructor(store: CacheStore, warn: (warning: KingletError) => void) {
    this.#store = store;
    this.#warn = warn;
  }

  /** Undefined, and a warning, where there is no storage. */
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

  /** Where whole copies came from. */
  async keptUrls(): Promise<string[]> {
    const names = await this.#store.names();
    const entries = await Promise.all(names.map((name) => this.#store.peek(name)));
    return entries.flatMap((entry) => (entry?.head.bytes === undefined ? [] : [entry.head.url]));
  }

  /** The bytes of a whole copy; undefined where there is none. */
  async sizeOf(url: string): Promise<number | undefined> {
    return (await this.#find(url)).whole?.head.bytes;
  }

  /**
   * The cached copy, unless the server shows another version; else a download that is kept, after
   * what an earlier one has left.
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
        const why = 'another tab is downloading the same file, or there are no locks against that';
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

  /** The newest whole copy, the beginning of another one, and the name of an entry to write to. */
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
        const message = `the cached copy of ${url} is downloaded anew: ${messageOf(error)}`;
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

  /** Undefined in a store that cannot be read at once. */
  #stored(name: string, isKept: () => boolean): Stored | undefined {
    const store = this.#store;
    if (!store.openPlaces) return undefined;
    const open = async () => {
      const places = await store.openPlaces?.(name);
      if (!places) throw new Error('there is no such entry');
      return storedFile(
        (target, at) => places.read(target, at),
        () => {
          places.close();
        },
      );
    };
    return { isKept, open };
  }

  /** Begins with the blocks that the download leaves out, and writes what it brings. */
  async #keep(
    url: string,
    download: Download,
    name: string,
    release: () => void,
  ): Promise<ByteSource> {
    const kept = new KeptFile(this.#store, url, download, name, release, this.#warn);
    const { size = 0 } = download.version;
    const hasRest = await kept.open();
    if (!hasRest) throw new StaleBytes('what was there of the file cannot be read');
    const stored = this.#stored(name, () => kept.isKept);
    return { size, pieces: kept.pieces(), end: (outcome) => kept.end(outcome), stored };
  }
}

/** The download of a version that differs from the copy's; undefined where there is none to be had. */
async function newerVersion(
  url: string,
  request: RequestOptions,
  { version }: CacheHead,
): Promise<Download | undefined> {
  try {
    const answerTimeout = Math.min(patienceMs, request.stallTimeout);
    const download = await Download.open(url, request, { answerTimeout });
    if (!isSameVersion(download.version, version)) return download;
    download.cancel();
    return undefined;
  } catch {
    return undefined; // the copy is there for when the server is not
  }
}
