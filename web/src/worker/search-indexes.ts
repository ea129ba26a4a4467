// The search indexes of the worker's model.
import type { EngineIndex, EngineModel, EngineResult } from '#engine';
import { KingletError } from '../errors.ts';
import type { AnswerOf, TakesOf } from '../protocol.ts';
import { unwrap } from './engine-error.ts';
import type { EngineLoop } from './engine-loop.ts';
import type { Work } from './work.ts';

/** The longest time, about, that other work waits for passages being computed; milliseconds. */
const batchMs = 150;
const maxBatch = 16;

interface IndexWork extends Work {
  model: EngineModel;
  loop: EngineLoop;
}

export class SearchIndexes {
  readonly #indexes = new Map<number, EngineIndex>();

  /** `id`: of the call; from then on, of the index. */
  open(model: EngineModel, id: number, options: TakesOf<'openIndex'>): AnswerOf<'openIndex'> {
    const index = unwrap(model.newIndex(options));
    this.#indexes.set(id, index);
    return { index: id, settings: index.settings() };
  }

  at(id: number): EngineIndex {
    const index = this.#indexes.get(id);
    if (index) return index;
    throw new KingletError('disposed', 'the search index has been closed');
  }

  close(id: number): null {
    this.#indexes.get(id)?.delete();
    this.#indexes.delete(id);
    return null;
  }

  /** Computes pending passages for about `ms`. Returns their number: 0 if none was pending. */
  async compute(
    { index, id, ms }: TakesOf<'computeDocument'>,
    work: IndexWork,
    onProgress: (nDone: number) => void,
  ): Promise<number> {
    const end = performance.now() + ms;
    let nDone = 0;
    for (let batch = 1; ;) {
      const begin = performance.now();
      const n = await run<number>(work, (onEvent) =>
        this.at(index).compute(id, batch, work.id, onEvent),
      );
      nDone += n;
      const now = performance.now();
      if (n === 0 || now > end) return nDone;
      onProgress(nDone);
      const fitting = Math.round((n * batchMs) / Math.max(now - begin, 1));
      batch = Math.max(1, Math.min(fitting, 2 * n, maxBatch));
    }
  }

  search(
    { index, query, limit, hybrid, among }: TakesOf<'searchDocuments'>,
    work: IndexWork,
  ): Promise<AnswerOf<'searchDocuments'>> {
    return run(work, (onEvent) =>
      this.at(index).search(query, limit, hybrid, among, work.id, onEvent),
    );
  }
}

/** Begins work of the engine that has one event. Resolves with its value. */
async function run<Value>(
  { id, model, loop, isWanted }: IndexWork,
  begin: (onEvent: (event: EngineResult<Value>) => void) => EngineResult<null>,
): Promise<Value> {
  const event = await loop.run<EngineResult<Value>>({
    isWanted,
    begin: (onEvent) => {
      unwrap(begin(onEvent));
    },
    read: () => true,
    cancel: () => {
      model.cancel(id);
    },
  });
  return unwrap(event);
}
