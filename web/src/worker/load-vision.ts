// Loads the file that reads pictures into an engine with its own memory.
import type { EngineModule } from '#engine';
import type { VisionReader } from '#vision';
import { KingletError } from '../errors.ts';
import type { NamedSource } from '../protocol.ts';
import type { LoadProgress } from '../types.ts';
import type { ByteSource, Outcome } from './byte-source.ts';
import { StaleBytes } from './download.ts';
import { unwrap } from './engine-error.ts';
import { isAboutBytes, maxAttempts } from './load-model.ts';
import { checkModelBytes } from './memory-plan.ts';
import type { Access } from './open-source.ts';
import { openSource } from './open-source.ts';

export interface LoadedVision {
  module: EngineModule;
  reader: VisionReader;
}

export interface VisionLoad {
  access: Access;
  /** Opens a module with room for a file of `fileBytes`; 0 if the size is not known. */
  openModule(fileBytes: number): Promise<EngineModule>;
  /** How many numbers the rows have that the model reads. */
  width: number;
  onProgress: (progress: LoadProgress) => void;
  /** Throws if the file is not needed any more. */
  checkWanted: () => void;
}

/** @throws KingletError: those of a model's load; wrong_shape if it belongs to another model. */
export async function loadVision(source: NamedSource, load: VisionLoad): Promise<LoadedVision> {
  let module: EngineModule | undefined;
  for (let attempt = 1; ; ++attempt) {
    try {
      const file = await openSource(source, load.access);
      let outcome: Outcome = 'broken';
      try {
        checkModelBytes(file.size);
        module ??= await load.openModule(file.size);
        const reader = await readFile(module, file, load);
        outcome = 'complete';
        return { module, reader: fitting(reader, load.width) };
      } catch (error) {
        if (isAboutBytes(error) && outcome !== 'complete') outcome = 'useless';
        throw error;
      } finally {
        await file.end(outcome);
      }
    } catch (error) {
      if (!(error instanceof StaleBytes)) throw error;
      if (attempt === maxAttempts) throw new KingletError('file_changed', error.message);
    }
  }
}

async function readFile(
  module: EngineModule,
  { size, pieces }: ByteSource,
  { onProgress, checkWanted }: VisionLoad,
): Promise<VisionReader> {
  const loader = unwrap(module.newVisionLoader(size, ''));
  let loaded = 0;
  try {
    for await (const { bytes, phase } of pieces) {
      checkWanted();
      let taken = 0;
      while (taken < bytes.length) {
        const room = unwrap(loader.reserve(bytes.length - taken));
        if (room.bytes === 0) break;
        // Reserving may have grown the memory, which replaces HEAPU8.
        module.HEAPU8.set(bytes.subarray(taken, taken + room.bytes), room.address);
        unwrap(loader.commit(room.bytes));
        taken += room.bytes;
      }
      loaded += taken;
      onProgress({ loaded, total: loader.fileBytes() || size || undefined, phase });
      if (taken < bytes.length) break;
    }
    return unwrap(loader.finish());
  } finally {
    loader.delete();
  }
}

function fitting(reader: VisionReader, width: number): VisionReader {
  try {
    unwrap(reader.checkFits(width));
    return reader;
  } catch (error) {
    reader.delete();
    throw error;
  }
}
