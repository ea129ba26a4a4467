// The worker's end of the protocol: holds one model and answers the requests to it.
import type { EngineApi, EngineModel, EngineModelInfo, EngineModule, EngineSession } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { isPooling } from '../pooling.ts';
import type {
  CancelWord,
  ClientMessage,
  Conversation,
  KvKinds,
  PostedEncoding,
  PostedLoadOptions,
  WorkerMessage,
} from '../protocol.ts';
import type { KvPages, LoadProgress, ModelInfo, SessionInfo } from '../types.ts';
import { answerRequest } from './answer-request.ts';
import { appendTokens } from './append-tokens.ts';
import { embedTexts, scoreTexts } from './encode-texts.ts';
import type { EncodingWork } from './encode-texts.ts';
import { conversationPrompt } from './conversation-prompt.ts';
import { unwrap } from './engine-error.ts';
import { HeaderReader, putAside } from './header-reader.ts';
import { nameFiles, nameReader } from './hub-listing.ts';
import { accessTo, loadModel } from './load-model.ts';
import { loadVision } from './load-vision.ts';
import type { OpenEngine, PlanMemory } from './open-engine.ts';
import { openSource } from './open-source.ts';
import { noReader, PictureReading } from './picture-reading.ts';
import { runGeneration } from './run-generation.ts';
import type { LoadedModel } from './run-generation.ts';
import { checkWanted } from './work.ts';
import type { Work } from './work.ts';

export interface HostEnvironment {
  post(message: WorkerMessage, transfer?: Transferable[]): void;
  /**
   * `onStarting` is called with the number of threads before they start, and every second while the
   * engine's files are being loaded. Silence after that means that the threads do not start.
   */
  openEngine(
    nThreads: number | undefined,
    kernels: string | undefined,
    plan: PlanMemory,
    onStarting: (nThreads: number) => void,
    engineUrl: string | undefined,
  ): Promise<OpenEngine>;
  /** Opens a second engine with room for a file of `fileBytes`; 0 if the size is not known. */
  openVision(
    running: OpenEngine,
    fileBytes: number,
    engineUrl: string | undefined,
  ): Promise<EngineModule>;
}

type Message<T extends ClientMessage['type']> = Extract<ClientMessage, { type: T }>;

interface MadeSession {
  readonly engine: EngineSession;
  readonly kv: KvKinds;
  /** Whether the session shares pages with its forks. */
  readonly sharesPages: boolean;
}

interface HostedSession extends MadeSession {
  /** Settles when all requests to the session so far are done. */
  tail: Promise<void>;
  isClosed: boolean;
}

/**
 * One model and its sessions. Requests to the same session run one after the other. Requests to
 * different sessions take turns, because a generation lets messages in after each step.
 */
