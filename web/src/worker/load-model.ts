// Streams a model's bytes into the wasm heap.
import type { EngineLoader, EngineModel, EngineModelOptions, EngineModule } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import type { LoadProgress } from '../types.ts';
import type { ByteSource } from './byte-source.ts';
import { unwrap } from './engine-error.ts';

const progressIntervalMs = 50;

export async function loadModel(
  engine: EngineModule,
  source: ByteSource,
  options: EngineModelOptions,
  onProgress: (progress: LoadProgress) => void,
): Promise<EngineModel> {
  const loader = engine.newLoader(source.size);
  const reader = source.stream.getReader();
  try {
    let loaded = 0;
    let reportedAt = -Infinity;
    const report = () => {
      onProgress({ loaded, total: loader.fileBytes() || source.size || undefined });
    };
    for (;;) {
      const chunk = await nextChunk(reader);
      if (!chunk) break;
      const taken = feed(engine, loader, chunk);
      loaded += taken;
      if (taken < chunk.length) break;
      const now = performance.now();
      if (now - reportedAt >= progressIntervalMs) {
        reportedAt = now;
        report();
      }
    }
    report();
    return unwrap(loader.finish(options));
  } finally {
    loader.delete();
    reader.cancel().catch(() => undefined);
  }
}

async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | undefined> {
  try {
    return (await reader.read()).value;
  } catch (error) {
    throw new KingletError('network', `the download broke off: ${messageOf(error)}`);
  }
}

/** Copies a chunk to where the loader wants it; how much of it was wanted. */
function feed(engine: EngineModule, loader: EngineLoader, chunk: Uint8Array): number {
  let taken = 0;
  while (taken < chunk.length) {
    const { address, bytes } = unwrap(loader.reserve(chunk.length - taken));
    if (bytes === 0) break;
    // Reserving may have grown the memory, which replaces HEAPU8.
    engine.HEAPU8.set(chunk.subarray(taken, taken + bytes), address);
    unwrap(loader.commit(bytes));
    taken += bytes;
  }
  return taken;
}
