// The tabs that share the model of this worker: see "One model for all tabs" in docs/architecture.md.
import { giveLifeSign, watchLife } from '../life-sign.ts';
import type {
  CallMessage,
  ClientMessage,
  MadeSession,
  SharingMessage,
  Welcome,
  WorkerMessage,
} from '../protocol.ts';

type Receive = (message: ClientMessage, post: (message: WorkerMessage) => void) => void;

/** Calls of guests have ids from here on, those of the worker's own page are below. */
const firstId = 2 ** 31;

export class Guests {
  readonly #receive: Receive;
  readonly #guests = new Map<string, Guest>();
  readonly #ending = new AbortController();
  #nextId = firstId;
  #onEmpty: (() => void) | undefined;

  /** `name`: of the channel where the guests ask to join. */
  constructor(name: string, receive: Receive) {
    this.#receive = receive;
    const { signal } = this.#ending;
    const { release } = giveLifeSign(({ lock }) => {
      if (signal.aborted) return;
      const channel = new BroadcastChannel(name);
      channel.onmessage = ({ data }: MessageEvent<SharingMessage>) => {
        if (data.type === 'guest') this.#admit(data.lock, lock);
      };
      channel.postMessage({ type: 'hosting', lock } satisfies SharingMessage);
      signal.addEventListener('abort', () => {
        channel.close();
      });
    });
    signal.addEventListener('abort', release);
  }

  /** Resolves when there are no guests; from then on, none is admitted. */
  async whenEmpty(): Promise<void> {
    if (this.#guests.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
    this.close();
  }

  close(): void {
    this.#ending.abort();
    for (const guest of this.#guests.values()) guest.close();
    this.#guests.clear();
  }

  #admit(lock: string, ownLock: string): void {
    if (this.#guests.has(lock)) return; // it asked twice
    const guest = new Guest(lock, this.#receive, () => this.#nextId++);
    this.#guests.set(lock, guest);
    guest.post({ type: 'welcome', lock: ownLock });
    const onEnd = () => {
      guest.close();
      this.#guests.delete(lock);
      if (this.#guests.size === 0) this.#onEmpty?.();
    };
    watchLife({ type: 'alive', lock }, onEnd, this.#ending.signal);
  }
}

/** One handle of another tab, with a channel of its own. */
class Guest {
  readonly #channel: BroadcastChannel;
  readonly #receive: Receive;
  readonly #newId: () => number;
  /** The host's ids of the calls that run, by the guest's. */
  readonly #running = new Map<number, number>();
  readonly #sessions = new Set<number>();
  #isClosed = false;

  constructor(name: string, receive: Receive, newId: () => number) {
    this.#receive = receive;
    this.#newId = newId;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<ClientMessage>) => {
      if (data.type === 'call') this.#call(data);
      else if (data.type === 'cancel') this.#cancel(this.#running.get(data.target));
      else this.#closeSession(data.session);
    };
  }

  post(message: WorkerMessage | Welcome): void {
    if (!this.#isClosed) this.#channel.postMessage(message);
  }

  /** Ends its calls and frees its sessions. */
  close(): void {
    this.#isClosed = true;
    this.#channel.close();
    for (const id of this.#running.values()) this.#cancel(id);
    for (const session of this.#sessions) this.#closeSession(session);
  }

  #call(message: CallMessage): void {
    const { id, call } = message;
    const own = this.#newId();
    this.#running.set(id, own);
    this.#receive({ ...message, id: own }, (reply) => {
      if (reply.type === 'crashed') {
        this.post(reply);
        return;
      }
      if (reply.type !== 'notice') this.#running.delete(id);
      if (reply.type === 'answer' && (call === 'newSession' || call === 'fork')) {
        const session = (reply.answer as MadeSession).id;
        this.#sessions.add(session);
        if (this.#isClosed) this.#closeSession(session);
      }
      this.post({ ...reply, id });
    });
  }

  #cancel(target: number | undefined): void {
    if (target !== undefined) this.#receive({ type: 'cancel', target }, () => undefined);
  }

  #closeSession(session: number): void {
    this.#sessions.delete(session);
    this.#receive({ type: 'closeSession', session }, () => undefined);
  }
}
