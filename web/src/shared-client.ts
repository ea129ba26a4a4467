// The calls of one handle to a model that all tabs of an origin share. Its worker may end with its tab:
// then sessions and calls go on in another, as far as this tab knows what they need.
import { KingletError } from './errors.ts';
import type {
  AnswerOf,
  CallName,
  MadeSession,
  NoticeOf,
  PostedSessionOptions,
  TakesOf,
} from './protocol.ts';
import { hostGone, Seat } from './shared-seat.ts';
import type { Member, SeatEvents } from './shared-seat.ts';
import type { ModelInfo } from './types.ts';
import { Client } from './worker-client.ts';
import type { CallListener, Unanswered } from './worker-client.ts';

interface SharedSession {
  options: PostedSessionOptions;
  /** The context after the last call that was answered. */
  tokens: Int32Array;
  /** Its id in the worker of a member. */
  made: { by: Member; id: Promise<number> } | undefined;
  /** The loss that broke off a call: those that wait behind it would find another context. */
  brokenBy: unknown;
}

interface SharedCall {
  call: CallName;
  takes: TakesOf<CallName>;
  listener: CallListener<never> & { onAnswer(answer: unknown): void };
  nSent: number;
  sent: { to: Member; id: number } | undefined;
  isCancelled: boolean;
  /** The tokens of the pieces that were passed on, and how many of them still come again. */
  passed: number[];
  nRepeated: number;
  /** Whether something was passed on that would not come again. */
  isUnique: boolean;
}

/** After these, the session's context is asked for. */
const changing = new Set<CallName>([
  'generate',
  'ask',
  'truncate',
  'keepPrefix',
  'decode',
  'restore',
]);

/** A call is sent so often at most: it could be what ends the workers. */
const maxSent = 4;

/** The id of the model's first session; others have the ids of their calls, from 1. */
const firstSession = 0;

export class SharedClient extends Client {
  readonly #name: string;
  readonly #events: SeatEvents;
  #seat: Seat;
  #info: ModelInfo | undefined;
  #closedBy: KingletError | undefined;
  #nextId = firstSession + 1;
  readonly #calls = new Map<number, SharedCall>();
  readonly #sessions = new Map<number, SharedSession>();
  /** The search indexes, each with its id in the worker of the member that opened it. */
  readonly #indexes = new Map<number, { by: Member; id: number }>();
  /** Settled while the page is not put aside. */
  #shown: Promise<void> = Promise.resolve();

  constructor(name: string, events: Omit<SeatEvents, 'onMember'>) {
    super();
    this.#name = name;
    this.#events = {
      load: events.load,
      onProgress: (progress) => {
        if (!this.#info) events.onProgress(progress);
      },
      onMember: (member) => {
        this.#describe(member);
      },
    };
    this.#seat = new Seat(name, this.#events);
    addEventListener('pagehide', this.#onHide);
  }

  /** Resolves when the model is loaded, here or in another tab. */
  async join(): Promise<{ info: ModelInfo; session: MadeSession }> {
    const member = await this.#seat.member;
    const { info, session } = member.loaded;
    const made = member.role === 'host' ? Promise.resolve(session.id) : undefined;
    this.#sessions.set(firstSession, {
      options: { nCtx: session.info.nCtx, kv: session.info.kv, kvPool: 0 },
      tokens: new Int32Array(),
      made: made && { by: member, id: made },
      brokenBy: undefined,
    });
    return { info: this.#info ?? info, session: { ...session, id: firstSession } };
  }

  call<Name extends CallName>(
    call: Name,
    takes: TakesOf<Name>,
    listener: CallListener<Name>,
  ): number {
    const id = this.#nextId++;
    if (this.#closedBy) {
      listener.onError(this.#closedBy);
      return id;
    }
    const shared: SharedCall = {
      ...{ call, takes, listener },
      ...{ nSent: 0, sent: undefined, isCancelled: false },
      ...{ passed: [], nRepeated: 0, isUnique: false },
    };
    this.#calls.set(id, shared);
    void this.#send(id, shared);
    return id;
  }

  post(message: Unanswered): void {
    if (message.type === 'cancel') this.cancel(message.target);
    else this.#closeSession(message.session);
  }

  cancel(target: number): void {
    const call = this.#calls.get(target);
    if (!call) return;
    call.isCancelled = true;
    this.#passCancellation(call);
  }

  /**
   * Only when all pieces that the caller has are computed again: the result of a call that is cancelled
   * has what was generated so far.
   */
  #passCancellation({ isCancelled, sent, nRepeated }: SharedCall): void {
    if (isCancelled && nRepeated === 0) sent?.to.client.cancel(sent.id);
  }

