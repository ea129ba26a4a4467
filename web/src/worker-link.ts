// A worker, with the same interface in browsers and in Node.
import type { ClientMessage, WorkerMessage } from './protocol.ts';
import type { LoadOptions } from './types.ts';

export interface WorkerLink {
  post(message: ClientMessage, transfer?: Transferable[]): void;
  terminate(): void;
  /** An idle worker does not keep a Node process alive. */
  setBusy(busy: boolean): void;
}

export interface WorkerListener {
  onMessage(message: WorkerMessage): void;
  /** The worker ended by itself. */
  onCrash(message: string): void;
  /** The worker's script does not run; `message` says why. */
  onUnavailable(message: string): void;
}

/** Where the worker comes from. Default: the script next to this one. */
export interface WorkerPlace {
  make: LoadOptions['worker'];
  /** An absolute address. */
  url: string | undefined;
  isBlob: boolean;
}

/** Throws or rejects with a KingletError. */
export type StartWorker = (listener: WorkerListener, place: WorkerPlace) => Promise<WorkerLink>;
