// The messages between the page and the worker. One worker holds one model. A worker is ended by
// terminating it, which needs no message.
import type {
  EngineAnswerRequest,
  EngineConversation,
  EngineDocument,
  EngineGenerateOptions,
  EngineHit,
  EngineIndex,
  EngineIndexOptions,
  EnginePrompt,
  EngineRequestText,
} from '#engine';
import type { KingletErrorCode } from './errors.ts';
import type { HubRepository } from './hub.ts';
import type {
  EmbeddingTables,
  EncodeProgress,
  FileDescription,
  GenerateOptions,
  GenerationResult,
  ImageProgress,
  KvChoice,
  KvPages,
  LabelledText,
  LoadProgress,
  ModelEstimate,
  ModelInfo,
  Piece,
  Pooling,
  SessionInfo,
} from './types.ts';
import type { WantedSign } from './wanted-signs.ts';

/** A source in a form that can be posted. A stream is transferred; a blob is sent by reference. */
export type PostedSource =
  | NamedSource
  /** A file by its weight type ("" for the usual one). The worker asks the hub for its name. */
  | { kind: 'hub'; repository: HubRepository; type: string };

/** A source that can be opened directly. */
export type NamedSource =
  | { kind: 'url'; url: string }
  | { kind: 'blob'; blob: Blob }
  | { kind: 'stream'; stream: ReadableStream<Uint8Array> };

/** All files of a model. */
export type PostedSources = [PostedSource, ...PostedSource[]];
export type NamedSources = [NamedSource, ...NamedSource[]];

export interface PostedLoadOptions {
  nThreads: number | undefined;
  kernels: string | undefined;
  nCtx: number | undefined;
  headers: Record<string, string>;
  stallTimeout: number;
  /** Undefined: no cache. `folder`: only in Node; undefined for the default folder. */
  cache: { folder: string | undefined } | undefined;
  kv: KvChoices;
  spareMemory: number;
  /** An absolute address with a slash at its end; undefined if the engine is next to the worker. */
  engineUrl: string | undefined;
  embeddingTables: EmbeddingTables;
  /** Used instead of the file's template. */
  chatTemplate: string | undefined;
  /** The file that reads pictures. */
  mmproj: PostedSource | undefined;
  /** Files with states of prompts. */
  prepared: PostedSource[];
  /** The most bytes of states of prompts to keep; undefined: none are kept. */
  keptPromptBytes: number | undefined;
  /** Without `mmproj`: the repository to search for that file when the first picture comes. */
  hub: HubRepository | undefined;
}

export interface KvChoices {
  k: KvChoice;
  v: KvChoice;
}

export interface PostedSessionOptions {
  nCtx: number;
  kv: KvChoices;
  /** Tokens; 0 if sessions share no pages. */
  kvPool: number;
}

/** The options of a generation that are numbers for the engine. */
export type GenerateNumbers = {
  [
    K in Exclude<keyof GenerateOptions, 'indent'> as GenerateOptions[K] extends number | undefined
      ? K
      : never
  ]-?: number;
};

export interface PostedGenerateOptions
  extends
    GenerateNumbers,
    Omit<EngineGenerateOptions, 'id' | 'replacesContext'>,
    Omit<EngineAnswerRequest, 'prompt' | 'maxThinkingTokens'> {}

export interface PostedEmbedOptions {
  /** Undefined: the file's pooling. */
  pooling: Pooling | undefined;
  normalize: boolean;
  /** Undefined: all. */
  dimensions: number | undefined;
  prompt: string;
  truncate: boolean;
}

/** What classify() takes; without labels, those of the file's head. */
export interface PostedClassification {
  texts: string[];
  labels: string[];
  instruction: string;
  examples: LabelledText[];
  perToken: boolean;
}

/** For each text the probability of each label. */
export interface LabelRows {
  labels: string[];
  rows: Float32Array[];
}

/** How a text becomes tokens. */
export interface PostedEncoding {
  addBos: boolean;
  /** Only for a string. */
  parseSpecial: boolean;
}

/** A picture in a form that can be posted. */
export type PostedImage =
  | { kind: 'file'; blob: Blob }
  /** An absolute URL, or a data URL. */
  | { kind: 'url'; url: string }
  /** 3 or 4 bytes a pixel. */
  | { kind: 'pixels'; width: number; height: number; data: Uint8Array }
  | { kind: 'bitmap'; bitmap: ImageBitmap };

