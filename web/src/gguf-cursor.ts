// Reads the numbers (little-endian) and texts of a GGUF file's header.
import { valueBytes } from './type-tables.generated.ts';

/** "GGUF", as a number. */
export const magic = 0x46554747;

/** The ids of the metadata types whose values are not numbers. */
export const valueType = { string: 8, array: 9 };

/** Thrown if the bytes end before the header does. */
export class TooShort extends Error {}

export class Cursor {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Bytes read so far. */
  get at(): number {
    return this.#at;
  }

  /**
   * Reads an unsigned number of `size` bytes. Above 2^53 it loses digits, which does not matter.
   */
  uint(size: number): number {
    const at = this.#at;
    this.skip(size);
    if (size === 1) return this.#view.getUint8(at);
    if (size === 2) return this.#view.getUint16(at, true);
    const low = this.#view.getUint32(at, true);
    return size === 4 ? low : low + 2 ** 32 * this.#view.getUint32(at + 4, true);
  }

  float(size: 4 | 8): number {
    const at = this.#at;
    this.skip(size);
    return size === 4 ? this.#view.getFloat32(at, true) : this.#view.getFloat64(at, true);
  }

  text(): string {
    const length = this.uint(8);
    const start = this.#at;
    this.skip(length);
    // A U+FEFF at the beginning is a character of the text.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
      this.#bytes.subarray(start, this.#at),
    );
  }

  skipText(): void {
    this.skip(this.uint(8));
  }

  /** Skips `n` elements of an array. Returns false if their type has no known size. */
  skipValues(type: number, n: number): boolean {
    if (type === valueType.string) {
      this.#skipTexts(n);
      return true;
    }
    const size = valueBytes[type];
    if (!size) return false;
    this.skip(size * n);
    return true;
  }

  /** A fast loop, because vocabularies have hundreds of thousands of texts. */
  #skipTexts(n: number): void {
    const view = this.#view;
    const end = view.byteLength;
    let at = this.#at;
    for (let i = 0; i < n; ++i) {
      if (at + 8 > end) throw new TooShort();
      at += 8 + view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
    }
    this.#at = at;
    this.skip(0);
  }

  skip(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw new TooShort();
  }
}
