// What the page and the worker say to each other. One worker holds one model; a worker is ended by
// terminating it, which needs no message.
import type { KingletErrorCode } from './errors.ts';
import type { HubRepository } from './hub.ts';
import type {
  EmbeddingTables,
  EncodeProgress,
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

/** A source in a form that can be posted; a stream is transferred, a blob goes by reference. */
export type PostedSource =
  | NamedSource
  /** The file of a weight type, "" for the usual one, that the hub is to name. */
  | { kind: 'hub'; repository: HubRepository; type: string };

/** What can be opened. */
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
  /** Undefined where nothing is kept; the folder is Node's, undefined for the user's own. */
  cache: { folder: string | undefined } | undefined;
  kv: KvKinds;
  spareMemory: number;
  /** Absolute, with a slash at its end; undefined where the engine lies beside the worker. */
  engineUrl: string | undefined;
  embeddingTables: EmbeddingTables;
  /** In place of the file's. */
  chatTemplate: string | undefined;
  /** What reads pictures. */
  mmproj: PostedSource | undefined;
  /** Where to look for it otherwise, when a picture comes. */
  hub: HubRepository | undefined;
}

export interface KvKinds {
  k: KvKind;
  v: KvKind;
}

export interface PostedSessionOptions {
  nCtx: number;
  kv: KvKinds;
  /** Tokens; 0 where no pages are shared. */
  kvPool: number;
}

/** Every option of a generation that is a number for the engine. */
export type GenerateNumbers = {
  [
    K in Exclude<keyof GenerateOptions, 'indent'> as GenerateOptions[K] extends number | undefined
      ? K
      : never
  ]-?: number;
};

export interface PostedGenerateOptions extends GenerateNumbers {
  /** GBNF. */
  grammar: string | undefined;
  stop: string[];
  /** Tokens, and what is added to their logits. */
  logitBias: [number, number][];
}

export interface PostedEmbedOptions {
  /** Undefined: the file's. */
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
  /** Of a string. */
  parseSpecial: boolean;
}

/**
 * Where the id of the work stands that is to end, in memory that the engine's threads share: it is
 * heard of in the middle of a step.
 */
export interface CancelWord {
  memory: SharedArrayBuffer;
  address: number;
}

/** A picture in a form that can be posted. */
export type PostedImage =
  | { kind: 'file'; blob: Blob }
  /** Absolute; of data too. */
  | { kind: 'url'; url: string }
  /** 3 or 4 bytes a pixel. */
  | { kind: 'pixels'; width: number; height: number; data: Uint8Array }
  | { kind: 'bitmap'; bitmap: ImageBitmap };

/** The pictures of a conversation, and what stands in their places. */
export interface Pictures {
  /** Picture i stands where this does, with i for its "#". No message can guess it. */
  mark: string;
  images: PostedImage[];
}

/** A conversation that the engine is to lay out. */
export interface Conversation {
  /** Of the chat template, the messages among them: JSON. */
  variables: string;
  /** There are tools among them. */
  hasTools: boolean;
  /** What the messages say counts as the template's own text. */
  trustContent: boolean;
  /** Undefined where there are none. */
  pictures: Pictures | undefined;
}

/** A conversation as a chat template lays it out. */
export interface ChatText {
  /**
   * In turn, the template's own text, where control tokens are recognised, and what the messages
   * say, where they are not. Joined they are the whole.
   */
  texts: readonly string[];
  /** Those whose marks are among the texts. */
  pictures?: Pictures | undefined;
}

/** What the template itself says at the end; every other text is a message's. */
export function ownEnd({ texts }: ChatText): string {
  return texts.length % 2 === 1 ? (texts.at(-1) ?? '') : '';
}

/** Where a prompt stands in its session, and how its answer is read. */
export interface PromptPlace {
  /** The prompt is the whole context, of which what the session already holds is kept. */
  replacesContext: boolean;
  /** The tools whose calls are told from the answer, as thoughts are. Undefined: it is all text. */
  tools?: readonly KnownTool[] | undefined;
  /** Its grammar is of calls, behind a thought that the prompt has begun; of others it is of all. */
  mustCall?: boolean | undefined;
}