/** The pictures of a conversation, and the marks in their places. */
export interface Pictures {
  /** Stands in the messages for each picture. No message can guess it. */
  mark: string;
  images: PostedImage[];
}

/** A conversation that the engine will lay out. */
export interface Conversation extends Omit<EngineConversation, 'saidLast' | 'pictures' | 'id'> {
  /** Undefined if there are none. */
  pictures: Pictures | undefined;
  /** A text after the conversation, as if a message said it. */
  saidLast?: string;
}

/** How a prompt relates to its session's context, and how long its answer may think. */
export interface PromptPlace {
  /** The prompt is the whole context. What the session already holds of it is kept. */
  replacesContext: boolean;
  /** A thought is ended after so many tokens; undefined: by the model alone. */
  maxThinkingTokens?: number | undefined;
}

/** A request of OpenAI's API. */
export type PostedRequest = Omit<EngineRequestText, 'nCtx' | 'id'>;

/** The prompt of a generation. In the answer to a conversation, thoughts and calls are separate. */
export interface PostedPrompt
  extends PromptPlace, Omit<EnginePrompt, 'content' | 'addBos' | 'nCtx' | 'maxTokens' | 'id'> {
  content: string | Int32Array | Conversation;
  /** Undefined: true at the start of a context. */
  addBos: boolean | undefined;
}

/** What a call takes, what it answers, and what it tells before its answer. */
interface Call<Takes, Answer, Notice = never> {
  takes: Takes;
  answer: Answer;
  notice: Notice;
}

/** The calls to a session are answered in order. */
interface InSession {
  session: number;
}

interface InIndex {
  index: number;
}

/** A session has the id of the call that made it. */
export interface MadeSession {
  id: number;
  info: SessionInfo;
}

/** A loaded model, with its first session. */
export interface LoadedAnswer {
  info: ModelInfo;
  session: MadeSession;
  /**
   * In shared memory: the ids of calls to cancel, each at its remainder by the array's length. The
   * engine reads them also in the middle of a step. Undefined if no memory can be shared.
   */
  cancelledIds: Uint32Array<SharedArrayBuffer> | undefined;
}

export type LoadNotice =
  /** The worker runs, and reads the file or the cache. */
  | { type: 'loading' }
  /** An engine starts with `nThreads`. Repeated every second while its files are being loaded. */
  | { type: 'starting'; nThreads: number }
  | { type: 'started' }
  | { type: 'progress'; progress: LoadProgress }
  | { type: 'warning'; code: KingletErrorCode; message: string };

/** What the worker finds of an estimate. */
export interface PostedEstimate extends Omit<
  ModelEstimate,
  'fits' | 'problem' | 'deviceMemoryBytes'
> {
  /** Why the model cannot be loaded. */
  problem: { code: KingletErrorCode; message: string } | undefined;
}

export interface Embeddings {
  embeddings: Float32Array[];
  /** The number of tokens of each text. */
  nTokens: number[];
}

