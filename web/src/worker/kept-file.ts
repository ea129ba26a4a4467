// Writes a download to the cache while it arrives.
import type { BlockWriter, CacheHead, CacheStore } from '../cache/store.ts';
import { blockBytes, NoRoom, slotNames } from '../cache/store.ts';
import { KingletError, messageOf } from '../errors.ts';
import type { Outcome, SourcePiece } from './byte-source.ts';
import type { Download } from './download.ts';
import { StaleBytes } from './download.ts';

/** A download that is cached if possible. If writing fails, it continues without the cache. */
export class KeptFile {
  readonly #store: CacheStore;
  readonly #url: string;
  readonly #download: Download;
  readonly #name: string;
  readonly #release: () => void;
  readonly #warn: (warning: KingletError) => void;
  /** Undefined if the download cannot be cached, or can no longer be. */
  #entry: BlockWriter | undefined;
  /** Collects the bytes of the next block. */
  readonly #block = new Uint8Array(blockBytes);
  #nBlocks: number;
  #filled = 0;

  constructor(
    store: CacheStore,
    url: string,
    download: Download,
    name: string,
    release: () => void,
    warn: (warning: KingletError) => void,
  ) {
    this.#store = store;
    this.#url = url;
    this.#download = download;
    this.#name = name;
    this.#release = release;
    this.#warn = warn;
    this.#nBlocks = download.offset / blockBytes;
  }

  /** False from the moment when writing to the cache fails. */
  get isKept(): boolean {
    return this.#entry !== undefined;
  }

  /** Opens the entry. Returns whether the bytes before the download's beginning are available. */
  async open(): Promise<boolean> {
    const { size } = this.#download.version;
    await this.#attempt(async () => {
      const room = await this.#store.room();
      const nMissing = (size ?? 0) - this.#download.offset;
      if (room !== undefined && nMissing > room) throw new NoRoom();
      this.#entry = await this.#store.openWriter(this.#name, this.#nBlocks);
      await this.#entry.writeHead(this.#head(undefined));
    });
    return this.#entry !== undefined || this.#nBlocks === 0;
  }

  async *pieces(): AsyncGenerator<SourcePiece, void, void> {
    for (let index = 0, n = this.#nBlocks; index < n; ++index) {
      const bytes = await this.#entry?.read(index);
      if (bytes?.length !== blockBytes) throw await this.#damaged(index);
      yield { bytes, phase: 'cache' };
    }
    for await (const bytes of this.#download.pieces()) {
      await this.#attempt(() => this.#append(bytes));
      yield { bytes, phase: 'download' };
    }
  }

  /** Marks the entry of a complete file as complete, and removes an entry of useless bytes. */
  async end(outcome: Outcome, isPart?: boolean): Promise<void> {
    this.#download.cancel();
    if (outcome === 'complete') {
      await this.#attempt(async () => {
        if (this.#filled > 0) await this.#flush();
        await this.#entry?.writeHead({ ...this.#head(this.#download.offset), isPart });
      });
    }
    this.#entry?.close();
    const isWorthless = outcome === 'useless' || (outcome === 'broken' && this.#nBlocks === 0);
    if (isWorthless) await this.#remove(this.#name);
    if (outcome === 'complete' && this.#entry) {
      const [a, b] = await slotNames(this.#url);
      await this.#remove(this.#name === a ? b : a); // the older copy
    }
    this.#release();
  }

  async #append(bytes: Uint8Array): Promise<void> {
    for (let taken = 0; taken < bytes.length && this.#entry;) {
      const part = bytes.subarray(taken, taken + blockBytes - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      taken += part.length;
      if (this.#filled === blockBytes) await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    await this.#entry?.write(this.#nBlocks, this.#block.subarray(0, this.#filled));
    this.#nBlocks += 1;
    this.#filled = 0;
  }

  #head(bytes: number | undefined): CacheHead {
    return { url: this.#url, version: this.#download.version, bytes, savedAt: Date.now() };
  }

  /** Runs an action. If it fails, warns and stops caching the file. */
  async #attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#warn(
        new KingletError(
          isFull(error) ? 'cache_full' : 'cache_unavailable',
          `${this.#url} is not cached, and will be downloaded again next time: ${messageOf(error)}`,
        ),
      );
      this.#entry?.close();
      this.#entry = undefined;
      await this.#remove(this.#name);
    }
  }

  /** Keeps the blocks before the damaged one: the next attempt continues there. */
  async #damaged(index: number): Promise<StaleBytes> {
    const message = `block ${String(index)} of the cached part of ${this.#url} is damaged`;
    this.#warn(new KingletError('cache_corrupt', message));
    this.#entry?.close();
    this.#entry = undefined;
    try {
      (await this.#store.openWriter(this.#name, index)).close();
    } catch {
      await this.#remove(this.#name);
    }
    return new StaleBytes(message);
  }

  async #remove(name: string): Promise<void> {
    await this.#store.remove(name).catch(() => undefined);
  }
}

/** Recognizes full disks and exhausted quotas by their names in browsers and in Node. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return error instanceof NoRoom || error.name === 'QuotaExceededError' || code === 'ENOSPC';
}
