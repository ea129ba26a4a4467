// One worker, seen the same way in a browser and in Node.
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
  /** Its script does not run, for the reason that is told. */
  onUnavailable(message: string): void;
}

/** Where the worker comes from: by default the script beside this one. */
export interface WorkerPlace {
  make: LoadOptions['worker'];
  /** Absolute. */
  url: string | undefined;
  isBlob: boolean;
}

/** Throws or rejects with a KingletError. */
export type StartWorker = (listener: WorkerListener, place: WorkerPlace) => Promise<WorkerLink>;
