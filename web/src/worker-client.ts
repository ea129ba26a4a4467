// The page's end of the protocol: matches answers to their requests, and rejects requests if the
// worker dies.
import { KingletError, messageOf } from './errors.ts';
import type { CancelWord, ClientMessage, WorkerMessage } from './protocol.ts';
import type { StartWorker, WorkerLink, WorkerListener, WorkerPlace } from './worker-link.ts';

/** An answer to a request: a message with its id. */
export type Answer = Extract<WorkerMessage, { id: number }>;

export type AnswerOf<T extends Answer['type']> = Extract<Answer, { type: T }>;

type Notice = Exclude<ClientMessage, { id: number }>;
type Request = Extract<ClientMessage, { id: number }>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

export interface RequestListener {
  /** Called with every answer except `failed`. */
  onAnswer(answer: Exclude<Answer, { type: 'failed' }>): void;
  onError(error: unknown): void;
}

export class WorkerClient {
  #link: WorkerLink | undefined;
  #closedBy: KingletError | undefined;
  #cancelWord: Int32Array | undefined;
  #nextId = 1;
  readonly #pending = new Map<number, RequestListener>();

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

  /**
   * Posts a request and returns its id. All errors, even of a closed worker, go to the listener.
   */
  request(
    request: WithoutId<Request>,
    listener: RequestListener,
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
      this.#link.post({ ...request, id }, transfer);
    } catch (error) {
      this.#settle(id);
      const message = `this cannot be sent to the worker: ${messageOf(error)}`;
      listener.onError(new KingletError('invalid_argument', message));
    }
    return id;
  }

  /**
   * Posts a request and returns its last answer, of the type `expected`. `onNotice` gets the
   * answers before that. If the signal aborts, this cancels the request and rejects with the
   * signal's reason.
   */
  ask<T extends Answer['type']>(
    request: WithoutId<Request>,
    expected: T,
    signal?: AbortSignal,
    onNotice?: (answer: Answer) => void,
  ): Promise<AnswerOf<T>> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      let id = 0;
      const onAbort = () => {
        this.abandon(id);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a signal's reason may be anything
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort);
      id = this.request(request, {
        onAnswer: (answer) => {
          if (!isAnswer(answer, expected)) {
            onNotice?.(answer);
            return;
          }
          signal?.removeEventListener('abort', onAbort);
          resolve(answer);
        },
        onError: (error) => {
          signal?.removeEventListener('abort', onAbort);
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- may be anything
          reject(error);
        },
      });
    });
  }

  /** Posts a message that has no answer, unless the worker is closed. */
  post(notice: Notice): void {
    if (!this.#closedBy) this.#link?.post(notice);
  }

  /** Asks the worker to end a request, which then answers as usual. */
  cancel(target: number): void {
    if (this.#cancelWord) Atomics.store(this.#cancelWord, 0, target);
    this.post({ type: 'cancel', target });
  }

  /** From now on, the engine also notices in the middle of a step that work is cancelled. */
  useCancelWord({ memory, address }: CancelWord): void {
    this.#cancelWord = new Int32Array(memory, address, 1);
  }

  /** Cancels a request without waiting. Its listener is not called any more. */
  abandon(target: number): void {
    this.#settle(target);
    this.cancel(target);
  }

  /** Ends the worker, which frees its memory, and rejects the pending requests. */
  close(reason: KingletError): void {
    if (this.#closedBy) return;
    this.#closedBy = reason;
    this.#cancelWord = undefined; // it keeps the engine's memory alive
    this.#link?.terminate();
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
    if (!notFinal.includes(message.type)) this.#settle(message.id);
    if (message.type === 'failed') {
      listener.onError(new KingletError(message.code, message.message));
    } else {
      listener.onAnswer(message);
    }
  }

  #crash(message: string): void {
    this.close(new KingletError('worker_crashed', `the worker crashed: ${message}`));
  }

  #settle(id: number): void {
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#link?.setBusy(false);
  }
}

/** Answers that are not the last one of their request. */
const notFinal: Answer['type'][] = [
  ...(['loading', 'starting', 'started', 'progress', 'warning', 'piece', 'events'] as const),
  ...(['encoded', 'imageRead'] as const),
];

export function isAnswer<T extends Answer['type']>(answer: Answer, type: T): answer is AnswerOf<T> {
  return answer.type === type;
}
