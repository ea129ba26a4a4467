// How much memory to reserve for a model, and which models are too large for WebAssembly.
import type { EnginePlan } from '#engine';
import { KingletError } from '../errors.ts';

/** The most memory in 32-bit WebAssembly. */
const maxMemoryBytes = 2 ** 32;
/** Leaves room for a KV cache, a vocabulary and the engine. */
const maxModelBytes = 3.5 * 2 ** 30;

/** For the engine, its stacks, its tokenizer's tables, and the losses of the allocator. */
const overheadBytes = 64 * 2 ** 20;

/** What to reserve beyond the file's bytes if only these are known: the first that is granted. */
const unplannedBytes = [4, 2, 1, 0.5].map((gibibytes) => gibibytes * 2 ** 30);

/**
 * Returns the bytes to reserve: the first that the browser grants. `fileBytes`: those of the file
 * that will be in memory. `plan` is undefined if the engine cannot say.
 *
 * @throws KingletError: too_large if the model cannot fit.
 */
export function planMemory(
  fileBytes: number,
  plan: Pick<EnginePlan, 'nCtx' | 'stateBytes' | 'scratchBytes'> | undefined,
  spareMemory: number,
): number[] {
  const atMost = (bytes: number) => Math.min(bytes, maxMemoryBytes);
  if (!plan) return unplannedBytes.map((bytes) => atMost(fileBytes + bytes));
  const { nCtx, stateBytes, scratchBytes } = plan;
  if (fileBytes + stateBytes > maxMemoryBytes) {
    throw new KingletError(
      'too_large',
      `the model's ${inGigabytes(fileBytes)} and ${inGigabytes(stateBytes)} of KV cache for ` +
        `${String(nCtx)} tokens do not fit into the ${inGigabytes(maxMemoryBytes)} of WebAssembly ` +
        'memory: use a shorter context (nCtx) or a smaller KV cache kind (kv)',
    );
  }
  const needed = fileBytes + stateBytes + scratchBytes + overheadBytes;
  return [needed + spareMemory, needed + spareMemory / 4, needed].map(atMost);
}

/**
 * `tableBytes`: how many of the bytes could stay in a file.
 *
 * @throws KingletError: too_large.
 */
export function checkModelBytes(modelBytes: number, tableBytes = 0): void {
  if (modelBytes <= maxModelBytes) return;
  const otherWay =
    tableBytes > 0
      ? `; ${inGigabytes(tableBytes)} of them need no memory if the model is loaded from a file ` +
        'or can be kept in the cache'
      : '';
  throw new KingletError(
    'too_large',
    `the model needs ${inGigabytes(modelBytes)}, and WebAssembly memory has room for at most ` +
      `${inGigabytes(maxModelBytes)}: use a smaller quantization${otherWay}`,
  );
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
