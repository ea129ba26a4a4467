// Streams the bytes of a file into an engine's heap.
import type { EngineModule, WeightLoader } from '#engine';
import type { KingletErrorCode } from '../errors.ts';
import { KingletError } from '../errors.ts';
import type { LoadPhase } from '../types.ts';
import type { ByteSource, Outcome } from './byte-source.ts';
import { StaleBytes } from './download.ts';
import { unwrap } from './engine-error.ts';
import { turnMs, yieldToMessages } from './yield.ts';

export interface WeightStream {
  /** Called before each piece; what it throws ends the stream. */
  check: () => void;
  /** Called with the number of bytes that were loaded, and where they came from. */
  onBytes: (bytes: number, phase: LoadPhase) => void;
  /** Whether the file is one of several of a model. */
  isPart?: boolean;
}

/** Returns whether the whole file was loaded: the loader says what it lacks. Ends the source. */
export async function streamWeights(
  engine: EngineModule,
  loader: WeightLoader<unknown>,
  source: ByteSource,
  { check, onBytes, isPart = false }: WeightStream,
): Promise<boolean> {
  let outcome: Outcome = 'useless';
  let loaded = 0;
  let turnBeganAt = performance.now();
  try {
    for await (const { bytes, phase } of source.pieces) {
      // Pieces from storage may come without any turn for others.
      if (performance.now() - turnBeganAt > turnMs) {
        await yieldToMessages();
        turnBeganAt = performance.now();
      }
      check();
      let taken = feed(engine, loader, bytes);
      const isWhole = taken === bytes.length;
      if (isWhole && source.skip) {
        const nSkipped = loader.skip(Number.MAX_SAFE_INTEGER);
        if (nSkipped > 0) source.skip(nSkipped);
        taken += nSkipped;
      }
      loaded += taken;
      onBytes(taken, phase);
      if (!isWhole) break;
    }
    if (loaded > 0 && loaded === loader.fileBytes()) outcome = 'complete';
  } catch (error) {
    if (!isAboutBytes(error)) outcome = 'broken';
    throw error;
  } finally {
    await source.end(outcome, isPart);
  }
  return outcome === 'complete';
}

/** Copies a piece to the loader's memory. Returns how many of its bytes the loader took. */
function feed(engine: EngineModule, loader: WeightLoader<unknown>, piece: Uint8Array): number {
  let taken = 0;
  for (;;) {
    taken += loader.skip(piece.length - taken);
    if (taken === piece.length) break;
    const { address, bytes } = unwrap(loader.reserve(piece.length - taken));
    if (bytes === 0) break;
    // Reserving may have grown the memory, which replaces HEAPU8.
    engine.HEAPU8.set(piece.subarray(taken, taken + bytes), address);
    unwrap(loader.commit(bytes));
    taken += bytes;
  }
  return taken;
}

/**
 * Returns whether an error means that the bytes are not a model, not only that loading them failed.
 */
export function isAboutBytes(error: unknown): boolean {
  const others: KingletErrorCode[] = [
    ...(['io', 'network', 'not_found', 'access_denied', 'cors'] as const),
    'cache_unavailable' as const,
    ...(['invalid_argument', 'too_large', 'out_of_memory', 'cancelled'] as const),
  ];
  return error instanceof KingletError && !others.includes(error.code);
}

/**
 * Calls `load` again if its bytes turn out to be stale.
 *
 * @throws {@link KingletError} `file_changed` if they are stale each time.
 */
export async function loadFresh<T>(load: () => Promise<T>): Promise<T> {
  const maxAttempts = 3;
  for (let attempt = 1; ; ++attempt) {
    try {
      return await load();
    } catch (error) {
      if (!(error instanceof StaleBytes)) throw error;
      if (attempt === maxAttempts) throw new KingletError('file_changed', error.message);
    }
  }
}
