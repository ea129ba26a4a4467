// A tab's place at a model that all tabs of an origin share: see "One model for all tabs" in
// docs/architecture.md.
import { errorCodes, KingletError } from './errors.ts';
import { giveLifeSign, watchLife } from './life-sign.ts';
import type { LoadedInWorker } from './load-in-worker.ts';
import type { LoadedAnswer, SharingMessage, Welcome, WorkerMessage } from './protocol.ts';
import type { LoadProgress } from './types.ts';
import { WorkerClient } from './worker-client.ts';
import type { StartWorker, WorkerLink, WorkerListener, WorkerPlace } from './worker-link.ts';

export interface Member {
  role: 'host' | 'guest';
  /** Of the worker that runs the model, in this tab or in another. */
  client: WorkerClient;
  loaded: LoadedAnswer;
}

export interface SeatEvents {
  /** Loads the model in a worker of this tab. */
  load: (
    signal: AbortSignal,
    onProgress: (progress: LoadProgress) => void,
  ) => Promise<LoadedInWorker>;
  onProgress: (progress: LoadProgress) => void;
  onMember: (member: Member) => void;
}

/** A worker of another tab that was asked to be joined. */
interface Visit {
  client: WorkerClient | undefined;
  /** The lock of the worker, when it has answered. */
  hostLock: string | undefined;
  askAgain: () => void;
}

/**
 * Stands in line for a Web Lock, whose holder is the host and loads the model. Until its turn comes, it
 * is a guest of the host's worker. When a host is gone, the browser gives the lock to the next in line,
 * and the other guests join that one.
 */
export class Seat {
  readonly #name: string;
  readonly #events: SeatEvents;
  readonly #news: BroadcastChannel;
  readonly #ending = new AbortController();
  #member = deferred<Member>();
  #hasJoined = false;
  #isHost = false;
  #host: Member | undefined;
  #visit: Visit | undefined;

  /** `name`: of the model's lock and channel. */
  constructor(name: string, events: SeatEvents) {
    this.#name = name;
    this.#events = events;
    this.#news = new BroadcastChannel(name);
    this.#news.onmessage = ({ data }: MessageEvent<SharingMessage>) => {
      this.#hear(data);
    };
    const { signal } = this.#ending;
    navigator.locks
      .request(name, { signal }, () => this.#beHost())
      .catch((error: unknown) => {
        this.leave(error, { atOnce: true });
      });
    void this.#beGuest();
  }

  /** Resolves when a worker can be asked. Rejects if the model cannot be loaded, or on leave(). */
  get member(): Promise<Member> {
    return this.#member.promise;
  }

  /** Whether the seat was left, or lost because the worker crashed. */
  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /**
   * Gives the seat up. A host's worker goes on while it has guests, unless `atOnce`: then they lose it,
   * as if the tab were closed.
   */
  leave(reason: unknown, { atOnce = false } = {}): void {
    if (this.isOver) return;
    this.#ending.abort(reason);
    this.#news.close();
    this.#member.reject(reason);
    this.#visit?.client?.close(hostGone());
    if (!this.#host) return;
    const { client } = this.#host;
    const close = () => {
      client.close(hostGone());
    };
    if (atOnce) close();
    else {
      client.ask('leave', null).then(close, close);
      addEventListener('pagehide', close, { once: true }); // a page that is put aside runs nothing
    }
  }

  #hear(message: SharingMessage): void {
    if (this.#isHost) return;
    const visit = this.#visit;
    if (message.type === 'progress') this.#events.onProgress(message.progress);
    if (message.type !== 'hosting' || !visit || message.lock === visit.hostLock) return;
    if (visit.hostLock === undefined) visit.askAgain();
    else visit.client?.close(hostGone());
  }

  /** Keeps the lock until the returned promise settles. */
  async #beHost(): Promise<void> {
    const { signal } = this.#ending;
    this.#isHost = true;
    this.#visit?.client?.close(hostGone());
    const { client, loaded } = await this.#events.load(signal, (progress) => {
      this.#events.onProgress(progress);
      if (!this.isOver) this.#news.postMessage({ type: 'progress', progress });
    });
    const closed = new Promise<KingletError>((resolve) => {
      client.onClosed = resolve;
    });
    if (this.isOver) client.close(hostGone());
    else {
      this.#host = { role: 'host', client, loaded };
      await client.ask('share', { name: this.#name });
      this.#join(this.#host);
    }
    this.leave(await closed, { atOnce: true });
  }

  #join(member: Member): void {
    this.#hasJoined = true;
    this.#events.onMember(member);
    this.#member.resolve(member);
  }

  async #beGuest(): Promise<void> {
    const visit: Visit = {
      ...{ client: undefined, hostLock: undefined, askAgain: () => undefined },
    };
    this.#visit = visit;
    const start: StartWorker = (listener) => this.#knock(visit, listener);
    const client = await WorkerClient.start(start, noPlace);
    visit.client = client;
    client.onClosed = () => {
      if (this.#hasJoined) this.#member = deferred();
      this.#hasJoined = false;
      if (!this.isOver && !this.#isHost) void this.#beGuest();
    };
    if (this.isOver || this.#isHost) client.close(hostGone());
  }

  /** Opens a channel of its own, and asks the host's worker to come there. */
  #knock(visit: Visit, listener: WorkerListener): Promise<WorkerLink> {
    return new Promise((resolve) => {
      const ending = new AbortController();
      const { release } = giveLifeSign(({ lock }) => {
        const channel = new BroadcastChannel(lock);
        channel.onmessage = ({ data }: MessageEvent<WorkerMessage | Welcome>) => {
          if (data.type === 'welcome') this.#enter(visit, data.lock, ending.signal);
          else listener.onMessage(data);
        };
        visit.askAgain = () => {
          this.#news.postMessage({ type: 'guest', lock } satisfies SharingMessage);
        };
        if (!this.isOver) visit.askAgain();
        resolve({
          post: (message) => {
            channel.postMessage(message);
          },
          terminate: () => {
            ending.abort();
            channel.close();
            release();
          },
          setBusy: () => undefined,
        });
      });
    });
  }

  #enter(visit: Visit, hostLock: string, signal: AbortSignal): void {
    const { client } = visit;
    if (!client) return;
    visit.hostLock = hostLock;
    const onEnd = () => {
      client.close(hostGone());
    };
    watchLife({ type: 'alive', lock: hostLock }, onEnd, signal);
    const onLoaded = (loaded: LoadedAnswer) => {
      this.#join({ role: 'guest', client, loaded });
    };
    client.ask('join', null).then(onLoaded, () => undefined);
  }
}

/** What a link to another tab does not need. */
const noPlace: WorkerPlace = { where: 'own', make: undefined, url: undefined, isBlob: false };

export function hostGone(why: string = errorCodes.host_gone): KingletError {
  return new KingletError('host_gone', why);
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined); // nobody may be waiting
  return { promise, resolve, reject };
}
