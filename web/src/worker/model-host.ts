// The worker's end of the protocol: one model, its requests in order, one engine step at a time.
import type { EngineModel, EngineModule, EngineSession } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import type { ClientMessage, WorkerMessage } from '../protocol.ts';
import type { FinishReason, GenerationResult, ModelInfo, SingleThreadReason } from '../types.ts';
import { unwrap } from './engine-error.ts';
import { loadModel } from './load-model.ts';
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
  openEngine(nThreads: number | undefined, kernels: string | undefined): Promise<OpenEngine>;
}

type LoadMessage = Extract<ClientMessage, { type: 'load' }>;
type GenerateMessage = Extract<ClientMessage, { type: 'generate' }>;

/** Enough for a conversation; the KV cache of a long-context model would not fit otherwise. */
const defaultMaxCtx = 4096;

export class ModelHost {
  readonly #environment: HostEnvironment;
  #loaded: { model: EngineModel; session: EngineSession } | undefined;
  /** Generations that are running or waiting; cancelling one takes it out. */
  readonly #wanted = new Set<number>();
  #tail: Promise<void> = Promise.resolve();

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
  }

  receive(message: ClientMessage): void {
    switch (message.type) {
      case 'load':
        void this.#answer(message.id, () => this.#load(message));
        break;
      case 'generate':
        this.#wanted.add(message.id);
        this.#tail = this.#tail.then(() => this.#answer(message.id, () => this.#generate(message)));
        break;
      case 'cancel':
        this.#wanted.delete(message.target);
        break;
      case 'tokenize':
        void this.#answer(message.id, () => {
          const { id, text, addBos, parseSpecial } = message;
          const tokens = this.#ready().model.encode(text, addBos, parseSpecial);
          return { type: 'tokenized', id, tokens };
        });
        break;
      case 'detokenize':
        void this.#answer(message.id, () => {
          const { id, tokens, special } = message;
          const text = unwrap(this.#ready().model.decode(tokens, special));
          return { type: 'detokenized', id, text };
        });
        break;
    }
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

  #ready() {
    if (!this.#loaded) throw new KingletError('invalid_argument', 'no model is loaded');
    return this.#loaded;
  }

  async #load({ id, sources, options }: LoadMessage): Promise<WorkerMessage> {
    const { running, model } = await loadModel(sources, options, {
      openEngine: (...wanted) => this.#environment.openEngine(...wanted),
      onProgress: (progress) => {
        this.#environment.post({ type: 'progress', id, progress });
      },
    });
    const { contextLength } = model.info();
    const session = unwrap(
      model.newSession({
        nCtx: options.nCtx ?? Math.min(contextLength, defaultMaxCtx),
        nBatch: 0,
        kKind: 'f32',
        vKind: 'f32',
      }),
    );
    this.#loaded = { model, session };
    return { type: 'loaded', id, info: describe(model, session, running) };
  }

  /** Each generation starts from an empty context. */
  async #generate({ id, prompt, encoding, options }: GenerateMessage): Promise<WorkerMessage> {
    const { model, session } = this.#ready();
    const result: GenerationResult = {
      text: '',
      finishReason: 'cancelled',
      seed: options.seed,
      usage: { promptTokens: 0, completionTokens: 0 },
      timings: {
        promptMs: 0,
        firstTokenMs: 0,
        decodeMs: 0,
        promptTokensPerSecond: 0,
        tokensPerSecond: 0,
      },
    };
    const { usage, timings } = result;
    let token = -1;
    let finish: FinishReason | 'none' = 'none';

    if (this.#wanted.has(id)) {
      const tokens =
        typeof prompt === 'string'
          ? model.encode(prompt, encoding.addBos, encoding.parseSpecial)
          : prompt;
      unwrap(session.truncate(0));
      unwrap(session.start(tokens, options));
    }
    while (finish === 'none' && this.#wanted.has(id)) {
      const startedAt = performance.now();
      const step = unwrap(session.step());
      const stepMs = performance.now() - startedAt;

      usage.promptTokens = step.nPromptDone;
      if (step.token < 0 && step.finishReason === 'none') {
        timings.promptMs += stepMs;
      } else {
        timings.decodeMs += stepMs;
      }
      if (step.token >= 0) {
        token = step.token;
        usage.completionTokens += 1;
        if (usage.completionTokens === 1) timings.firstTokenMs = timings.promptMs + stepMs;
      }
      if (step.token >= 0 || step.text !== '') {
        result.text += step.text;
        this.#environment.post({ type: 'piece', id, piece: { text: step.text, token } });
      }
      finish = step.finishReason;
      if (finish === 'none') await yieldToMessages();
      else result.finishReason = finish;
    }
    this.#wanted.delete(id);
    timings.promptTokensPerSecond = rate(usage.promptTokens, timings.promptMs);
    timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
    return { type: 'generated', id, result };
  }
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens * 1000) / ms : 0;
}

function describe(model: EngineModel, session: EngineSession, opened: OpenEngine): ModelInfo {
  const { weightBytes, kernels, chatTemplate, ...info } = model.info();
  const nThreads = opened.engine.nPoolThreads();
  return {
    ...info,
    chatTemplate: chatTemplate || undefined,
    nCtx: session.nCtx(),
    memory: { weightBytes, kvBytes: session.kvBytes(), scratchBytes: session.scratchBytes() },
    runtime: {
      variant: opened.variant,
      kernels,
      nThreads,
      singleThreadReason: nThreads > 1 ? undefined : opened.singleThreadReason,
    },
  };
}
