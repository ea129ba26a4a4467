import { KingletError } from './errors.ts';
import { estimateInWorker } from './load-in-worker.ts';
import { postedLoadOptions, workerPlace } from './options.ts';
import type { PostedEstimate } from './protocol.ts';
import { importNode, isNode } from './runtime.ts';
import { postedSources, withHubHint } from './source.ts';
import { startWorker } from './start-worker.ts';
import type { LoadOptions, ModelEstimate, ModelSource } from './types.ts';

/**
 * Estimates, from a model's header alone, whether {@link Kinglet.load} with the same source and options
 * would succeed here, how much memory the model would take, and about how fast it would be. Starts an
 * engine as load() does and measures for a part of a second how fast it multiplies matrices of the
 * model's types and shapes; nothing else should compute meanwhile.
 *
 * A model that does not fit is not an error: see {@link ModelEstimate.problem}.
 *
 * @throws {@link KingletError} `not_gguf`, `network` and others of a source; `invalid_argument`, also
 *   for an `nCtx` beyond what the model was trained for; or the signal's reason.
 */
export async function estimate(
  source: ModelSource | readonly ModelSource[],
  options: LoadOptions = {},
): Promise<ModelEstimate> {
  const posted = postedLoadOptions(options, source);
  const place = workerPlace(options);
  const sources = postedSources(source, options);
  options.signal?.throwIfAborted();
  const reading = withHubHint(
    estimateInWorker(startWorker, place, sources, posted, options),
    source,
  );
  const [found, deviceMemoryBytes] = await Promise.all([
    reading.catch((error: unknown) => refused(error)),
    deviceMemory(),
  ]);
  const { memoryBytes = 0 } = found;
  const problem = found.problem
    ? new KingletError(found.problem.code, found.problem.message)
    : lackOf(memoryBytes, deviceMemoryBytes);
  return { ...found, fits: !problem, problem, deviceMemoryBytes };
}

/** The browser has refused the memory, which is not an error here. */
function refused(error: unknown): PostedEstimate {
  if (!(error instanceof KingletError) || error.code !== 'out_of_memory') throw error;
  return {
    ...{ problem: error, fileBytes: undefined, memoryBytes: undefined, plan: undefined },
    ...{ runtime: undefined, tokensPerSecond: undefined, promptTokensPerSecond: undefined },
  };
}

function lackOf(memoryBytes: number, deviceMemoryBytes = Infinity): KingletError | undefined {
  if (memoryBytes <= deviceMemoryBytes) return undefined;
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
  const there = gigabytes(deviceMemoryBytes);
  const message = `the model takes ${gigabytes(memoryBytes)} of memory, and this device has ${there}`;
  return new KingletError('out_of_memory', message);
}

async function deviceMemory(): Promise<number | undefined> {
  if (isNode) return (await importNode('os')).totalmem();
  const { deviceMemory: gibibytes } = navigator as { deviceMemory?: number };
  return gibibytes === undefined ? undefined : gibibytes * 2 ** 30;
}
