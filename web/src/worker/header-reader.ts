// Reads the header of a file before the file is loaded.
import type { EngineHeader, EngineModule, TablePlace } from '#engine';
import type { ByteSource, SourcePiece } from './byte-source.ts';
import { unwrap } from './engine-error.ts';

/** The bytes of the header are kept, so that several engines can read it. */
export class HeaderReader {
  readonly #source: ByteSource;
  readonly #pieces: AsyncIterator<SourcePiece>;
  readonly #taken: SourcePiece[] = [];
  #beginning = new Uint8Array(1 << 16);
  #length = 0;

  /** From now on, the source's pieces are those that this has taken, then the others. */
  constructor(source: ByteSource) {
    this.#source = source;
    this.#pieces = source.pieces[Symbol.asyncIterator]();
    const { skip } = source;
    source.skip = undefined;
    source.pieces = this.#rejoined(() => {
      source.skip = skip;
    });
  }

  /**
   * Returns undefined if the file ends before its header does.
   *
   * @throws KingletError: those of the source; not_gguf and others about the header.
   */
  async read(engine: EngineModule, tables: TablePlace): Promise<EngineHeader | undefined> {
    for (;;) {
      const beginning = this.#beginning.subarray(0, this.#length);
      const read = engine.readHeader(beginning, this.#source.size, tables);
      if (!('needed' in read)) return unwrap(read);
      // Half as many bytes more, so that all attempts together cost little more than the last.
      if (!(await this.#take(Math.max(read.needed, 1.5 * this.#length)))) return undefined;
    }
  }

  /** Returns whether there are more bytes than before. */
  async #take(wanted: number): Promise<boolean> {
    const before = this.#length;
    while (this.#length < wanted) {
      const next = await this.#pieces.next();
      if (next.done) break;
      const { bytes, phase } = next.value;
      this.#taken.push({ bytes: bytes.slice(), phase });
      this.#add(bytes);
    }
    return this.#length > before;
  }

  #add(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#beginning.length) {
      const grown = new Uint8Array(2 * (this.#length + bytes.length));
      grown.set(this.#beginning);
      this.#beginning = grown;
    }
    this.#beginning.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  async *#rejoined(onLast: () => void): AsyncGenerator<SourcePiece, void, void> {
    this.#beginning = new Uint8Array(0); // the file is being loaded
    try {
      for (;;) {
        if (this.#taken.length <= 1) onLast();
        const piece = this.#taken.shift();
        if (!piece) break;
        yield piece;
      }
      for (;;) {
        const next = await this.#pieces.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await this.#pieces.return?.();
    }
  }
}

/** Ends a source whose header was read. It will be opened again. */
export async function putAside(source: ByteSource): Promise<void> {
  const pieces = source.pieces[Symbol.asyncIterator]();
  await pieces.next(); // a generator that has not begun would leave its own source open
  await pieces.return?.();
  await source.end('broken');
}
