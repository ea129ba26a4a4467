// What all kinds of cache have in common: entries of numbered blocks, each with its checksum.
import type { FileVersion } from '../file-version.ts';

export const blockBytes = 1 << 20;

/** Describes an entry. */
export interface CacheHead {
  url: string;
  version: FileVersion;
  /** The size of a complete file; undefined while bytes are missing. */
  bytes: number | undefined;
  /** Whether the file is one of several of a model; undefined if that is not known. */
  isPart?: boolean | undefined;
  /** Milliseconds since 1970. */
  savedAt: number;
}

export interface CacheEntryInfo {
  head: CacheHead;
  /**
   * Whole blocks without a gap from the first on. A complete file may have one more, shorter block.
   */
  nBlocks: number;
  /** Bytes of storage that the entry takes. */
  storedBytes: number;
}

/** An open entry. */
export interface BlockReader {
  /**
   * Returns the block's bytes, which are valid until the next read; undefined if the block is
   * missing or differs from its checksum.
   */
  read(index: number): Promise<Uint8Array | undefined>;
  close(): void;
}

/** A complete entry that is read synchronously, at any place. */
export interface PlaceReader {
  /** Fills the target from byte `at` of the file on. Returns the number of bytes read. */
  read(target: Uint8Array, at: number): number;
  close(): void;
}

/** The only writer of its entry. */
export interface BlockWriter extends BlockReader {
  /** Blocks are written in order. `bytes` must begin at a multiple of four in their buffer. */
  write(index: number, bytes: Uint8Array): Promise<void>;
  /** Earlier writes become durable before the head does. */
  writeHead(head: CacheHead): Promise<void>;
}

/** Thrown if the storage is full. */
export class NoRoom extends Error {
  constructor() {
    super('there is not enough room for it');
  }
}

/** A kind of storage. Its functions throw the platform's own errors. */
export interface CacheStore {
  names(): Promise<string[]>;
  /** Returns undefined if there is no such entry, or it cannot be read. */
  peek(name: string): Promise<CacheEntryInfo | undefined>;
  openReader(name: string): Promise<BlockReader>;
  /** Missing in stores that cannot be read synchronously. */
  openPlaces?(name: string): Promise<PlaceReader>;
  /** Keeps only the first `nBlocks` blocks of the entry. */
  openWriter(name: string, nBlocks: number): Promise<BlockWriter>;
  /** Does nothing if there is no such entry. */
  remove(name: string): Promise<void>;
  /** Lets only one writer use a file. Returns the release function; undefined if another writes. */
  lock(key: string): Promise<(() => void) | undefined>;
  /** Returns how many bytes can still be written; undefined if that is not known. */
  room(): Promise<number | undefined>;
}

/** The addresses of kept states of prompts begin with this. */
export const promptScheme = 'kprompt:';

export function isPrompt(url: string): boolean {
  return url.startsWith(promptScheme);
}

/**
 * Returns the names of a file's two entries: while one holds the complete file, a newer version is
 * written to the other.
 */
export async function slotNames(url: string): Promise<[string, string]> {
  const key = await keyOf(url);
  return [`${key}.a`, `${key}.b`];
}

export async function keyOf(url: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(url));
  return Array.from(new Uint8Array(digest, 0, 16), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

/** Parses a head; returns undefined for anything else. */
export function parseHead(text: string): CacheHead | undefined {
  try {
    const head = JSON.parse(text) as Partial<CacheHead> | null;
    return typeof head?.url === 'string' && typeof head.savedAt === 'number' && head.version
      ? (head as CacheHead)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Takes a lock that has one owner among all tabs. Waits only for a moment. Without Web Locks,
 * nobody becomes the owner, because two tabs would mix their blocks; all browsers that run the
 * engine have them.
 */
export async function webLock(name: string): Promise<(() => void) | undefined> {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return undefined;
  const releaseMs = 1000; // a closed tab releases its locks late
  return new Promise((resolve) => {
    const hold = () =>
      new Promise<void>((release) => {
        resolve(release);
      });
    locks.request(name, { signal: AbortSignal.timeout(releaseMs) }, hold).catch(() => {
      resolve(undefined);
    });
  });
}

/** Returns how many bytes can still be stored; undefined if the browser does not say. */
export async function storageRoom(): Promise<number | undefined> {
  const { storage } = navigator as { storage?: StorageManager };
  const { quota, usage } = (await storage?.estimate()) ?? {};
  return quota === undefined ? undefined : quota - (usage ?? 0);
}