/** All calls of the worker. */
export interface Calls {
  load: Call<{ sources: PostedSources; options: PostedLoadOptions }, LoadedAnswer, LoadNotice>;
  inspect: Call<{ source: PostedSource; options: PostedLoadOptions }, FileDescription, LoadNotice>;
  estimate: Call<
    { sources: PostedSources; options: PostedLoadOptions },
    PostedEstimate,
    LoadNotice
  >;
  newSession: Call<PostedSessionOptions, MadeSession>;
  /** Lets other tabs use the loaded model: they find it on the channel of this name. */
  share: Call<{ name: string }, null>;
  /** For another tab: what the model's own tab was answered. It makes its sessions itself. */
  join: Call<null, LoadedAnswer>;
  /** Answered when no other tab uses the model; from then on, none can. */
  leave: Call<null, null>;
  generate: Call<
    InSession & { prompt: PostedPrompt; options: PostedGenerateOptions },
    GenerationResult,
    { piece: Piece; image?: undefined } | { image: ImageProgress; piece?: undefined }
  >;
  /**
   * Answers a request of OpenAI's API in the session, if it is one for text. Tells server-sent
   * events. `body`: JSON; empty if there were events.
   */
  ask: Call<InSession & { request: PostedRequest }, { status: number; body: string }, string>;
  fork: Call<InSession, MadeSession>;
  truncate: Call<InSession & { nPositions: number }, null>;
  /** Answers how many positions are kept. */
  keepPrefix: Call<InSession & { tokens: Int32Array }, number>;
  tokens: Call<InSession, Int32Array>;
  /** Answered at once, also while the session is busy. */
  kvPages: Call<InSession, KvPages>;
  /** Answers the logits after the last token. */
  decode: Call<InSession & { tokens: Int32Array }, Float32Array>;
  save: Call<InSession, Uint8Array<ArrayBuffer>>;
  restore: Call<InSession & { bytes: Uint8Array }, null>;
  embed: Call<
    { texts: (string | Int32Array)[]; options: PostedEmbedOptions },
    Embeddings,
    EncodeProgress
  >;
  score: Call<
    { query: string; documents: string[]; truncate: boolean },
    Float32Array,
    EncodeProgress
  >;
  /** An index has the id of the call that opened it. */
  openIndex: Call<
    EngineIndexOptions,
    { index: number; settings: ReturnType<EngineIndex['settings']> }
  >;
  closeIndex: Call<InIndex, null>;
  putDocument: Call<InIndex & { id: string; content: string; info: string }, EngineDocument>;
  loadDocument: Call<InIndex & { record: Uint8Array }, EngineDocument>;
  removeDocument: Call<InIndex & { id: string }, null>;
  /** Computes pending passages for about `ms`, and tells how many are done. 0: none was pending. */
  computeDocument: Call<InIndex & { id: string; ms: number }, number, number>;
  documentRecord: Call<InIndex & { id: string }, Uint8Array<ArrayBuffer>>;
  documentContent: Call<InIndex & { id: string }, string | undefined>;
  searchDocuments: Call<
    InIndex & { query: string; limit: number; hybrid: boolean; among: string[] | undefined },
    EngineHit[]
  >;
  classify: Call<PostedClassification, LabelRows, EncodeProgress>;
  /** Answers alternately the template's own text and text of the messages. */
  layOut: Call<Conversation, string[]>;
  tokenize: Call<{ text: string | Conversation } & PostedEncoding, Int32Array>;
  detokenize: Call<{ tokens: Int32Array; special: boolean }, string>;
}

export type CallName = keyof Calls;
export type TakesOf<Name extends CallName> = Calls[Name]['takes'];
export type AnswerOf<Name extends CallName> = Calls[Name]['answer'];
export type NoticeOf<Name extends CallName> = Calls[Name]['notice'];

/**
 * `id` connects a call with its notices and its answer. `sign`: only where no memory can be shared.
 */
export type CallMessage<Name extends CallName = CallName> = Name extends CallName
  ? { type: 'call'; id: number; call: Name; takes: TakesOf<Name>; sign?: WantedSign | undefined }
  : never;

export type ClientMessage =
  | CallMessage
  /** Ends the session's current work, refuses waiting calls, and frees the session. */
  | { type: 'closeSession'; session: number }
  /** Ends the call `target` at its next step. Unknown ids are ignored. */
  | { type: 'cancel'; target: number };

export type WorkerMessage =
  | { type: 'notice'; id: number; notice: NoticeOf<CallName> }
  | { type: 'answer'; id: number; answer: AnswerOf<CallName> }
  | { type: 'failed'; id: number; code: KingletErrorCode; message: string }
  /** The engine trapped: its state is unknown, and the worker must be ended. */
  | { type: 'crashed'; message: string };

/** On the channel where tabs find the worker that runs a shared model. */
export type SharingMessage =
  /** From the worker: it can be joined. `lock`: held as long as it lives. */
  | { type: 'hosting'; lock: string }
  /** From the page that loads the model. */
  | { type: 'progress'; progress: LoadProgress }
  /** From another tab that wants to join; its lock is also the name of its channel. */
  | { type: 'guest'; lock: string };

/** The first message to a guest. `lock`: held as long as the worker lives. */
export interface Welcome {
  type: 'welcome';
  lock: string;
}
