// Which models this machine can probably run. Browsers report little about it, so these are only
// hints.
import type { ChatModel, PictureModel } from 'kinglet/catalogue';
import { bytes } from '../ui/format.ts';
import { defaultMaxContext, defaultSeeingContext } from '../workspace.ts';

export interface Machine {
  nCores: number;
  /** Bytes, rounded and at most 8 GB; undefined if the browser does not report it. */
  memory: number | undefined;
}

export function thisMachine(): Machine {
  const { hardwareConcurrency, deviceMemory } = navigator as Navigator & { deviceMemory?: number };
  return {
    nCores: hardwareConcurrency || 1,
    memory: deviceMemory === undefined ? undefined : deviceMemory * 1e9,
  };
}

/** Approximate memory of a model in use, in bytes: its weights, and a context of usual length. */
export function memoryNeeded(model: ChatModel | PictureModel): number {
  const bytesOfFloat = 4;
  const context = 'mmproj' in model ? defaultSeeingContext : defaultMaxContext;
  return (model.weightBytes ?? model.bytes) + model.kvNumbers * bytesOfFloat * context;
}

/**
 * Above this share of the weights per thread, a model is slow: each token reads all weights once.
 * About half of the cores have a thread.
 */
const slowBytesPerThread = 300e6;

/** Why a model may be too much for the machine; undefined if it should run well. */
export function hintFor(model: ChatModel, { nCores, memory }: Machine): string | undefined {
  const needed = memoryNeeded(model);
  // The system and other pages need memory too.
  if (memory !== undefined && needed > memory / 2) {
    return `May not fit: this device has ${bytes(memory)} of memory`;
  }
  if (model.bytes / Math.max(1, nCores / 2) > slowBytesPerThread) {
    return `Probably slow: this machine has ${nCores === 1 ? '1 core' : `${String(nCores)} cores`}`;
  }
  return undefined;
}

/** The first of the models that suits the machine, or else the last. */
export function firstFor(models: readonly ChatModel[], machine: Machine): ChatModel | undefined {
  return models.find((model) => !hintFor(model, machine)) ?? models.at(-1);
}
