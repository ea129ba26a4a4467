// What answers prompts: the model in this page, or the one of the server that the page came from.
import type { Piece } from 'kinglet';
import { Observable } from '../ui/observable.ts';
import type { Ending, Exchange } from './exchange.ts';

export interface Task {
  /** Where the answer goes, piece by piece. */
  exchange: Exchange;
  /** Those of the page in front of it. */
  before: readonly Exchange[];
  /** What the answer begins with; it is there already. */
  kept: readonly Piece[];
  signal: AbortSignal;
}

export interface Writer {
  readonly name: string;
  readonly canChat: boolean;
  /** Whether it can go on with what it said in a chat; with a text it can. */
  readonly canGoOnInChats: boolean;
  answer(task: Task): Promise<Ending>;
}

/** Undefined while there is none. */
export const writer = new Observable<Writer | undefined>(undefined);
