// Loads the file that reads pictures into an engine with its own memory.
import type { EngineModule } from '#engine';
import type { VisionReader } from '#vision';
import type { NamedSource } from '../protocol.ts';
import type { LoadProgress } from '../types.ts';
import type { ByteSource } from './byte-source.ts';
import { unwrap } from './engine-error.ts';
import { checkModelBytes } from './memory-plan.ts';
import type { Access } from './open-source.ts';
import { openSource } from './open-source.ts';
import { loadFresh, streamWeights } from './stream-weights.ts';

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
  return loadFresh(async () => {
    const file = await openSource(source, load.access);
    try {
      checkModelBytes(file.size);
      module ??= await load.openModule(file.size);
    } catch (error) {
      await file.end('broken');
      throw error;
    }
    return { module, reader: fitting(await readFile(module, file, load), load.width) };
  });
}

async function readFile(
  module: EngineModule,
  file: ByteSource,
  { onProgress, checkWanted }: VisionLoad,
): Promise<VisionReader> {
  const loader = unwrap(module.newVisionLoader(file.size, ''));
  let loaded = 0;
  try {
    await streamWeights(module, loader, file, {
      check: checkWanted,
      onBytes: (bytes, phase) => {
        loaded += bytes;
        onProgress({ loaded, total: loader.fileBytes() || file.size || undefined, phase });
      },
    });
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