export class ModelHost {
  readonly #environment: HostEnvironment;
  #loaded: LoadedModel | undefined;
  readonly #sessions = new Map<number, HostedSession>();
  /** The ids of running or waiting requests that can be cancelled. Cancelling removes the id. */
  readonly #wanted = new Set<number>();

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
  }

  receive(message: ClientMessage): void {
    switch (message.type) {
      case 'load':
        void this.#answer(message.id, () => this.#load(message));
        break;
      case 'inspect':
        void this.#answer(message.id, () => this.#inspect(message));
        break;
      case 'newSession':
        void this.#answer(message.id, () => this.#newSession(message));
        break;
      case 'generate':
        this.#wanted.add(message.id);
        this.#enqueue(message, (session) => this.#generate(session, message));
        break;
      case 'ask':
        this.#wanted.add(message.id);
        void this.#answer(message.id, () => this.#ask(message));
        break;
      case 'decode':
        this.#wanted.add(message.id);
        this.#enqueue(message, (session) => this.#decode(session, message));
        break;
      case 'embed':
        this.#wanted.add(message.id);
        void this.#answer(message.id, () => this.#embed(message));
        break;
      case 'score':
        this.#wanted.add(message.id);
        void this.#answer(message.id, () => this.#score(message));
        break;
      case 'save':
        this.#enqueue(message, ({ engine }) => {
          return { type: 'state', id: message.id, bytes: unwrap(engine.save()) };
        });
        break;
      case 'restore':
        this.#enqueue(message, ({ engine }) => {
          unwrap(engine.restore(message.bytes));
          return { type: 'done', id: message.id };
        });
        break;
      case 'fork':
        this.#enqueue(message, ({ engine, kv, sharesPages }) => {
          const fork = unwrap(engine.fork());
          const kvBytes = sharesPages ? 0 : fork.kvBytes();
          return this.#add(message.id, { engine: fork, kv, sharesPages }, kvBytes);
        });
        break;
      case 'truncate':
        this.#enqueue(message, ({ engine }) => {
          unwrap(engine.truncate(message.nPositions));
          return { type: 'done', id: message.id };
        });
        break;
      case 'keepPrefix':
        this.#enqueue(message, ({ engine }) => {
          return { type: 'kept', id: message.id, nPositions: engine.keepPrefix(message.tokens) };
        });
        break;
      case 'tokens':
        this.#enqueue(message, ({ engine }) => {
          return { type: 'tokens', id: message.id, tokens: engine.tokens() };
        });
        break;
      case 'kvPages':
        void this.#answer(message.id, () => {
          const { engine } = this.#open(this.#sessions.get(message.session));
          return { type: 'pages', id: message.id, pages: pagesOf(engine) };
        });
        break;
      case 'closeSession':
        this.#close(message.session);
        break;
      case 'cancel':
        this.#wanted.delete(message.target);
        break;
      case 'layOut':
        void this.#answer(message.id, () => {
          const { id, conversation } = message;
          const { saidLast = '', isRequest = false } = conversation;
          const request = { ...conversation, saidLast, isRequest };
          return { type: 'laidOut', id, texts: unwrap(this.#ready().api().layOut(request)) };
        });
        break;
      case 'tokenize':
        void this.#answer(message.id, async () => {
          const { id, text } = message;
          return { type: 'tokens', id, tokens: await this.#tokensOf(id, text, message) };
        });
        break;
      case 'detokenize':
        void this.#answer(message.id, () => {
          const { id, tokens, special } = message;
          const { model } = this.#ready();
          return { type: 'detokenized', id, text: unwrap(model.decode(tokens, special)) };
        });
        break;
    }
  }

  /** Does the work after the session's earlier requests. */
  #enqueue(
    { id, session: sessionId }: { id: number; session: number },
    work: (session: HostedSession) => WorkerMessage | Promise<WorkerMessage>,
  ): void {
    const session = this.#sessions.get(sessionId);
    const run = () => this.#answer(id, () => work(this.#open(session)));
    void (session ? inTurn(session, run) : run());
  }

  /**
   * Posts the result of `work`. KingletErrors are posted as answers, too. Any other error means
   * that the engine crashed, because it never throws while it is sound.
   */
  async #answer(id: number, work: () => WorkerMessage | Promise<WorkerMessage>): Promise<void> {
    try {
      const answer = await work();
      // States are large: they are transferred, not copied.
      this.#environment.post(answer, answer.type === 'state' ? [answer.bytes.buffer] : []);
    } catch (error) {
      this.#environment.post(
        error instanceof KingletError
          ? { type: 'failed', id, code: error.code, message: error.message }
          : { type: 'crashed', message: messageOf(error) },
      );
    } finally {
      this.#wanted.delete(id);
    }
  }

  #ready(): LoadedModel {
    if (!this.#loaded) throw new KingletError('invalid_argument', 'no model is loaded');
    return this.#loaded;
  }

  /** Returns the model; refuses a file that has only a vocabulary. */
  #withWeights(): EngineModel {
    const { model } = this.#ready();
    if (model.info().hasWeights) return model;
    throw new KingletError(
      'missing_tensor',
      'the file contains only a vocabulary: it tokenizes, but has no weights to compute with',
    );
  }

  /** Returns the model; refuses embedding models and rerankers. */
  #forText(): EngineModel {
    const model = this.#withWeights();
    const { purpose, architecture } = model.info();
    if (purpose === 'text') return model;
    const [made, call] = purpose === 'ranking' ? ['scores', 'rerank()'] : ['embeddings', 'embed()'];
    throw new KingletError(
      'unsupported_feature',
      `this ${architecture} model computes ${made} and generates no text: call ${call}`,
    );
  }

  /**
   * Returns the session; refuses one that was closed, also if that happened while a request waited.
   */
  #open(session: HostedSession | undefined): HostedSession {
    if (session && !session.isClosed) return session;
    this.#forText(); // without a model for text there was no session
    throw new KingletError('disposed', 'the session has been disposed of');
  }

  /** Tells the page whether an engine is about to start, or the worker reads the file. */
  async #openEngine(
    id: number,
    nThreads: number | undefined,
    kernels: string | undefined,
    plan: PlanMemory,
    engineUrl: string | undefined,
  ): Promise<OpenEngine> {
    const environment = this.#environment;
    const onPlan: PlanMemory = (...planner) => {
      environment.post({ type: 'loading', id });
      return plan(...planner);
    };
    const onStarting = (n: number) => {
      environment.post({ type: 'starting', id, nThreads: n });
    };
    const opened = await environment.openEngine(nThreads, kernels, onPlan, onStarting, engineUrl);
    environment.post({ type: 'started', id });
    return opened;
  }

  async #inspect({ id, source, options }: Message<'inspect'>): Promise<WorkerMessage> {
    this.#environment.post({ type: 'loading', id });
    const access = await accessTo([source], options, () => undefined);
    const file = await openSource((await nameFiles([source], access))[0], access);
    const reader = new HeaderReader(file);
    try {
      const noPlan = () => Promise.resolve([]);
      const { engine } = await this.#openEngine(id, 1, undefined, noPlan, options.engineUrl);
      const header = await reader.read(engine, 'memory');
      if (!header) throw new KingletError('truncated', 'the file ends before its header does');
      return { type: 'inspected', id, description: header.describe() };
    } finally {
      await putAside(file);
    }
  }

  async #load({ id, sources, options }: Message<'load'>): Promise<WorkerMessage> {
    this.#environment.post({ type: 'loading', id });
    let before = 0;
    const onProgress = (progress: LoadProgress) => {
      before = progress.total ?? progress.loaded;
      this.#environment.post({ type: 'progress', id, progress });
    };
    const onReaderProgress = ({ loaded, total, phase }: LoadProgress) => {
      const sum = { loaded: before + loaded, total: total && before + total, phase };
      this.#environment.post({ type: 'progress', id, progress: sum });
    };
    const { running, model } = await loadModel(sources, options, {
      openEngine: (...wanted) => this.#openEngine(id, ...wanted, options.engineUrl),
      onProgress,
      onWarning: ({ code, message }) => {
        this.#environment.post({ type: 'warning', id, code, message });
      },
    });
    const templates = templatesOf(model, options.chatTemplate);
    let made: EngineApi | undefined;
    const api = () => (made ??= model.newApi(model.info().name, options.chatTemplate ?? ''));
    const pictures = this.#pictureReading(id, running, model, options, onReaderProgress);
    this.#loaded = { engine: running.engine, model, api, pictures };
    if (options.chatTemplate !== undefined) unwrap(api().check());
    const images = options.mmproj && (await pictures.open({ id, isWanted: () => true }));
    const { hasWeights, purpose } = model.info();
    const { nCtx = 0 } = options;
    const { session } =
      hasWeights && purpose === 'text'
        ? this.#newSession({ id, options: { nCtx, kv: options.kv, kvPool: 0 } })
        : { session: noSession(options.kv) };
    const info = { ...describe(model, session, running, templates), images };
    return { type: 'loaded', id, info, session, cancelWord: cancelWord(running.engine) };
  }

  /** Uses the given file, or the one in the model's repository on the hub. */
  #pictureReading(
    id: number,
    running: OpenEngine,
    model: EngineModel,
    options: PostedLoadOptions,
    onProgress: (progress: LoadProgress) => void,
  ): PictureReading {
    const { mmproj, hub, engineUrl, stallTimeout } = options;
    const load = async (work: Work) => {
      const posted = mmproj ?? (hub && ({ kind: 'hub', repository: hub, type: '' } as const));
      if (!posted) throw noReader();
      const { imageWidth: width, architecture } = model.info();
      if (width === 0) {
        const message = `this ${architecture} model cannot read pictures`;
        throw new KingletError('unsupported_feature', message);
      }
      const access = await accessTo([posted], options, ({ code, message }) => {
        this.#environment.post({ type: 'warning', id, code, message });
      });
      return loadVision(await nameReader(posted, access), {
        ...{ access, width, onProgress },
        openModule: (fileBytes) => this.#environment.openVision(running, fileBytes, engineUrl),
        checkWanted: () => {
          checkWanted(work);
        },
      });
    };
    // The caller's headers are only for the model's files, not for pictures.
    return new PictureReading(load, { headers: {}, stallTimeout, cache: 'default' });
  }

  /** Returns the tokens without computing pictures. */
  async #tokensOf(
    id: number,
    text: string | Conversation,
    encoding: PostedEncoding,
  ): Promise<Int32Array> {
    const { model, api, ...ready } = this.#ready();
    if (typeof text === 'string') return model.encode(text, encoding.addBos, encoding.parseSpecial);
    const { addBos } = encoding;
    const plan = {
      onFull: 'error',
      nCtx: 0,
      maxTokens: 0,
      addBos,
      prefix: new Int32Array(),
    } as const;
    const work = { id, isWanted: () => true, session: undefined, onImage: () => undefined };
    return (await conversationPrompt(text, plan, { ...ready, api: api(), ...work })).tokens;
  }

  #newSession({ id, options: { nCtx, kv, kvPool } }: Omit<Message<'newSession'>, 'type'>) {
    const options = { nCtx, nBatch: 0, kKind: kv.k, vKind: kv.v, kvPool };
    const engine = unwrap(this.#forText().newSession(options));
    return this.#add(id, { engine, kv, sharesPages: kvPool > 0 }, engine.kvBytes());
  }

  #add(id: number, made: MadeSession, kvBytes: number) {
    const { engine, kv } = made;
    this.#sessions.set(id, { ...made, tail: Promise.resolve(), isClosed: false });
    const memory = {
      kvBytes,
      recurrentBytes: engine.recurrentBytes(),
      scratchBytes: engine.scratchBytes(),
    };
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
    const result = await runGeneration({
      ...{ id, prompt, options },
      ...this.#ready(),
      session: session.engine,
      isWanted: () => this.#isWanted(session, id),
      onPiece: (piece) => {
        this.#environment.post({ type: 'piece', id, piece });
      },
      onImage: (progress) => {
        this.#environment.post({ type: 'imageRead', id, progress });
      },
    });
    return { type: 'generated', id, result };
  }

  /** Reads the request at once; an answer in text waits for the session's earlier requests. */
  async #ask({ id, session: sessionId, request }: Message<'ask'>): Promise<WorkerMessage> {
    if (request.method === 'POST') this.#withWeights();
    const loaded = this.#ready();
    const session = this.#sessions.get(sessionId);
    const nCtx = session?.engine.nCtx() ?? loaded.model.info().contextLength;
    const answer = await answerRequest({
      ...{ ...loaded, id, request, nCtx },
      isWanted: () => this.#wanted.has(id),
      inTurn: (work) =>
        inTurn(this.#open(session), () => {
          const open = this.#open(session);
          return work(open.engine, () => this.#isWanted(open, id));
        }),
      onEvents: (events) => {
        this.#environment.post({ type: 'events', id, events });
      },
    });
    return { type: 'answered', id, ...answer };
  }

  #isWanted(session: HostedSession, id: number): boolean {
    this.#open(session);
    return this.#wanted.has(id);
  }

  async #decode(session: HostedSession, { id, tokens }: Message<'decode'>): Promise<WorkerMessage> {
    const isWanted = () => this.#isWanted(session, id);
    const logits = await appendTokens(session.engine, tokens, { id, isWanted });
    return { type: 'logits', id, logits };
  }

  async #embed({ id, texts, options }: Message<'embed'>): Promise<WorkerMessage> {
    const found = await embedTexts(this.#withWeights(), texts, options, this.#encodingWork(id));
    return { type: 'embeddings', id, ...found };
  }

  async #score({ id, query, documents, truncate }: Message<'score'>): Promise<WorkerMessage> {
    const model = this.#withWeights();
    const scores = await scoreTexts(model, query, documents, truncate, this.#encodingWork(id));
    return { type: 'scores', id, scores };
  }

  #encodingWork(id: number): EncodingWork {
    return {
      id,
      isWanted: () => this.#wanted.has(id),
      onProgress: (progress) => {
        this.#environment.post({ type: 'encoded', id, progress });
      },
    };
  }
}

