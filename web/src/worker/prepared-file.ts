// A prepared state of a prompt, which is read while the model is.
import { KingletError } from '../errors.ts';
import type { ByteSource } from './byte-source.ts';

/** Bytes with the tokens of a state of 262,000 tokens, more than any context has. */
const beginningBytes = 1 << 20;

/** After so many bytes, the page's copies of them are given up for a Blob. */
const copiedBytes = 4 << 20;

/** How long the speed of a download is measured. */
const measuredMs = 500;

export class PreparedFile {
  readonly name: string;
  /** In browsers, a Blob takes no memory of the page. */
  readonly whole: Promise<Blob>;
  #parts: BlobPart[] = [];
  #size = 0; // 0 until it is known
  #loaded = 0;
  #isWanted = true;

  constructor(name: string, open: () => Promise<ByteSource>) {
    this.name = name;
    this.whole = this.#read(open);
    this.whole.catch(() => undefined); // the model may fail to load before anybody waits
  }

  /** The first bytes, as far as they have arrived. */
  async beginning(): Promise<Uint8Array> {
    const first = new Blob(this.#parts).slice(0, beginningBytes);
    return new Uint8Array(await first.arrayBuffer());
  }

  /**
   * Resolves when the file has arrived, and rejects when that would take longer than computing the
   * prompt. `computing` returns the seconds that this takes,
   * or undefined if that cannot be known yet.
   */
  async arrives(computing: () => Promise<number | undefined>): Promise<void> {
    for (;;) {
      const before = this.#loaded;
      if (await this.#isWholeAfter(measuredMs)) return;
      const needed = this.#size > 0 ? await computing() : undefined;
      if (needed === undefined) continue;
      const rate = ((this.#loaded - before) * 1000) / measuredMs;
      const left = (this.#size - this.#loaded) / rate;
      if (left <= needed) continue;
      const length = Number.isFinite(left) ? `${left.toFixed(0)} s more` : 'too long';
      throw new KingletError(
        'network',
        `its download would take ${length}, and computing the prompt about ${needed.toFixed(1)} s`,
      );
    }
  }

  /** Reads no further. The cache keeps what has arrived. */
  cancel(): void {
    this.#isWanted = false;
  }

  async #isWholeAfter(ms: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ms, false);
    });
    try {
      return await Promise.race([this.whole.then(() => true), later]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(open: () => Promise<ByteSource>): Promise<Blob> {
    const file = await open();
    this.#size = file.size;
    let copied = 0;
    let isWhole = false;
    try {
      for await (const { bytes } of file.pieces) {
        this.#parts.push(bytes.slice());
        this.#loaded += bytes.length;
        copied += bytes.length;
        if (copied >= copiedBytes) {
          this.#parts = [new Blob(this.#parts)];
          copied = 0;
        }
        if (!this.#isWanted) break;
      }
      isWhole = this.#isWanted;
    } finally {
      await file.end(isWhole ? 'complete' : 'broken');
    }
    const whole = new Blob(this.#parts);
    this.#parts = [whole];
    return whole;
  }
}
