// The worker's end of the protocol: one model, its requests in order, one engine step at a time.
import type { EngineModel, EngineModule, EngineSession } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import type {
  ClientMessage,
  KvKinds,
  PostedPrompt,
  WorkerMessage,
} from '../protocol.ts';
import type {
  FinishReason,
  GenerationResult,
  ModelInfo,
  SessionInfo,
  SingleThreadReason,
} from '../types.ts';
import { unwrap } from './engine-error.ts';
import { loadModel } from './load-model.ts';
import { defaultNCtx } from './memory-plan.ts';
import { yieldToMessages } from './yield.ts';

/** A running engine and how it was chosen. */
export interface OpenEngine {
  engine: EngineModule;
  variant: string;
  /** Told where the engine has one thread only. */
  singleThreadReason: SingleThreadReason;
}

export interface HostEnvironment {
  post(message: WorkerMessage): void;
  /** `maxima`: bytes of memory, of which the first is reserved that the browser grants. */
  openEngine(
    nThreads: number | undefined,
    kernels: string | undefined,
    maxima: readonly number[],
  ): Promise<OpenEngine>;
}

type Message<T extends ClientMessage['type']> = Extract<ClientMessage, { type: T }>;

interface HostedSession {
  readonly engine: EngineSession;
  readonly kv: KvKinds;
  /** Settles when everything that was asked of the session so far is done. */
  tail: Promise<void>;
  isClosed: boolean;
}

/**
 * One model and its sessions. The requests to a session run one after the other, those to different
 * sessions by turns: a generation lets messages in after each step.
 */