  abandon(target: number): void {
    this.cancel(target);
    this.#calls.delete(target);
  }

  /** Leaves the worker to the other tabs; ends it if there are none. */
  close(reason: KingletError): void {
    if (this.#closedBy) return;
    this.#closedBy = reason;
    removeEventListener('pagehide', this.#onHide);
    const calls = [...this.#calls.keys()].map((id) => this.#taken(id));
    for (const session of [...this.#sessions.keys()]) this.#closeSession(session);
    this.#seat.leave(reason);
    for (const call of calls) call?.listener.onError(reason);
  }

  /**
   * A page that is put aside to be shown again later runs nothing, and must not be host or in line.
   */
  readonly #onHide = ({ persisted }: PageTransitionEvent) => {
    if (!persisted) return;
    this.#shown = new Promise((resolve) => {
      addEventListener(
        'pageshow',
        () => {
          resolve();
        },
        { once: true },
      );
    });
    this.#seat.leave(hostGone(), { atOnce: true });
  };

  #describe({ role, loaded }: Member): void {
    const { memory, runtime } = loaded.info;
    this.#info ??= loaded.info;
    Object.assign(this.#info, { memory, runtime: { ...runtime, shared: role } });
  }

  async #member(): Promise<Member> {
    await this.#shown;
    if (this.#seat.isOver && !this.#closedBy) this.#seat = new Seat(this.#name, this.#events);
    return this.#seat.member;
  }

  async #send(id: number, call: SharedCall): Promise<void> {
    try {
      const member = await this.#member();
      const { session, index } = call.takes as { session?: number; index?: number };
      const made = session === undefined ? undefined : await this.#made(session, member, call);
      const there = {
        ...(made !== undefined && { session: made }),
        ...(index !== undefined && { index: this.#indexAt(index, member) }),
      };
      if (this.#calls.get(id) === call) this.#sendTo(member, there, id, call);
    } catch (error) {
      this.#fail(id, call, error);
    }
  }

  /** Sends a call. `there`: its session and index by their ids in the member's worker. */
  #sendTo(
    member: Member,
    there: { session?: number; index?: number },
    id: number,
    call: SharedCall,
  ): void {
    const { client } = member;
    const { session } = there;
    const sending = { hasFailed: false };
    call.nSent += 1;
    call.nRepeated = call.passed.length;
    const takes = call.takes === null ? null : { ...call.takes, ...there };
    const sent = client.call(call.call, takes, {
      onNotice: (notice) => {
        this.#pass(id, call, notice);
      },
      onAnswer: (answer: unknown) => {
        void contextKnown.then(() => {
          this.#answer(id, call, member, answer);
        });
      },
      onError: (error) => {
        sending.hasFailed = true;
        call.sent = undefined;
        this.#fail(id, call, error);
      },
    });
    const hasContext = !sending.hasFailed && session !== undefined && changing.has(call.call);
    const contextKnown = hasContext ? this.#noteContext(client, session, call) : Promise.resolve();
    if (sending.hasFailed) return;
    call.sent = { to: member, id: sent };
    this.#passCancellation(call);
  }

  /** Notes the context after a call that was just sent. */
  #noteContext(client: Client, session: number, call: SharedCall): Promise<void> {
    const shared = this.#sessionOf(call);
    const note = (tokens: Int32Array) => {
      if (shared) shared.tokens = tokens;
    };
    return client.ask('tokens', { session }).then(note, () => undefined); // it was closed
  }

  /** Passes on what a call reports; after it was sent again, only what is new. */
  #pass(id: number, call: SharedCall, notice: NoticeOf<CallName>): void {
    if (this.#calls.get(id) !== call) return;
    if (call.call === 'ask') call.isUnique = true;
    const { piece } = notice as Partial<NoticeOf<'generate'>>;
    if (piece) {
      // The ids of calls of tools are made up.
      if (piece.toolCalls) call.isUnique = true;
      if (call.nRepeated > 0) {
        const expected = call.passed[call.passed.length - call.nRepeated--];
        if (piece.token === expected) {
          this.#passCancellation(call);
          return;
        }
        this.cancel(id);
        this.#taken(id)?.listener.onError(hostGone());
        return;
      }
      call.passed.push(piece.token);
    }
    call.listener.onNotice?.(notice as never);
  }

  #answer(id: number, call: SharedCall, member: Member, answer: unknown): void {
    if (!this.#taken(id)) return;
    let result = answer;
    if (call.call === 'newSession' || call.call === 'fork') {
      const made = answer as AnswerOf<'newSession'>;
      const parent = this.#sessionOf(call);
      const options = parent?.options ?? (call.takes as PostedSessionOptions);
      this.#sessions.set(id, {
        ...{ options, tokens: parent?.tokens ?? new Int32Array() },
        ...{ made: { by: member, id: Promise.resolve(made.id) }, brokenBy: undefined },
      });
      result = { ...made, id };
    } else if (call.call === 'openIndex') {
      const opened = answer as AnswerOf<'openIndex'>;
      this.#indexes.set(id, { by: member, id: opened.index });
      result = { ...opened, index: id };
    } else if (call.call === 'closeIndex') {
      this.#indexes.delete((call.takes as TakesOf<'closeIndex'>).index);
    }
    call.listener.onAnswer(result);
  }

