// The messages between the page and the worker. One worker holds one model. A worker is ended by
// terminating it, which needs no message.
import type { KingletErrorCode } from './errors.ts';
import type { HubRepository } from './hub.ts';
import type {
  EmbeddingTables,
  EncodeProgress,
  FileDescription,
  GenerateOptions,
  GenerationResult,
  ImageProgress,
  KvKind,
  KvPages,
  LoadProgress,
  ModelInfo,
  OnFull,
  Piece,
  Pooling,
  SessionInfo,
} from './types.ts';

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
  kv: KvKinds;
  spareMemory: number;
  /** An absolute address with a slash at its end; undefined if the engine is next to the worker. */
  engineUrl: string | undefined;
  embeddingTables: EmbeddingTables;
  /** Used instead of the file's template. */
  chatTemplate: string | undefined;
  /** The file that reads pictures. */
  mmproj: PostedSource | undefined;
  /** Without `mmproj`: the repository to search for that file when the first picture comes. */
  hub: HubRepository | undefined;
}

export interface KvKinds {
  k: KvKind;
  v: KvKind;
}

export interface PostedSessionOptions {
  nCtx: number;
  kv: KvKinds;
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

export interface PostedGenerateOptions extends GenerateNumbers {
  stop: string[];
  drySequenceBreakers: string[];
  /** Tokens, and the numbers added to their logits. */
  logitBias: [number, number][];
  /** What the answer must match: GBNF, or a JSON schema as JSON. Empty: any text. */
  grammar: string;
  jsonSchema: string;
  /** For the schema. */
  indent: number;
}

export interface PostedEmbedOptions {
  /** Undefined: the file's pooling. */
  pooling: Pooling | undefined;
  normalize: boolean;
  /** Undefined: all. */
  dimensions: number | undefined;
  prompt: string;
  truncate: boolean;
}

/** How a text becomes tokens. */
export interface PostedEncoding {
  addBos: boolean;
  /** Only for a string. */
  parseSpecial: boolean;
}

/**
 * The place in shared memory where the page writes the id of work to cancel. The engine's threads
 * read it also in the middle of a step.
 */
export interface CancelWord {
  memory: SharedArrayBuffer;
  address: number;
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
export interface Conversation {
  /** The variables of the chat template, including the messages, as JSON. */
  variables: string;
  /** Whether the variables include tools. */
  hasTools: boolean;
  /** Whether the messages' text counts as the template's own text. */
  trustContent: boolean;
  /** Undefined if there are none. */
  pictures: Pictures | undefined;
  /** The messages and tools are those of a request of OpenAI's API, for any template. */
  isRequest?: boolean;
  /** A text after the conversation, as if a message said it. */
  saidLast?: string;
}

/** How a prompt relates to its session's context, and how its answer is read. */
export interface PromptPlace {
  /** The prompt is the whole context. What the session already holds of it is kept. */
  replacesContext: boolean;
  /**
   * Separate thoughts and calls of these tools, a JSON list, from the answer. Undefined: the answer is
   * all text.
   */
  tools?: string | undefined;
  /** A thought is ended after so many tokens; undefined: by the model alone. */
  maxThinkingTokens?: number | undefined;
}

/** A request of OpenAI's API. */
export interface PostedRequest {
  method: string;
  /** Of the URL. Only its end counts, such as "/chat/completions". */
  path: string;
  body: string;
  /** Whether the text of messages counts as the template's own text. */
  trustContent: boolean;
}

/** The prompt of a generation. */
export interface PostedPrompt extends PromptPlace {
  content: string | Int32Array | Conversation;
  /** Undefined: true at the start of a context. */
  addBos: boolean | undefined;
  /** Only for a string. */
  parseSpecial: boolean;
  /** The answer continues this, as if the model had written it. */
  prefix: string | Int32Array | undefined;
  /** `dropOldest` is only for a conversation. */
  onFull: OnFull;
}

/**
 * `id` connects a request with its answers. A session has the id of the request that made it.
 * Requests to the same session are answered in order.
 */
export type ClientMessage =
  | { type: 'load'; id: number; sources: PostedSources; options: PostedLoadOptions }
  | { type: 'inspect'; id: number; source: PostedSource; options: PostedLoadOptions }
  | {
      type: 'generate';
      id: number;
      session: number;
      prompt: PostedPrompt;
      options: PostedGenerateOptions;
    }
  /** Answers a request of OpenAI's API in the session, if it is one for text. */
  | { type: 'ask'; id: number; session: number; request: PostedRequest }
  | { type: 'newSession'; id: number; options: PostedSessionOptions }
  | { type: 'fork'; id: number; session: number }
  | { type: 'truncate'; id: number; session: number; nPositions: number }
  | { type: 'keepPrefix'; id: number; session: number; tokens: Int32Array }
  | { type: 'tokens'; id: number; session: number }
  /** Answered at once, also while the session is busy. */
  | { type: 'kvPages'; id: number; session: number }
  | { type: 'decode'; id: number; session: number; tokens: Int32Array }
  | { type: 'save'; id: number; session: number }
  | { type: 'restore'; id: number; session: number; bytes: Uint8Array }
  | { type: 'embed'; id: number; texts: (string | Int32Array)[]; options: PostedEmbedOptions }
  | { type: 'score'; id: number; query: string; documents: string[]; truncate: boolean }
  /** Ends the session's current work, refuses waiting requests, and frees the session. */
  | { type: 'closeSession'; session: number }
  | { type: 'layOut'; id: number; conversation: Conversation }
  | ({ type: 'tokenize'; id: number; text: string | Conversation } & PostedEncoding)
  | { type: 'detokenize'; id: number; tokens: Int32Array; special: boolean }
  /** Ends the request `target` at its next step. Unknown ids are ignored. */
  | { type: 'cancel'; target: number };

export type WorkerMessage =
  | { type: 'progress'; id: number; progress: LoadProgress }
  | { type: 'warning'; id: number; code: KingletErrorCode; message: string }
  /** The worker runs, and reads the file or the cache. */
  | { type: 'loading'; id: number }
  /** An engine starts with `nThreads`. Repeated every second while its files are being loaded. */
  | { type: 'starting'; id: number; nThreads: number }
  | { type: 'started'; id: number }
  /** The model is loaded, with its first session. */
  | {
      type: 'loaded';
      id: number;
      info: ModelInfo;
      session: SessionInfo;
      cancelWord: CancelWord | undefined;
    }
  | { type: 'inspected'; id: number; description: FileDescription }
  | { type: 'session'; id: number; session: SessionInfo }
  | { type: 'piece'; id: number; piece: Piece }
  | { type: 'imageRead'; id: number; progress: ImageProgress }
  | { type: 'generated'; id: number; result: GenerationResult }
  /** More server-sent events of an answer. */
  | { type: 'events'; id: number; events: string }
  /** The end of an answer. `body`: JSON; empty if there were events. */
  | { type: 'answered'; id: number; status: number; body: string }
  | { type: 'tokens'; id: number; tokens: Int32Array }
  | { type: 'kept'; id: number; nPositions: number }
  | { type: 'pages'; id: number; pages: KvPages }
  | { type: 'done'; id: number }
  | { type: 'logits'; id: number; logits: Float32Array }
  | { type: 'state'; id: number; bytes: Uint8Array<ArrayBuffer> }
  /** How many texts have their embeddings or scores so far. */
  | { type: 'encoded'; id: number; progress: EncodeProgress }
  | { type: 'embeddings'; id: number; embeddings: Float32Array[]; nTokens: number[] }
  | { type: 'scores'; id: number; scores: Float32Array }
  /** Alternately the template's own text and text of the messages. */
  | { type: 'laidOut'; id: number; texts: string[] }
  | { type: 'detokenized'; id: number; text: string }
  | { type: 'failed'; id: number; code: KingletErrorCode; message: string }
  /** The engine trapped: its state is unknown, and the worker must be ended. */
  | { type: 'crashed'; message: string };
