import { inspectInWorker } from './load-in-worker.ts';
import { checkOptions, postedLoadOptions, workerPlace } from './options.ts';
import { postedSource, withHubHint } from './source.ts';
import { startWorker } from './start-worker.ts';
import type { FileDescription, InspectOptions, ModelSource } from './types.ts';

/**
 * Reads only the header of a GGUF file, and returns the metadata and the list of tensors.
 *
 * @throws {@link KingletError} `not_gguf`, `truncated`, `corrupt`, `unsupported_type` (of a tensor,
 *   which the engine does not know), `network` and others of a source.
 */
export async function inspect(
  source: ModelSource,
  options: InspectOptions = {},
): Promise<FileDescription> {
  checkOptions(options, [
    ...['hubBase', 'signal', 'headers', 'stallTimeout'],
    ...['worker', 'workerUrl', 'engineUrl', 'blobWorker'],
  ]);
  options.signal?.throwIfAborted();
  const reading = inspectInWorker(
    startWorker,
    workerPlace(options),
    postedSource(source, options),
    postedLoadOptions({ ...options, cache: false }),
    options.signal,
  );
  return withHubHint(reading, source);
}