export class ModelHost {
  readonly #environment: HostEnvironment;
  #model: EngineModel | undefined;
  readonly #sessions = new Map<number, HostedSession>();
  /** Generations that are running or waiting; cancelling one takes it out. */
  readonly #wanted = new Set<number>();

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
  }

  receive(message: ClientMessage): void {
    switch (message.type) {
      case 'load':
        void this.#answer(message.id, () => this.#load(message));
        break;
      case 'newSession':
        void this.#answer(message.id, () => this.#newSession(message));
        break;
      case 'generate':
        this.#wanted.add(message.id);
        this.#enqueue(message, (session) => this.#generate(session, message));
        break;
      case 'fork':
        this.#enqueue(message, ({ engine, kv }) =>
          this.#add(message.id, unwrap(engine.fork()), kv),
        );
        break;
      case 'truncate':
        this.#enqueue(message, ({ engine }) => {
          unwrap(engine.truncate(message.nPositions));
          return { type: 'done', id: message.id };
        });
        break;
      case 'tokens':
        this.#enqueue(message, ({ engine }) => {
          return { type: 'tokens', id: message.id, tokens: engine.tokens() };
        });
        break;
      case 'closeSession':
        this.#close(message.session);
        break;
      case 'cancel':
        this.#wanted.delete(message.target);
        break;
      case 'tokenize':
        void this.#answer(message.id, () => {
          const { id, text, addBos, parseSpecial } = message;
          return { type: 'tokens', id, tokens: this.#ready().encode(text, addBos, parseSpecial) };
        });
        break;
      case 'detokenize':
        void this.#answer(message.id, () => {
          const { id, tokens, special } = message;
          return { type: 'detokenized', id, text: unwrap(this.#ready().decode(tokens, special)) };
        });
        break;
    }
  }

  /** Does the work when the session has done what was asked of it before. */
  #enqueue(
    { id, session: sessionId }: { id: number; session: number },
    work: (session: HostedSession) => WorkerMessage | Promise<WorkerMessage>,
  ): void {
    const session = this.#sessions.get(sessionId);
    const run = () => this.#answer(id, () => work(checkOpen(session)));
    if (session) session.tail = session.tail.then(run);
    else void run();
  }

  /**
   * Posts what `work` gives. Its KingletErrors are answers too; anything else was thrown by the
   * engine, which never throws while it is sound.
   */
  async #answer(id: number, work: () => WorkerMessage | Promise<WorkerMessage>): Promise<void> {
    try {
      this.#environment.post(await work());
    } catch (error) {
      this.#environment.post(
        error instanceof KingletError
          ? { type: 'failed', id, code: error.code, message: error.message }
          : { type: 'crashed', message: messageOf(error) },
      );
    }
  }

  #ready(): EngineModel {
    if (!this.#model) throw new KingletError('invalid_argument', 'no model is loaded');
    return this.#model;
  }

  async #load({ id, sources, options }: Message<'load'>): Promise<WorkerMessage> {
    const { running, model } = await loadModel(sources, options, {
      openEngine: (...wanted) => this.#environment.openEngine(...wanted),
      onProgress: (progress) => {
        this.#environment.post({ type: 'progress', id, progress });
      },
      onWarning: ({ code, message }) => {
        this.#environment.post({ type: 'warning', id, code, message });
      },
    });
    this.#model = model;
    const nCtx = options.nCtx ?? defaultNCtx(model.info().contextLength);
    const { session } = this.#newSession({ id, options: { nCtx, kv: options.kv } });
    return { type: 'loaded', id, info: describe(model, session, running), session };
  }

  #newSession({ id, options: { nCtx, kv } }: Omit<Message<'newSession'>, 'type'>) {
    const options = { nCtx, nBatch: 0, kKind: kv.k, vKind: kv.v };
    return this.#add(id, unwrap(this.#ready().newSession(options)), kv);
  }

  #add(id: number, engine: EngineSession, kv: KvKinds) {
    this.#sessions.set(id, { engine, kv, tail: Promise.resolve(), isClosed: false });
    const memory = { kvBytes: engine.kvBytes(), scratchBytes: engine.scratchBytes() };
    return { type: 'session', id, session: { nCtx: engine.nCtx(), kv, memory } } as const;
  }

  #close(id: number): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    session.isClosed = true;
    this.#sessions.delete(id);
    void session.tail.then(() => {
      session.engine.delete();
    });
  }

  async #generate(
    session: HostedSession,
    { id, prompt, options }: Message<'generate'>,
  ): Promise<WorkerMessage> {
    const { engine } = session;
    const result: GenerationResult = {
      text: '',
      finishReason: 'cancelled',
      seed: options.seed,
      usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
      timings: {
        promptMs: 0,
        firstTokenMs: 0,
        decodeMs: 0,
        promptTokensPerSecond: 0,
        tokensPerSecond: 0,
      },
    };
    const { usage, timings } = result;
    const startedAt = performance.now();
    let token = -1;
    let finish: FinishReason | 'none' = 'none';

    if (this.#wanted.has(id)) {
      const { replacesContext } = prompt;
      const tokens = this.#promptTokens(engine, prompt);
      usage.cachedTokens = unwrap(engine.start(tokens, { ...options, replacesContext }));
    }
    while (finish === 'none' && this.#wanted.has(id)) {
      const stepAt = performance.now();
      const step = unwrap(engine.step());
      const now = performance.now();

      usage.promptTokens = step.nPromptDone;
      if (step.token < 0 && step.finishReason === 'none') {
        timings.promptMs += now - stepAt;
      } else {
        timings.decodeMs += now - stepAt;
      }
      if (step.token >= 0) {
        token = step.token;
        usage.completionTokens += 1;
        if (usage.completionTokens === 1) timings.firstTokenMs = now - startedAt;
      }
      if (step.token >= 0 || step.text !== '') {
        result.text += step.text;
        this.#environment.post({ type: 'piece', id, piece: { text: step.text, token } });
      }
      finish = step.finishReason;
      if (finish === 'none') {
        await yieldToMessages();
        checkOpen(session);
      } else {
        result.finishReason = finish;
      }
    }
    if (finish === 'none') unwrap(engine.cancel());
    this.#wanted.delete(id);
    timings.promptTokensPerSecond = rate(usage.promptTokens - usage.cachedTokens, timings.promptMs);
    timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
    return { type: 'generated', id, result };
  }

  #promptTokens(session: EngineSession, prompt: PostedPrompt): Int32Array {
    if (typeof prompt.content !== 'string') return prompt.content;
    const atStart = prompt.replacesContext || session.nPositions() === 0;
    const addBos = prompt.addBos ?? atStart;
    return this.#ready().encode(prompt.content, addBos, prompt.parseSpecial);
  }
}

/** Also of a session that was closed while a request to it waited. */
function checkOpen(session: HostedSession | undefined): HostedSession {
  if (session && !session.isClosed) return session;
  throw new KingletError('disposed', 'the session has been disposed of');
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens * 1000) / ms : 0;
}

function describe(model: EngineModel, session: SessionInfo, opened: OpenEngine): ModelInfo {
  const { weightBytes, kernels, chatTemplate, ...info } = model.info();
  const nThreads = opened.engine.nPoolThreads();
  return {
    ...info,
    chatTemplate: chatTemplate || undefined,
    nCtx: session.nCtx,
    memory: { weightBytes, ...session.memory, heapBytes: opened.engine.HEAPU8.length },
    runtime: {
      variant: opened.variant,
      kernels,
      nThreads,
      singleThreadReason: nThreads > 1 ? undefined : opened.singleThreadReason,
    },
  };
}