  /** Sends a call again whose worker is gone, if it can go on; otherwise it gets the error. */
  #fail(id: number, call: SharedCall, error: unknown): void {
    if (this.#calls.get(id) !== call) return;
    const session = this.#sessionOf(call);
    const isLost = error instanceof KingletError && error.code === 'host_gone';
    if (isLost) {
      const isBehind = session?.brokenBy === error && !replacesContext(call);
      const { index } = call.takes as { index?: number };
      const canGoOn = !call.isUnique && index === undefined;
      const goesOn = canGoOn && !isBehind && call.nSent < maxSent;
      if (goesOn) {
        void this.#send(id, call);
        return;
      }
      if (session) session.brokenBy = error;
    }
    this.#calls.delete(id);
    call.listener.onError(error);
  }

  #taken(id: number): SharedCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  /** Returns an index's id in the member's worker. Whoever uses the index must open it again. */
  #indexAt(index: number, member: Member): number {
    const opened = this.#indexes.get(index);
    if (!opened) throw new KingletError('disposed', 'the search index has been closed');
    if (opened.by === member) return opened.id;
    throw hostGone();
  }

  #sessionOf({ takes }: SharedCall): SharedSession | undefined {
    const { session } = takes as { session?: number };
    return session === undefined ? undefined : this.#sessions.get(session);
  }

  /** Returns the session's id in the member's worker, where it is made if it is not there. */
  #made(session: number, member: Member, call: SharedCall): Promise<number> {
    const { info, session: first } = member.loaded;
    if (!info.hasWeights || info.purpose !== 'text') return Promise.resolve(first.id); // there is none
    const shared = this.#sessions.get(session);
    if (!shared) throw new KingletError('disposed', 'the session has been disposed of');
    if (shared.made?.by !== member) {
      const id = remake(shared, member, replacesContext(call));
      shared.made = { by: member, id };
      id.catch(() => {
        if (shared.made?.id === id) shared.made = undefined;
      });
    }
    return shared.made.id;
  }

  #closeSession(id: number): void {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (!session?.made) return;
    const { by, id: made } = session.made;
    const close = (there: number) => {
      by.client.post({ type: 'closeSession', session: there });
    };
    made.then(close, () => undefined);
  }
}

/** Makes the session in a worker, with the context that this tab knows, unless that is replaced. */
async function remake(
  { options, tokens }: SharedSession,
  { client }: Member,
  isReplaced: boolean,
): Promise<number> {
  if (!isReplaced && tokens.some((token) => token < 0)) {
    throw new KingletError('host_gone', "the session's context has pictures, and its tab is gone");
  }
  const { id } = await client.ask('newSession', options);
  if (!isReplaced && tokens.length > 0) await client.ask('decode', { session: id, tokens });
  return id;
}

function replacesContext({ call, takes }: SharedCall): boolean {
  return (
    call === 'ask' || (call === 'generate' && (takes as TakesOf<'generate'>).prompt.replacesContext)
  );
}
