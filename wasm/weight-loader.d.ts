// Loads files into the wasm heap: the class of weight_loader.cpp, as the worker sees it.
import type { EngineHandle, EngineResult } from './result.d.ts';

/**
 * skip → reserve → write into HEAPU8 → commit, until reserve returns 0 bytes; then finish. If there
 * are several files: nextPart, and the same again. Weights are packed while bytes arrive, on all
 * threads of the module.
 */
export interface WeightLoader<Loaded> extends EngineHandle {
  /** Skips the next bytes that stay in the file, up to `maxBytes`. Returns their number. */
  skip(maxBytes: number): number;
  reserve(maxBytes: number): EngineResult<{ address: number; bytes: number }>;
  commit(bytes: number): EngineResult<null>;
  /** The size of the file that is being loaded; 0 until its header has been read. */
  fileBytes(): number;
  /** Ends a complete file and begins the next one; `fileBytes` as in newLoader(). */
  nextPart(fileBytes: number): EngineResult<null>;
  /** Ends the loader, also if it fails; delete() must still be called. */
  finish(): EngineResult<Loaded>;
}
