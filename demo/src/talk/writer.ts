// A writer answers prompts: the model in this page, or that of the server that the page came from.
import type { Piece } from 'kinglet';
import { Observable } from '../ui/observable.ts';
import type { Ending, Exchange } from './exchange.ts';

export interface Task {
  /** The exchange that receives the answer, piece by piece. */
  exchange: Exchange;
  /** The exchanges before it on the page. */
  before: readonly Exchange[];
  /** The beginning of the answer, which already exists. */
  kept: readonly Piece[];
  signal: AbortSignal;
}

export interface Writer {
  readonly name: string;
  readonly canChat: boolean;
  /** Whether it can continue its own answer in a chat. It can always continue a text. */
  readonly canGoOnInChats: boolean;
  answer(task: Task): Promise<Ending>;
}

/** The writer in use; undefined while there is none. */
export const writer = new Observable<Writer | undefined>(undefined);
