// A file from a web server, as one run of bytes that survives interruptions.
import { KingletError, messageOf } from '../errors.ts';
import type { FileVersion } from '../file-version.ts';
import { isIdentified, isSameVersion } from '../file-version.ts';
import type { FileResponse, RequestOptions } from './http.ts';
import { requestFile } from './http.ts';

/** What has been read belongs to another version of the file than what is left: begin anew. */
export class StaleBytes extends Error {}

export interface OpenOptions {
  /** What is there already. */
  part?: { bytes: number; version: FileVersion };
  /** Milliseconds; otherwise those of a stall. */
  answerTimeout?: number;
}

/** Attempts to take a download up again without a byte between them, at growing intervals. */
const maxAttempts = 5;
const firstDelayMs = 250;

export class Download {
  readonly version: FileVersion;
  /** Where the next piece belongs in the file. */
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
   * Begins at the start of the file, or, of `part`, after the bytes that are there already, where
   * the server still has that version and gives parts of it.
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
      throw new KingletError('network', `the server has no first byte of ${url}`);
    }
    return new Download(url, options, response);
  }

  /** The bytes from `offset` on. Ends the transfer when it is left. */
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
        reject(new Interruption(`nothing came for ${String(stallTimeout)} ms`));
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

  /** Whether the server goes on with the file. */
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
    this.#response = response; // from the start where the server gives no parts
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

/** A transfer ended too early, whatever the reason. */
class Interruption extends Error {}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
