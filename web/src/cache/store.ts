// What the kinds of cache have in common: entries of numbered blocks, each with its checksum.
import type { FileVersion } from '../file-version.ts';

export const blockBytes = 1 << 20;

/** What an entry is. */
export interface CacheHead {
  url: string;
  version: FileVersion;
  /** Of a complete file its bytes; undefined while some are missing. */
  bytes: number | undefined;
  /** Milliseconds since 1970. */
  savedAt: number;
}

export interface CacheEntryInfo {
  head: CacheHead;
  /** Whole blocks that are there, in one run from the first; a complete file may have one more. */
  nBlocks: number;
  /** Bytes that the entry takes. */
  storedBytes: number;
}

/** An entry that is open. */
export interface BlockReader {
  /**
   * The block's bytes, valid until the next one is read; undefined where it is not there or differs
   * from its checksum.
   */
  read(index: number): Promise<Uint8Array | undefined>;
  close(): void;
}

/** A whole entry that is read at once, in places. */
export interface PlaceReader {
  /** Fills the target from byte `at` of the file on; the number of bytes that there were. */
  read(target: Uint8Array, at: number): number;
  close(): void;
}

/** Nobody else writes to the entry while it is open. */
export interface BlockWriter extends BlockReader {
  /** Blocks come in order. `bytes` begin at a multiple of four of their buffer. */
  write(index: number, bytes: Uint8Array): Promise<void>;
  /** What was written before is durable before the head is. */
  writeHead(head: CacheHead): Promise<void>;
}

/** Storage that is full. */
export class NoRoom extends Error {
  constructor() {
    super('there is no room for it');
  }
}

/** Its functions throw what the platform throws. */
export interface CacheStore {
  names(): Promise<string[]>;
  /** Undefined where there is no such entry, or nothing that can be read. */
  peek(name: string): Promise<CacheEntryInfo | undefined>;
  openReader(name: string): Promise<BlockReader>;
  /** Undefined in stores that cannot be read at once. */
  openPlaces?(name: string): Promise<PlaceReader>;
  /** Keeps the first `nBlocks` blocks of what is there. */
  openWriter(name: string, nBlocks: number): Promise<BlockWriter>;
  /** Does nothing where there is no such entry. */
  remove(name: string): Promise<void>;
  /** Calls for one writer at a time of a file; undefined where there is another. */
  lock(key: string): Promise<(() => void) | undefined>;
  /** Bytes that may still be written, where that can be told. */
  room(): Promise<number | undefined>;
}

/**
 * The names of a file's two entries: while one holds a complete file, its successor is written to
 * the other.
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

/** A head as JSON; undefined for anything else. */
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
 * One owner at a time among all tabs; waits for a moment only. Without Web Locks, which every
 * browser has that runs the engine, nobody is the owner: two tabs would mix their blocks.
 */
export async function webLock(name: string): Promise<(() => void) | undefined> {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return undefined;
  const patienceMs = 1000; // a tab that was closed gives its locks back late
  return new Promise((resolve) => {
    const hold = () =>
      new Promise<void>((release) => {
        resolve(release);
      });
    locks.request(name, { signal: AbortSignal.timeout(patienceMs) }, hold).catch(() => {
      resolve(undefined);
    });
  });
}

/** Undefined where the browser does not tell. */
export async function storageRoom(): Promise<number | undefined> {
  const { storage } = navigator as { storage?: StorageManager };
  const { quota, usage } = (await storage?.estimate()) ?? {};
  return quota === undefined ? undefined : quota - (usage ?? 0);
}
