// Files that stay open while a model is used: rows of its embeddings are read from them,
// synchronously in the thread that computes.
import type { EngineModule, EngineTables, TablePlace } from '#engine';
import { KingletError, messageOf } from '../errors.ts';

/** A file that is read at any place. */
export interface StoredFile {
  /** Fills the target from byte `at` on; throws if that is not possible. */
  read(target: Uint8Array, at: number): void;
  close(): void;
}

// From TypeScript's library for workers, which cannot be used together with that for pages.
interface BlobReader {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
type BlobReaderClass = new () => BlobReader;

/** Returns a function that reads a blob synchronously; undefined outside of browsers' workers. */
export function blobReader(blob: Blob): ((target: Uint8Array, at: number) => number) | undefined {
  const { FileReaderSync } = globalThis as { FileReaderSync?: BlobReaderClass };
  if (!FileReaderSync) return undefined;
  const reader = new FileReaderSync();
  return (target, at) => {
    const bytes = new Uint8Array(reader.readAsArrayBuffer(blob.slice(at, at + target.length)));
    target.set(bytes);
    return bytes.length;
  };
}

/** `read` returns the number of bytes. */
export function storedFile(
  read: (target: Uint8Array, at: number) => number,
  close: () => void = () => undefined,
): StoredFile {
  return {
    read: (target, at) => {
      const n = read(target, at);
      if (n < target.length) throw new Error(`it ends at byte ${String(at + n)}`);
    },
    close,
  };
}

/** Reads tables that stay in a file for the engine. */
export class StoredTables {
  /** Set when the file can be read. */
  file: StoredFile | undefined;
  readonly #place: TablePlace;
  #buffer = new Uint8Array(0);

  constructor(place: TablePlace) {
    this.#place = place;
  }

  for(engine: EngineModule): EngineTables {
    return {
      place: this.#place,
      read: (at, address, bytes) => {
        try {
          // Some browsers cannot read into memory that threads share.
          if (this.#buffer.length < bytes) this.#buffer = new Uint8Array(bytes);
          const rows = this.#buffer.subarray(0, bytes);
          if (!this.file) throw new Error('it is not open');
          this.file.read(rows, at);
          engine.HEAPU8.set(rows, address);
          return '';
        } catch (error) {
          return `the model's file can no longer be read: ${messageOf(error)}`;
        }
      },
    };
  }
}

/** Returns the error for tables that cannot be read from the file: load them into memory. */
export function unreadable(why: string): KingletError {
  return new KingletError('cache_unavailable', `embedding tables cannot stay in the file: ${why}`);
}
