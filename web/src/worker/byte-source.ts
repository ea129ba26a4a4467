// The bytes of a file, wherever they come from.
import type { LoadPhase } from '../types.ts';
import type { Download } from './download.ts';
import type { StoredFile } from './stored-file.ts';

/** A file that is open. */
export interface ByteSource {
  /** Bytes of the file; 0 where the source does not tell. */
  size: number;
  /** From the first byte to the last; each piece is valid until the next one is asked for. */
  pieces: AsyncIterable<SourcePiece>;
  /** To be called once, after the last piece that is taken. */
  end(outcome: Outcome): Promise<void>;
  /** Leaves out bytes after those that were given; undefined while that cannot be done. */
  skip?: ((bytes: number) => void) | undefined;
  /** Of a file that can be read again, in places. */
  stored?: Stored | undefined;
}

export interface Stored {
  /** False once it turns out that the bytes are not kept. */
  isKept(): boolean;
  /** To be called once the source has ended as complete. */
  open(): Promise<StoredFile>;
}

/** `broken`: more could come another time; `useless`: these bytes are no model. */
export type Outcome = 'complete' | 'broken' | 'useless';

export interface SourcePiece {
  bytes: Uint8Array;
  phase: LoadPhase;
}

/** A download that nothing keeps. */
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
