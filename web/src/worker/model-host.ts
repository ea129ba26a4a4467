// The worker's end of the protocol: holds one model and answers the calls to it.
import type {
  EngineHeader,
  EngineKvKinds,
  EngineModel,
  EngineModelInfo,
  EngineModule,
  EnginePlan,
  EngineResult,
  EngineSession,
} from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { poolings } from '../option-tables.generated.ts';
import type {
  AnswerOf,
  CallName,
  ClientMessage,
  MadeSession,
  NoticeOf,
  PostedLoadOptions,
  PostedSource,
  PostedSources,
  TakesOf,
  WorkerMessage,
} from '../protocol.ts';
import type {
  FileDescription,
  HereReason,
  KvPages,
  LoadProgress,
  ModelInfo,
  ModelPlan,
  SessionInfo,
} from '../types.ts';
import { isRemoved } from '../wanted-signs.ts';
import type { WantedSign } from '../wanted-signs.ts';
import { answerRequest } from './answer-request.ts';
import { classifyTexts, embedTexts, scoreTexts } from './encode-texts.ts';
import type { ByteSource } from './byte-source.ts';
import type { EncodingWork } from './encode-texts.ts';
import { unwrap } from './engine-error.ts';
import { EngineLoop } from './engine-loop.ts';
import { FileCache } from './cached-download.ts';
import { Guests } from './guests.ts';
import { HeaderReader, putAside } from './header-reader.ts';
import { listed, named } from './hub-listing.ts';
import { accessTo, engineOptions, estimateModel, loadModel } from './load-model.ts';
import { loadVision } from './load-vision.ts';
import { canShareMemory } from './open-engine.ts';
import type { OpenEngine, PlanMemory } from './open-engine.ts';
import { openSource, sizeOfSource } from './open-source.ts';
import type { Access } from './open-source.ts';
import { noReader, PictureReading } from './picture-reading.ts';
import { PreparedFile } from './prepared-file.ts';
import { PromptStore } from './prompt-store.ts';
import { closeBitmaps } from './conversation-pictures.ts';
import { engineConversation, runGeneration } from './run-generation.ts';
import type { LoadedModel } from './run-generation.ts';
import { threadsRemedy } from './threads-remedy.ts';
import { SearchIndexes } from './search-indexes.ts';
import { checkWanted } from './work.ts';
import type { Work } from './work.ts';

export interface HostEnvironment {
  /** Why the host runs in its client's thread; undefined: it has a worker of its own. */
  hereReason?: HereReason | undefined;
  post: (message: WorkerMessage, transfer?: Transferable[]) => void;
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

interface OpenSession {
  readonly engine: EngineSession;
  /** Whether the session shares pages with its forks. */
  readonly sharesPages: boolean;
}

interface HostedSession extends OpenSession {
  /** Settles when all calls to the session so far are done. */
  tail: Promise<void>;
  isClosed: boolean;
}

/** A call that is being answered. */
interface CallWork<Name extends CallName> extends Work {
  notify: (notice: NoticeOf<Name>) => void;
}

type Handler<Name extends CallName> = (
  takes: TakesOf<Name>,
  work: CallWork<Name>,
) => AnswerOf<Name> | Promise<AnswerOf<Name>>;

/** The calls that a session answers in order. */
type SessionCall = {
  [Name in CallName]: TakesOf<Name> extends { session: number } ? Name : never;
}[CallName];

/**
 * One model and its sessions. Calls to the same session run one after the other. Calls to different
 * sessions take turns, because a generation lets messages in after each step.
 */
export class ModelHost {
  readonly #environment: HostEnvironment;
  readonly #closing = new AbortController();
  #loaded: LoadedModel | undefined;
  #loadedAnswer: AnswerOf<'load'> | undefined;
  #guests: Guests | undefined;
  readonly #sessions = new Map<number, HostedSession>();
  readonly #indexes = new SearchIndexes();
  /** The running or waiting calls by their ids, with their signs. Cancelling removes a call. */
  readonly #wanted = new Map<number, WantedSign | undefined>();

