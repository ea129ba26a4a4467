// The bytes of a file from any kind of source.
import type { LoadPhase } from '../types.ts';
import type { Download } from './download.ts';
import type { StoredFile } from './stored-file.ts';

/** An open file. */
export interface ByteSource {
  /** Bytes of the file; 0 if the source does not say. */
  size: number;
  /** The bytes from first to last. Each piece is valid until the next one is requested. */
  pieces: AsyncIterable<SourcePiece>;
  /**
   * Must be called once, after the last piece was taken. `isPart`: whether the file is one of
   * several of a model, if that is known.
   */
  end(outcome: Outcome, isPart?: boolean): Promise<void>;
  /** Skips the bytes that follow the last piece; undefined while skipping is not possible. */
  skip?: ((bytes: number) => void) | undefined;
  /** Only for a file that can be read again, at any place. */
  stored?: Stored | undefined;
}

export interface Stored {
  /** Returns false from the moment when the bytes turn out not to be stored. */
  isKept(): boolean;
  /** May be called after the source has ended as complete. */
  open(): Promise<StoredFile>;
}

/** `broken`: the rest may arrive in another attempt; `useless`: these bytes are not a model. */
export type Outcome = 'complete' | 'broken' | 'useless';

export interface SourcePiece {
  bytes: Uint8Array;
  phase: LoadPhase;
}

/** Returns a download that is not cached. */
export function plainSource(download: Download): ByteSource {
  async function* pieces(): AsyncGenerator<SourcePiece> {
    for await (const bytes of download.pieces()) yield { bytes, phase: 'download' };
  }
  return {
    size: download.version.size ?? 0,
    pieces: pieces(),
    end: () => {
      download.cancel();
      return Promise.resolve();
    },
  };
}