/** What is known of a tool to read its calls. */
export interface KnownTool {
  name: string;
  /** Those whose values are strings, whatever they spell. */
  textParameters: string[];
}

/** The prompt of a generation. */
export interface PostedPrompt extends PromptPlace {
  content: string | Int32Array | ChatText | Conversation;
  /** Undefined: at the start of a context. */
  addBos: boolean | undefined;
  /** Of a string. */
  parseSpecial: boolean;
  /** What the answer goes on from, as if the model had written it. */
  prefix: string | Int32Array | undefined;
  /** `dropOldest`: of a conversation. */
  onFull: OnFull;
}

/**
 * `id` joins a request with its answers. A session has the id of the request that made it; the
 * requests to one are answered in order.
 */
export type ClientMessage =
  | { type: 'load'; id: number; sources: PostedSources; options: PostedLoadOptions }
  | {
      type: 'generate';
      id: number;
      session: number;
      prompt: PostedPrompt;
      options: PostedGenerateOptions;
    }
  | { type: 'newSession'; id: number; options: PostedSessionOptions }
  | { type: 'fork'; id: number; session: number }
  | { type: 'truncate'; id: number; session: number; nPositions: number }
  | { type: 'keepPrefix'; id: number; session: number; tokens: Int32Array }
  | { type: 'tokens'; id: number; session: number }
  /** Answered at once, also while the session is at work. */
  | { type: 'kvPages'; id: number; session: number }
  | { type: 'decode'; id: number; session: number; tokens: Int32Array }
  | { type: 'save'; id: number; session: number }
  | { type: 'restore'; id: number; session: number; bytes: Uint8Array }
  | { type: 'embed'; id: number; texts: (string | Int32Array)[]; options: PostedEmbedOptions }
  | { type: 'score'; id: number; query: string; documents: string[]; truncate: boolean }
  /** Ends what the session does, refuses what waits for it, and frees it. */
  | { type: 'closeSession'; session: number }
  | { type: 'layOut'; id: number; conversation: Conversation }
  | ({ type: 'tokenize'; id: number; text: string | Conversation } & PostedEncoding)
  | { type: 'detokenize'; id: number; tokens: Int32Array; special: boolean }
  /** Ends the work `target` at its next step; unknown ids are ignored. */
  | { type: 'cancel'; target: number };

export type WorkerMessage =
  | { type: 'progress'; id: number; progress: LoadProgress }
  | { type: 'warning'; id: number; code: KingletErrorCode; message: string }
  /** The worker runs, and turns to its source. */
  | { type: 'loading'; id: number }
  /** The engine starts, with so many threads; again each second while its files are on their way. */
  | { type: 'starting'; id: number; nThreads: number }
  | { type: 'started'; id: number }
  /** With the first session. */
  | {
      type: 'loaded';
      id: number;
      info: ModelInfo;
      session: SessionInfo;
      cancelWord: CancelWord | undefined;
    }
  | { type: 'session'; id: number; session: SessionInfo }
  | { type: 'piece'; id: number; piece: Piece }
  | { type: 'imageRead'; id: number; progress: ImageProgress }
  | { type: 'generated'; id: number; result: GenerationResult }
  | { type: 'tokens'; id: number; tokens: Int32Array }
  | { type: 'kept'; id: number; nPositions: number }
  | { type: 'pages'; id: number; pages: KvPages }
  | { type: 'done'; id: number }
  | { type: 'logits'; id: number; logits: Float32Array }
  | { type: 'state'; id: number; bytes: Uint8Array<ArrayBuffer> }
  /** So many texts have their embeddings or scores. */
  | { type: 'encoded'; id: number; progress: EncodeProgress }
  | { type: 'embeddings'; id: number; embeddings: Float32Array[]; nTokens: number[] }
  | { type: 'scores'; id: number; scores: Float32Array }
  | { type: 'laidOut'; id: number; chat: ChatText }
  | { type: 'detokenized'; id: number; text: string }
  | { type: 'failed'; id: number; code: KingletErrorCode; message: string }
  /** The engine trapped: its state is unknown and the worker must be ended. */
  | { type: 'crashed'; message: string };
