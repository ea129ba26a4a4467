import { KingletError } from '../errors.ts';

/** A request that may be cancelled. */
export interface Work {
  id: number;
  isWanted: () => boolean;
}

/** @throws KingletError: cancelled. */
export function checkWanted(work: Work): void {
  if (!work.isWanted()) throw new KingletError('cancelled', 'the work was cancelled');
}
