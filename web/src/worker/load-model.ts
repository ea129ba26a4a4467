// Streams a model's bytes into the wasm heap.
import type { EngineLoader, EngineModel, EngineModelOptions, EngineModule } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import type { LoadProgress } from '../types.ts';
import type { ByteSource } from './byte-source.ts';
import { unwrap } from './engine-error.ts';

const progressIntervalMs = 50;

/** `parts`: one file, or all that the model is split into, each opened when its turn comes. */
export async function loadModel(
  engine: EngineModule,
  parts: (() => Promise<ByteSource>)[],
  options: EngineModelOptions,
  onProgress: (progress: LoadProgress) => void,
): Promise<EngineModel> {
  let loader: EngineLoader | undefined;
  try {
    let loaded = 0;
    for (const [index, open] of parts.entries()) {
      const source = await open();
      if (loader) unwrap(loader.nextPart(source.size));
      loader ??= engine.newLoader(source.size);
      const before = loaded;
      const report = (bytes: number, size: number) => {
        loaded = before + bytes;
        // What comes after is only known of the last part: nothing.
        const total = index === parts.length - 1 && size > 0 ? before + size : undefined;
        onProgress({ loaded, total });
      };
      await loadPart(engine, loader, source, report);
    }
    loader ??= engine.newLoader(0);
    return unwrap(loader.finish(options));
  } finally {
    loader?.delete();
  }
}

async function loadPart(
  engine: EngineModule,
  loader: EngineLoader,
  source: ByteSource,
  onProgress: (loaded: number, size: number) => void,
): Promise<void> {
  const reader = source.stream.getReader();
  try {
    let loaded = 0;
    let reportedAt = -Infinity;
    const report = () => {
      onProgress(loaded, loader.fileBytes() || source.size);
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
  } finally {
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
