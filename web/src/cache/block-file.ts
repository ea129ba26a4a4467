// Stores an entry of the cache in one file:
//
//   [0, 4096)        "XXXXXXXX {…}": the hexadecimal checksum of the head, the head as JSON, spaces
//   [4096, 32768)    the checksum of each block of 1 MiB, u32, little-endian; 0: block is missing
//   [32768, …)       the blocks
//
// Each checksum is written after its block. The head that marks a file as complete is written last.
// So a reader detects what a crash left unfinished.
import { xxh32 } from './checksum.ts';
import type { BlockWriter, CacheEntryInfo, CacheHead } from './store.ts';
import { blockBytes, NoRoom, parseHead } from './store.ts';

const tableAt = 4096;
const dataAt = 32768;
const maxBlocks = (dataAt - tableAt) / 4;

/** An open file. Reading and writing return the number of bytes. */
export interface RandomAccess {
  size(): number;
  read(target: Uint8Array, at: number): number | Promise<number>;
  write(bytes: Uint8Array, at: number): number;
  truncate(bytes: number): void;
  flush(): void;
  close(): void;
}

export class BlockFile implements BlockWriter {
  readonly #file: RandomAccess;
  readonly #buffer = new Uint8Array(blockBytes);
  /** The checksums, after they have been read. */
  #table: Uint32Array | undefined;

  constructor(file: RandomAccess) {
    this.#file = file;
  }

  async info(): Promise<CacheEntryInfo | undefined> {
    const storedBytes = this.#file.size();
    const start = new Uint8Array(dataAt);
    const nRead = await this.#file.read(start, 0);
    const head = decodeHead(start.subarray(0, Math.min(nRead, tableAt)));
    if (!head) return undefined;
    const table = new Uint32Array(start.buffer, tableAt);
    const nSummed = table.includes(0) ? table.indexOf(0) : maxBlocks;
    const nBlocks = Math.min(nSummed, Math.floor((storedBytes - dataAt) / blockBytes));
    return { head, nBlocks, storedBytes };
  }

  async read(index: number): Promise<Uint8Array | undefined> {
    this.#table ??= await this.#readTable();
    const nRead = await this.#file.read(this.#buffer, dataAt + index * blockBytes);
    const bytes = this.#buffer.subarray(0, nRead);
    return checksum(bytes) === this.#table[index] ? bytes : undefined;
  }

  async #readTable(): Promise<Uint32Array> {
    const table = new Uint32Array(maxBlocks);
    await this.#file.read(new Uint8Array(table.buffer), tableAt);
    return table;
  }

  write(index: number, bytes: Uint8Array): Promise<void> {
    if (index >= maxBlocks) throw new RangeError('the file is too large for the cache');
    this.#table = undefined;
    this.#put(bytes, dataAt + index * blockBytes);
    this.#put(new Uint8Array(Uint32Array.of(checksum(bytes)).buffer), tableAt + 4 * index);
    return Promise.resolve();
  }

  writeHead(head: CacheHead): Promise<void> {
    const encoded = encodeHead(head);
    this.#file.flush();
    this.#put(encoded, 0);
    this.#file.flush();
    return Promise.resolve();
  }

  /** Keeps only the first blocks. If `nBlocks` is 0, the head is removed, too. */
  keep(nBlocks: number): void {
    this.#table = undefined;
    if (nBlocks === 0) {
      this.#file.truncate(0);
      this.#put(new Uint8Array(dataAt), 0);
      return;
    }
    this.#file.truncate(dataAt + nBlocks * blockBytes);
    this.#put(new Uint8Array((maxBlocks - nBlocks) * 4), tableAt + 4 * nBlocks);
  }

  close(): void {
    this.#file.close();
  }

  /** If a disk is full, only a part of the bytes may be written. */
  #put(bytes: Uint8Array, at: number): void {
    if (this.#file.write(bytes, at) !== bytes.length) throw new NoRoom();
  }
}

/**
 * Returns a function that reads bytes at any place of a complete file. Each block is compared with
 * its checksum when it is first needed. `read` reads the entry synchronously and returns the number
 * of bytes.
 */
export function readPlaces(
  read: (target: Uint8Array, at: number) => number,
): (target: Uint8Array, at: number) => number {
  const table = new Uint32Array(maxBlocks);
  read(new Uint8Array(table.buffer), tableAt);
  const checked = new Set<number>();
  const check = (index: number) => {
    const block = new Uint8Array(blockBytes);
    const nRead = read(block, dataAt + index * blockBytes);
    if (checksum(block.subarray(0, nRead)) !== table[index]) {
      throw new Error(`block ${String(index)} of the cached copy differs from its checksum`);
    }
    checked.add(index);
  };
  return (target, at) => {
    const last = Math.floor((at + target.length - 1) / blockBytes);
    for (let index = Math.floor(at / blockBytes); index <= last; ++index) {
      if (!checked.has(index)) check(index);
    }
    return read(target, dataAt + at);
  };
}

/** Never returns 0, which marks a missing block. */
function checksum(bytes: Uint8Array): number {
  return xxh32(bytes) || 1;
}

function encodeHead(head: CacheHead): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const start = new Uint8Array(tableAt).fill(0x20);
  if (sumDigits + 1 + json.length > tableAt) throw new RangeError('the address is too long');
  start.set(json, sumDigits + 1);
  start.set(new TextEncoder().encode(hexSum(json)));
  return start;
}

function decodeHead(start: Uint8Array): CacheHead | undefined {
  const text = new TextDecoder().decode(start);
  const json = text.slice(sumDigits + 1).trimEnd();
  const isSound = text.slice(0, sumDigits) === hexSum(new TextEncoder().encode(json));
  return isSound ? parseHead(json) : undefined;
}

const sumDigits = 8;

function hexSum(bytes: Uint8Array): string {
  return xxh32(bytes).toString(16).padStart(sumDigits, '0');
}
