// Downloads a file from a web server. After interruptions the download continues.
import { KingletError, messageOf } from '../errors.ts';
import type { FileVersion } from '../file-version.ts';
import { isIdentified, isSameVersion } from '../file-version.ts';
import type { FileResponse, RequestOptions } from './http.ts';
import { requestFile } from './http.ts';

/** Thrown if the bytes read so far are not of the same version as the rest: start again. */
export class StaleBytes extends Error {}

export interface OpenOptions {
  /** The part of the file that is already cached. */
  part?: { bytes: number; version: FileVersion };
  /** Milliseconds. Default: `stallTimeout`. */
  answerTimeout?: number;
}

/**
 * How often to try to resume, at growing intervals, before giving up. Each new byte resets this.
 */
const maxAttempts = 5;
const firstDelayMs = 250;

export class Download {
  readonly version: FileVersion;
  /** The position of the next piece in the file. */
  offset: number;
  readonly #url: string;
  readonly #options: RequestOptions;
  #response: FileResponse;

  private constructor(url: string, options: RequestOptions, response: FileResponse) {
    this.#url = url;
    this.#options = options;
    this.#response = response;
    this.version = response.version;
    this.offset = response.offset;
  }

  /**
   * Begins after the bytes of `part` if the server still has that version and can send parts of the
   * file. Otherwise begins at the start of the file.
   */
  static async open(
    url: string,
    options: RequestOptions,
    { part, answerTimeout }: OpenOptions = {},
  ): Promise<Download> {
    if (part && part.bytes > 0 && isIdentified(part.version)) {
      const response = await requestFile(url, options, part.bytes);
      const isRest =
        response?.offset === part.bytes && isSameVersion(response.version, part.version);
      if (response && (isRest || response.offset === 0))
        return new Download(url, options, response);
      response?.abort();
    }
    const stallTimeout = answerTimeout ?? options.stallTimeout;
    const response = await requestFile(url, { ...options, stallTimeout }, 0);
    if (response?.offset !== 0) {
      response?.abort();
      throw new KingletError('network', `the server did not send the beginning of ${url}`);
    }
    return new Download(url, options, response);
  }

  /** Yields the bytes from `offset` on. Leaving the loop ends the transfer. */
  async *pieces(): AsyncGenerator<Uint8Array, void, void> {
    let nFailures = 0;
    try {
      for (;;) {
        try {
          for await (const piece of this.#read()) {
            nFailures = 0;
            this.offset += piece.length;
            yield piece;
          }
          return;
        } catch (error) {
          if (!(error instanceof Interruption)) throw error;
          do {
            if (nFailures === maxAttempts || !isIdentified(this.version)) throw this.#broken(error);
            this.#options.onRetry?.();
            await delay(firstDelayMs * 2 ** nFailures++);
          } while (!(await this.#reconnect()));
        }
      }
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    this.#response.abort();
  }

  async *#read(): AsyncGenerator<Uint8Array, void, void> {
    const { body, offset } = this.#response;
    let nSkipped = this.offset - offset;
    const reader = body.getReader();
    for (;;) {
      const piece = await this.#nextPiece(reader);
      if (!piece) break;
      if (nSkipped < piece.length) yield nSkipped > 0 ? piece.subarray(nSkipped) : piece;
      nSkipped = Math.max(0, nSkipped - piece.length);
    }
    const { size } = this.version;
    if (size !== undefined && this.offset < size) throw new Interruption('the connection ended');
  }

  async #nextPiece(
    reader: ReadableStreamDefaultReader<Uint8Array>,
  ): Promise<Uint8Array | undefined> {
    const { stallTimeout } = this.#options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Interruption(`nothing arrived for ${String(stallTimeout)} ms`));
      }, stallTimeout);
    });
    try {
      return (await Promise.race([reader.read(), stalled])).value;
    } catch (error) {
      this.cancel();
      throw error instanceof Interruption ? error : new Interruption(messageOf(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Requests the rest of the file. Returns whether the server could be reached. */
  async #reconnect(): Promise<boolean> {
    let response: FileResponse | undefined;
    try {
      response = await requestFile(this.#url, this.#options, this.offset);
    } catch (error) {
      if (error instanceof KingletError && error.code === 'network') return false;
      throw error;
    }
    const isThere = response && (response.offset === this.offset || response.offset === 0);
    if (!response || !isThere || !isSameVersion(response.version, this.version)) {
      response?.abort();
      throw new StaleBytes(`${this.#url} changed on the server`);
    }
    this.#response = response; // it begins at 0 if the server cannot send parts
    return true;
  }

  #broken({ message }: Error): KingletError {
    const { size } = this.version;
    const total = size === undefined ? '' : ` of ${String(size)}`;
    return new KingletError(
      'network',
      `the download of ${this.#url} broke off after ${String(this.offset)}${total} bytes: ${message}`,
    );
  }
}

/** Thrown if a transfer ended too early, for any reason. */
class Interruption extends Error {}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
