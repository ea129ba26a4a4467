// A worker, with the same interface in browsers and in Node.
import type { ClientMessage, WorkerMessage } from './protocol.ts';
import type { HereReason } from './types.ts';

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
  /** Undefined: where it can run. */
  where: 'own' | 'here' | undefined;
  make: (() => Worker) | undefined;
  /** An absolute address. */
  url: string | undefined;
  isBlob: boolean;
}

/** Connects a client with a host in the same thread. */
export type StartHere = (listener: WorkerListener, reason: HereReason) => WorkerLink;

/** Throws or rejects with a KingletError. */
export type StartWorker = (listener: WorkerListener, place: WorkerPlace) => Promise<WorkerLink>;