/** Does the work after all that the session has to do so far. */
function inTurn<T>(session: HostedSession, work: () => Promise<T>): Promise<T> {
  const done = session.tail.then(work);
  const ignore = () => undefined;
  session.tail = done.then(ignore, ignore);
  return done;
}

/** Returns an empty session for models that do not generate text. */
function noSession(kv: KvKinds): SessionInfo {
  return { nCtx: 0, kv, memory: { kvBytes: 0, recurrentBytes: 0, scratchBytes: 0 } };
}

function pagesOf(engine: EngineSession): KvPages {
  const { table, users, ...counts } = engine.kvPages();
  return {
    ...counts,
    pageBytes: engine.kvBytes() / users.length,
    nPages: users.length,
    nFree: users.filter((n) => n === 0).length,
    table: [...table],
    users: [...users],
  };
}

/** Returns undefined if the engine's memory is not shared. */
function cancelWord(engine: EngineModule): CancelWord | undefined {
  const memory = engine.HEAPU8.buffer;
  return typeof SharedArrayBuffer === 'function' && memory instanceof SharedArrayBuffer
    ? { memory, address: engine.cancelAddress() }
    : undefined;
}

type Templates = Pick<EngineModelInfo, 'chatTemplate' | 'toolChatTemplate'>;

/** `own`: the template to use instead of the file's. */
function templatesOf(model: EngineModel, own: string | undefined): Templates {
  const { chatTemplate, toolChatTemplate } = model.info();
  return own === undefined
    ? { chatTemplate, toolChatTemplate }
    : { chatTemplate: own, toolChatTemplate: '' };
}

function describe(
  model: EngineModel,
  session: SessionInfo,
  opened: OpenEngine,
  { chatTemplate, toolChatTemplate }: Templates,
): Omit<ModelInfo, 'images'> {
  const { weightBytes, storedBytes, kernels, hasWeights, pooling, ...info } = model.info();
  const nThreads = opened.engine.nPoolThreads();
  return {
    ...info,
    hasWeights: Boolean(hasWeights),
    knowsTools: model.knowsTools(toolChatTemplate || chatTemplate),
    pooling: isPooling(pooling) ? pooling : undefined,
    chatTemplate: chatTemplate || undefined,
    toolChatTemplate: toolChatTemplate || undefined,
    nCtx: info.purpose === 'text' ? session.nCtx : info.contextLength,
    memory: { weightBytes, storedBytes, ...session.memory, heapBytes: opened.engine.HEAPU8.length },
    runtime: {
      variant: opened.variant,
      kernels,
      nThreads,
      singleThreadReason: nThreads > 1 ? undefined : opened.singleThreadReason,
    },
  };
}
