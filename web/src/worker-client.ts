// The page's end of the protocol: matches answers to their calls, and rejects calls if the worker
// dies.
import { KingletError, messageOf } from './errors.ts';
import type {
  AnswerOf,
  CallMessage,
  CallName,
  ClientMessage,
  NoticeOf,
  TakesOf,
  WorkerMessage,
} from './protocol.ts';
import { WantedSigns } from './wanted-signs.ts';
import { unlessAborted } from './when-aborted.ts';
import type { StartWorker, WorkerLink, WorkerListener, WorkerPlace } from './worker-link.ts';

export type Unanswered = Exclude<ClientMessage, { id: number }>;

export interface CallListener<Name extends CallName> {
  /** Called before the answer. What it throws ends the call, and goes to onError(). */
  onNotice?(notice: NoticeOf<Name>): void;
  onAnswer(answer: AnswerOf<Name>): void;
  onError(error: unknown): void;
}

/** The listener of any call: its messages are those of its call. */
type AnyListener = CallListener<never> & { onAnswer(answer: unknown): void };

export interface AskOptions<Name extends CallName> {
  signal?: AbortSignal | undefined;
  onNotice?: ((notice: NoticeOf<Name>) => void) | undefined;
}

/** Answers calls. */
export abstract class Client {
  /** Posts a call and returns its id. All errors, even of a closed worker, go to the listener. */
  abstract call<Name extends CallName>(
    call: Name,
    takes: TakesOf<Name>,
    listener: CallListener<Name>,
    transfer?: Transferable[],
  ): number;

  /** Posts a message that has no answer, unless the worker is closed. */
  abstract post(message: Unanswered): void;

  /** Asks the worker to end a call, which then answers as usual. */
  abstract cancel(target: number): void;

  /** Cancels a call without waiting. Its listener is not called any more. */
  abstract abandon(target: number): void;

  /** Ends the worker, which frees its memory, and rejects the pending calls. */
  abstract close(reason: KingletError): void;

  /**
   * Posts a call and returns its answer. If the signal aborts, this cancels the call and rejects with
   * the signal's reason.
   */
  async ask<Name extends CallName>(
    call: Name,
    takes: TakesOf<Name>,
    { signal, onNotice = () => undefined }: AskOptions<Name> = {},
  ): Promise<AnswerOf<Name>> {
    signal?.throwIfAborted();
    let id = 0;
    const answer = new Promise<AnswerOf<Name>>((resolve, reject) => {
      id = this.call(call, takes, { onNotice, onAnswer: resolve, onError: reject });
    });
    return unlessAborted(signal, answer, () => {
      this.abandon(id);
    });
  }
}

export class WorkerClient extends Client {
  /** Called once, when the worker has ended or was ended, before the pending calls are rejected. */
  onClosed: (reason: KingletError) => void = () => undefined;
  #link: WorkerLink | undefined;
  #closedBy: KingletError | undefined;
  #cancelledIds: Uint32Array<SharedArrayBuffer> | undefined;
  #signs: WantedSigns | undefined;
  #nextId = 1;
  readonly #pending = new Map<number, AnyListener>();

  static async start(startWorker: StartWorker, place: WorkerPlace): Promise<WorkerClient> {
    const client = new WorkerClient();
    const listener: WorkerListener = {
      onMessage: (message) => {
        client.#receive(message);
      },
      onCrash: (message) => {
        client.#crash(message);
      },
      onUnavailable: (message) => {
        client.close(new KingletError('worker_unavailable', message));
      },
    };
    client.#link = await startWorker(listener, place);
    return client;
  }

  call<Name extends CallName>(
    call: Name,
    takes: TakesOf<Name>,
    listener: CallListener<Name>,
    transfer: Transferable[] = [],
  ): number {
    const id = this.#nextId++;
    if (this.#closedBy || !this.#link) {
      listener.onError(this.#closedBy);
      return id;
    }
    this.#pending.set(id, listener);
    this.#link.setBusy(true);
    try {
      const sign = this.#signs?.put(id);
      this.#link.post({ type: 'call', id, call, takes, sign } as CallMessage, transfer);
    } catch (error) {
      this.#settle(id);
      const message = `this cannot be sent to the worker: ${messageOf(error)}`;
      listener.onError(new KingletError('invalid_argument', message));
    }
    return id;
  }

  post(message: Unanswered): void {
    if (!this.#closedBy) this.#link?.post(message);
  }

  cancel(target: number): void {
    const ids = this.#cancelledIds;
    if (ids) Atomics.store(ids, target % ids.length, target);
    this.#signs?.remove(target);
    this.post({ type: 'cancel', target });
  }

  /**
   * From now on, the engine also notices in the middle of a step that work is cancelled. `ids`:
   * undefined if the page and the worker cannot share memory.
   */
  watchCancelled(ids: Uint32Array<SharedArrayBuffer> | undefined): void {
    if (ids) this.#cancelledIds = ids;
    else this.#signs = new WantedSigns();
  }

  abandon(target: number): void {
    this.#settle(target);
    this.cancel(target);
  }

  close(reason: KingletError): void {
    if (this.#closedBy) return;
    this.#closedBy = reason;
    this.#cancelledIds = undefined; // it keeps the engine's memory alive
    this.#signs?.removeAll();
    this.#link?.terminate();
    this.onClosed(reason);
    const listeners = [...this.#pending.values()];
    this.#pending.clear();
    for (const listener of listeners) listener.onError(reason);
  }

  #receive(message: WorkerMessage): void {
    if (message.type === 'crashed') {
      this.#crash(message.message);
      return;
    }
    const listener = this.#pending.get(message.id);
    if (!listener) return;
    if (message.type === 'notice') {
      try {
        listener.onNotice?.(message.notice as never);
      } catch (error) {
        this.abandon(message.id);
        listener.onError(error);
      }
      return;
    }
    this.#settle(message.id);
    if (message.type === 'answer') listener.onAnswer(message.answer);
    else listener.onError(new KingletError(message.code, message.message));
  }

  #crash(message: string): void {
    this.close(new KingletError('worker_crashed', `the worker crashed: ${message}`));
  }

  #settle(id: number): void {
    this.#pending.delete(id);
    this.#signs?.remove(id);
    if (this.#pending.size === 0) this.#link?.setBusy(false);
  }
}