  readonly #handlers: { readonly [Name in CallName]: Handler<Name> } = {
    load: (takes, work) => this.#load(takes, work),
    inspect: (takes, work) => this.#inspect(takes, work),
    estimate: (takes, work) => this.#estimate(takes, work),
    newSession: (options, { id }) => this.#newSession(id, options),
    share: ({ name }) => {
      this.#guests ??= new Guests(name, (message, post) => {
        this.receive(message, post);
      });
      return null;
    },
    join: () => {
      const answer = this.#loadedAnswer;
      if (!answer) throw noModel();
      return { ...answer, cancelledIds: undefined };
    },
    leave: async () => {
      await this.#guests?.whenEmpty();
      return null;
    },
    generate: this.#inTurn(({ engine }, takes, work) =>
      runGeneration({
        ...{ ...this.#ready(), ...takes, ...work, session: engine },
        onPiece: (piece) => {
          work.notify({ piece });
        },
        onImage: (image) => {
          work.notify({ image });
        },
      }),
    ),
    ask: (takes, work) => this.#ask(takes, work),
    fork: this.#inTurn(({ engine, sharesPages }, _, { id }) => {
      const fork = unwrap(engine.fork());
      return this.#add(id, { engine: fork, sharesPages }, sharesPages ? 0 : fork.kvBytes());
    }),
    truncate: this.#inTurn(({ engine }, { nPositions }) => unwrap(engine.truncate(nPositions))),
    keepPrefix: this.#inTurn(({ engine }, { tokens }) => engine.keepPrefix(tokens)),
    tokens: this.#inTurn(({ engine }) => engine.tokens()),
    kvPages: ({ session }) => pagesOf(this.#open(this.#sessions.get(session)).engine),
    decode: this.#inTurn(({ engine }, { tokens }, work) => this.#append(engine, tokens, work)),
    save: this.#inTurn(({ engine }) => unwrap(engine.save())),
    restore: this.#inTurn(({ engine }, { bytes }) => {
      const { address } = unwrap(engine.reserveState(bytes.length));
      this.#ready().engine.HEAPU8.set(bytes, address);
      return unwrap(engine.restore());
    }),
    embed: ({ texts, options }, work) =>
      embedTexts(this.#withWeights(), texts, options, this.#encodingWork(work)),
    score: ({ query, documents, truncate }, work) =>
      scoreTexts(this.#withWeights(), query, documents, truncate, this.#encodingWork(work)),
    openIndex: (options, { id }) => this.#indexes.open(this.#withWeights(), id, options),
    closeIndex: ({ index }) => this.#indexes.close(index),
    putDocument: ({ index, id, content, info }, work) =>
      unwrap(this.#indexes.at(index).put(id, content, info, work.id)),
    loadDocument: ({ index, record }) => unwrap(this.#indexes.at(index).load(record)),
    removeDocument: ({ index, id }) => {
      this.#indexes.at(index).remove(id);
      return null;
    },
    computeDocument: (takes, work) =>
      this.#indexes.compute(takes, { ...work, ...this.#ready() }, work.notify),
    documentRecord: ({ index, id }) => unwrap(this.#indexes.at(index).record(id)),
    documentContent: ({ index, id }) => this.#indexes.at(index).content(id),
    searchDocuments: (takes, work) => this.#indexes.search(takes, { ...work, ...this.#ready() }),
    classify: (request, work) =>
      classifyTexts(this.#withWeights(), request, this.#encodingWork(work)),
    layOut: ({ saidLast = '', ...conversation }, { id }) =>
      unwrap(this.#ready().model.layOut({ ...conversation, pictures: undefined, saidLast, id })),
    tokenize: (takes, work) => this.#tokenize(takes, work),
    detokenize: ({ tokens, special }) => unwrap(this.#ready().model.decode(tokens, special)),
  };

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
  }

  /** `post`: takes the answers, if they are not for the host's own page. */
  receive(message: ClientMessage, post = this.#environment.post): void {
    if (message.type === 'call') void this.#answer(message, post);
    else if (message.type === 'closeSession') this.#close(message.session);
    else this.#wanted.delete(message.target);
  }

  /**
   * Ends all work soon, releases files and locks, and lets go of the engine's memory. Only for a host
   * in its client's thread: a worker is terminated.
   */
  close(): void {
    this.#closing.abort(new KingletError('cancelled', 'the model is not wanted any more'));
    this.#guests?.close();
    this.#wanted.clear();
    for (const session of this.#sessions.values()) session.isClosed = true;
    this.#sessions.clear();
    this.#loaded = undefined;
  }

  /**
   * Posts the answer to a call. KingletErrors are posted as answers, too. Any other error means that
   * the engine crashed, because it never throws while it is sound.
   */
  async #answer<Name extends CallName>(
    {
      id,
      call,
      takes,
      sign,
    }: {
      id: number;
      call: Name;
      takes: TakesOf<Name>;
      sign?: WantedSign | undefined;
    },
    post: HostEnvironment['post'],
  ): Promise<void> {
    this.#wanted.set(id, sign);
    try {
      const answer = await this.#handlers[call](takes, {
        id,
        isWanted: () => this.#wanted.has(id),
        notify: (notice) => {
          post({ type: 'notice', id, notice });
        },
      });
      // States are large: they are transferred, not copied.
      post({ type: 'answer', id, answer }, answer instanceof Uint8Array ? [answer.buffer] : []);
    } catch (error) {
      if (error instanceof KingletError) {
        post({ type: 'failed', id, code: error.code, message: error.message });
      } else {
        const crashed = { type: 'crashed', message: messageOf(error) } as const;
        post(crashed);
        // The worker's own page ends it.
        if (post !== this.#environment.post) this.#environment.post(crashed);
      }
    } finally {
      this.#wanted.delete(id);
    }
  }

  /** Returns where the page can write which work is cancelled; undefined if it has to remove signs. */
  #noticeCancelled(engine: EngineModule): Uint32Array<SharedArrayBuffer> | undefined {
    if (this.#environment.hereReason) return undefined; // nobody can cancel in the middle of a step
    if (!canShareMemory()) {
      engine.isCancelled = (id) => {
        const sign = this.#wanted.get(id);
        return sign !== undefined && isRemoved(sign);
      };
      return undefined;
    }
    const ids = engine.cancelledIds();
    if (ids.buffer instanceof SharedArrayBuffer) return ids as Uint32Array<SharedArrayBuffer>;
    const shared = new Uint32Array(new SharedArrayBuffer(ids.byteLength));
    engine.isCancelled = (id) => Atomics.load(shared, id % shared.length) === id;
    return shared;
  }

  /** Returns a handler that waits for the session's earlier calls. Closing it ends the work. */
  #inTurn<Name extends SessionCall>(
    run: (
      session: HostedSession,
      takes: TakesOf<Name>,
      work: CallWork<Name>,
    ) => AnswerOf<Name> | Promise<AnswerOf<Name>>,
  ): Handler<Name> {
    return (takes, work) => {
      const session = this.#open(this.#sessions.get(takes.session));
      return whenFree(session, () =>
        run(this.#open(session), takes, this.#whileOpen(session, work)),
      );
    };
  }

  /** The same work, whose isWanted() throws if the session was closed. */
  #whileOpen<W extends Work>(session: HostedSession, work: W): W {
    const isWanted = () => {
      this.#open(session);
      return work.isWanted();
    };
    return { ...work, isWanted };
  }

  #ready(): LoadedModel {
    if (!this.#loaded) throw noModel();
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
      `this ${architecture} model computes ${made} and cannot generate text: call ${call}`,
    );
  }

  /**
   * Returns the session; refuses one that was closed, also if that happened while a call waited.
   */
  #open(session: HostedSession | undefined): HostedSession {
    if (session && !session.isClosed) return session;
    this.#forText(); // without a model for text there was no session
    throw new KingletError('disposed', 'the session has been disposed of');
  }

  /** Tells the page whether an engine is about to start, or the worker reads the file. */
  async #openEngine(
    { notify }: Pick<CallWork<'load'>, 'notify'>,
    nThreads: number | undefined,
    kernels: string | undefined,
    plan: PlanMemory,
    engineUrl: string | undefined,
  ): Promise<OpenEngine> {
    const onPlan: PlanMemory = (...planner) => {
      notify({ type: 'loading' });
      return plan(...planner);
    };
    const onStarting = (n: number) => {
      notify({ type: 'starting', nThreads: n });
    };
    const environment = this.#environment;
    const opened = await environment.openEngine(nThreads, kernels, onPlan, onStarting, engineUrl);
    notify({ type: 'started' });
    return opened;
  }

  async #inspect(
    { source, options }: TakesOf<'inspect'>,
    work: CallWork<'inspect'>,
  ): Promise<FileDescription> {
    work.notify({ type: 'loading' });
    const access = await this.#accessTo([source], options, () => undefined);
    const found = await listed(source, access);
    const noPlan = () => Promise.resolve([]);
    const { engine } = await this.#openEngine(work, 1, undefined, noPlan, options.engineUrl);
    const file = await openSource(named(found, engine), access);
    const reader = new HeaderReader(file);
    try {
      const header = await reader.read(engine, 'memory');
      if (!header) throw new KingletError('truncated', 'the file ends before its header does');
      try {
        return { ...header.describe(), ...plannedWith(header, options) };
      } finally {
        header.delete();
      }
    } finally {
      await putAside(file);
    }
  }

  async #estimate(
    { sources, options }: TakesOf<'estimate'>,
    work: CallWork<'estimate'>,
  ): Promise<AnswerOf<'estimate'>> {
    const { notify } = work;
    notify({ type: 'loading' });
    const onWarning = ({ code, message }: KingletError) => {
      notify({ type: 'warning', code, message });
    };
    const { running, plan, speed, problem, fileBytes, memoryBytes } = await estimateModel(
      sources,
      options,
      {
        openEngine: (...wanted) => this.#openEngine(work, ...wanted, options.engineUrl),
        onProgress: () => undefined,
        onWarning,
        signal: this.#closing.signal,
      },
    );
    const { mmproj } = options;
    let readerBytes = 0;
    if (mmproj && running) {
      const access = await this.#accessTo([mmproj], options, onWarning);
      const reader = named(await listed(mmproj, access), running.engine, 'reader');
      readerBytes = (await sizeOfSource(reader, access)) ?? 0;
    }
    const kernels = options.kernels ?? running?.engine.kernelSets()[0] ?? '';
    const nThreads = speed?.nThreads ?? running?.engine.nPoolThreads() ?? 1;
    const { hereReason } = this.#environment;
    return {
      fileBytes: fileBytes && fileBytes + readerBytes,
      memoryBytes: memoryBytes && memoryBytes + readerBytes,
      plan: plan && planOf(plan),
      problem: problem && { code: problem.code, message: problem.message },
      runtime: running && runtimeOf(running, kernels, nThreads, hereReason),
      tokensPerSecond: perSecond(speed?.tokenSeconds),
      promptTokensPerSecond: perSecond(speed?.promptSeconds),
    };
  }

  async #load(
    { sources, options }: TakesOf<'load'>,
    work: CallWork<'load'>,
  ): Promise<AnswerOf<'load'>> {
    const { id, notify } = work;
    notify({ type: 'loading' });
    const warn = ({ code, message }: KingletError) => {
      notify({ type: 'warning', code, message });
    };
    const prepared = options.prepared.map((source, index) => {
      const open = async () => openPrepared(source, await this.#accessTo([source], options, warn));
      return new PreparedFile(nameOf(source, index), open);
    });
    let before = 0;
    const onProgress = (progress: LoadProgress) => {
      before = progress.total ?? progress.loaded;
      notify({ type: 'progress', progress });
    };
    const onReaderProgress = ({ loaded, total, phase }: LoadProgress) => {
      const sum = { loaded: before + loaded, total: total && before + total, phase };
      notify({ type: 'progress', progress: sum });
    };
    const { running, model, name } = await loadModel(sources, options, {
      openEngine: (...wanted) => this.#openEngine(work, ...wanted, options.engineUrl),
      onProgress,
      onWarning: warn,
      signal: this.#closing.signal,
    });
    const templates = templatesOf(model, options.chatTemplate);
    if (options.chatTemplate !== undefined) unwrap(model.useTemplate(options.chatTemplate));
    const pictures = this.#pictureReading(work, running, model, options, onReaderProgress);
    const loop = new EngineLoop(model);
    const prompts = new PromptStore(running.engine, model, warn);
    this.#loaded = { engine: running.engine, model, pictures, prompts, loop };
    const images = options.mmproj && (await pictures.open(work));
    const { hasWeights, purpose } = model.info();
    const { nCtx = 0, kv } = options;
    const session =
      hasWeights && purpose === 'text'
        ? this.#newSession(id, { nCtx, kv, kvPool: 0 })
        : { id, info: noSession };
    let speed: Promise<number> | undefined;
    const measured = () => (speed ??= this.#promptSpeed(options, work));
    for (const file of prepared) await prompts.add(file, measured, session.info.kv);
    await keepPrompts(prompts, options, warn);
    const { hereReason } = this.#environment;
    const described = describe(model, session.info, running, templates, hereReason);
    const info = { name, ...described, images };
    const cancelledIds = this.#noticeCancelled(running.engine);
    return (this.#loadedAnswer = { info, session, cancelledIds });
  }

  /** Measures how many tokens of a prompt are computed in a second, in a session of its own. */
  async #promptSpeed({ kv }: PostedLoadOptions, work: Work): Promise<number> {
    const nTokens = 32;
    const session = unwrap(this.#forText().newSession(engineOptions(nTokens, kv)));
    try {
      const begin = performance.now();
      await this.#append(session, new Int32Array(nTokens), work);
      return (nTokens * 1000) / (performance.now() - begin);
    } finally {
      session.delete();
    }
  }

  #accessTo(
    sources: PostedSources,
    options: PostedLoadOptions,
    onWarning: (warning: KingletError) => void,
  ): Promise<Access> {
    return accessTo(sources, options, onWarning, this.#closing.signal);
  }

  /** Uses the given file, or the one in the model's repository on the hub. */
  #pictureReading(
    { notify }: CallWork<'load'>,
    running: OpenEngine,
    model: EngineModel,
    options: PostedLoadOptions,
    onProgress: (progress: LoadProgress) => void,
  ): PictureReading {
    const { mmproj, hub, engineUrl, stallTimeout } = options;
    const posted = mmproj ?? (hub && ({ kind: 'hub', repository: hub, type: '' } as const));
    const { imageWidth: width, architecture } = model.info();
    const found = () => {
      if (!posted) throw noReader();
      if (width > 0) return posted;
      const message = `this ${architecture} model cannot read pictures`;
      throw new KingletError('unsupported_feature', message);
    };
    const load = async (work: Work) => {
      const source = found();
      const access = await this.#accessTo([source], options, ({ code, message }) => {
        notify({ type: 'warning', code, message });
      });
      return loadVision(named(await listed(source, access), running.engine, 'reader'), {
        ...{ access, width, onProgress },
        openModule: (fileBytes) => this.#environment.openVision(running, fileBytes, engineUrl),
        checkWanted: () => {
          checkWanted(work);
        },
      });
    };
    // The caller's headers are only for the model's files, not for pictures.
    const { signal } = this.#closing;
    return new PictureReading(found, load, { headers: {}, stallTimeout, cache: 'default', signal });
  }

  /** Returns the tokens without computing pictures. */
  async #tokenize(
    { text, addBos, parseSpecial }: TakesOf<'tokenize'>,
    work: Work,
  ): Promise<Int32Array> {
    const { model, pictures } = this.#ready();
    const use = { ...work, pictures, onImage: () => undefined };
    try {
      const content = typeof text === 'string' ? text : await engineConversation(text, use);
      return unwrap(
        model.tokens({
          ...{ content, addBos, parseSpecial, prefix: '', onFull: 'error' },
          ...{ nCtx: 0, maxTokens: 0, id: work.id },
        }),
      );
    } finally {
      closeBitmaps(text);
    }
  }

  #newSession(id: number, { nCtx, kv, kvPool }: TakesOf<'newSession'>): MadeSession {
    const engine = unwrap(this.#forText().newSession(engineOptions(nCtx, kv, kvPool)));
    return this.#add(id, { engine, sharesPages: kvPool > 0 }, engine.kvBytes());
  }

  #encodingWork(work: CallWork<'embed'> | CallWork<'score'> | CallWork<'classify'>): EncodingWork {
    return { ...work, loop: this.#ready().loop, onProgress: work.notify };
  }

  /** Returns the logits after the last token. */
  async #append(engine: EngineSession, tokens: Int32Array, work: Work): Promise<Float32Array> {
    checkWanted(work);
    const logits = await this.#ready().loop.run<EngineResult<Float32Array>>({
      isWanted: () => work.isWanted(),
      begin: (onLogits) => {
        engine.append(tokens, work.id, onLogits);
      },
      read: (found) => {
        unwrap(found);
        return true;
      },
      cancel: () => {
        engine.cancel();
      },
    });
    return unwrap(logits);
  }

  #add(id: number, opened: OpenSession, kvBytes: number): MadeSession {
    const { engine } = opened;
    this.#sessions.set(id, { ...opened, tail: Promise.resolve(), isClosed: false });
    const memory = {
      kvBytes,
      recurrentBytes: engine.recurrentBytes(),
      scratchBytes: engine.scratchBytes(),
    };
    return { id, info: { nCtx: engine.nCtx(), kv: kindsOf(engine.kvKinds()), memory } };
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

  /** Reads the request at once; an answer in text waits for the session's earlier calls. */
  async #ask(
    { session: sessionId, request }: TakesOf<'ask'>,
    work: CallWork<'ask'>,
  ): Promise<AnswerOf<'ask'>> {
    const loaded = this.#ready();
    const session = this.#sessions.get(sessionId);
    const nCtx = session?.engine.nCtx() ?? loaded.model.info().contextLength;
    const sent = { events: false };
    const onEvents = (events: string) => {
      sent.events = true;
      work.notify(events);
    };
    try {
      if (request.method === 'POST') this.#withWeights();
      return await answerRequest({
        ...{ ...loaded, ...work, request, nCtx, onEvents },
        inTurn: (answer) => {
          const open = this.#open(session);
          const { isWanted } = this.#whileOpen(open, work);
          return whenFree(open, () => answer(this.#open(open).engine, isWanted));
        },
      });
    } catch (error) {
      if (sent.events || !(error instanceof KingletError)) throw error;
      return loaded.engine.refusalOf(error.code, error.message);
    }
  }
}

/** Does the work after all that the session has to do so far. */
function whenFree<T>(session: HostedSession, work: () => T | Promise<T>): Promise<T> {
  const done = session.tail.then(work);
  const ignore = () => undefined;
  session.tail = done.then(ignore, ignore);
  return done;
}

function openPrepared(source: PostedSource, access: Access): Promise<ByteSource> {
  if (source.kind === 'hub') {
    const address = 'hf:owner/repository/file.kprompt';
    throw new KingletError('invalid_argument', `a prepared state is a file, such as ${address}`);
  }
  return openSource(source, access);
}

async function keepPrompts(
  prompts: PromptStore,
  { keptPromptBytes: maxBytes, cache: wanted }: PostedLoadOptions,
  warn: (warning: KingletError) => void,
): Promise<void> {
  if (maxBytes === undefined) return;
  const cache = await FileCache.open({ ...{ folder: undefined, ...wanted }, onWarning: warn });
  if (cache) await prompts.keep({ cache, maxBytes });
}

/** Names a prepared state for warnings. */
function nameOf(source: PostedSource | undefined, index: number): string {
  return source?.kind === 'url' ? source.url : `prepared[${String(index)}]`;
}

function noModel(): KingletError {
  return new KingletError('invalid_argument', 'no model is loaded');
}

/** Of models that do not generate text. */
const noSession: SessionInfo = {
  nCtx: 0,
  kv: { k: 'f32', v: 'f32' },
  memory: { kvBytes: 0, recurrentBytes: 0, scratchBytes: 0 },
};

function kindsOf(kinds: EngineKvKinds): SessionInfo['kv'] {
  return kinds as SessionInfo['kv'];
}

/** What the model would take with the default options, if the engine can load it. */
function plannedWith(
  header: EngineHeader,
  { nCtx = 0, kv }: PostedLoadOptions,
): Pick<FileDescription, 'plan'> {
  if (header.isPart()) return {};
  const planned = header.plan('', 1, engineOptions(nCtx, kv));
  if ('error' in planned || planned.value.weightBytes === 0) return {};
  return { plan: planOf(planned.value) };
}

function planOf({ kv, ...sizes }: EnginePlan): ModelPlan {
  return { ...sizes, kv: kindsOf(kv) };
}

function perSecond(seconds = 0): number | undefined {
  return seconds > 0 ? 1 / seconds : undefined;
}

function pagesOf(engine: EngineSession): KvPages {
  const { table, users, ...counts } = engine.kvPages();
  return {
    ...counts,
    nPages: users.length,
    nFree: users.filter((n) => n === 0).length,
    table: [...table],
    users: [...users],
  };
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
  hereReason: HereReason | undefined,
): Omit<ModelInfo, 'name' | 'images'> {
  const { weightBytes, storedBytes, kernels, hasWeights, pooling, ...info } = model.info();
  return {
    ...info,
    hasWeights: Boolean(hasWeights),
    knowsTools: model.knowsTools(toolChatTemplate || chatTemplate),
    pooling: poolings.find((known) => known === pooling),
    chatTemplate: chatTemplate || undefined,
    toolChatTemplate: toolChatTemplate || undefined,
    nCtx: info.purpose === 'text' ? session.nCtx : info.contextLength,
    kv: session.kv,
    memory: { weightBytes, storedBytes, ...session.memory, heapBytes: opened.engine.HEAPU8.length },
    runtime: runtimeOf(opened, kernels, opened.engine.nPoolThreads(), hereReason),
  };
}

function runtimeOf(
  opened: OpenEngine,
  kernels: string,
  nThreads: number,
  hereReason: HereReason | undefined,
): ModelInfo['runtime'] {
  const singleThreadReason = nThreads > 1 ? undefined : opened.singleThreadReason;
  return {
    variant: opened.variant,
    kernels,
    nThreads,
    worker: hereReason === undefined ? 'own' : 'here',
    hereReason,
    singleThreadReason,
    threadsRemedy: singleThreadReason === 'not_isolated' ? threadsRemedy() : undefined,
  };
}
