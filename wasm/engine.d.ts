// The interface of the wasm module: the exports of bindings.cpp, answer.cpp, api.cpp,
// file_header.cpp, prompt.cpp, session.cpp and vision.cpp, as the worker sees them. The engine is synchronous;
// one module instance belongs to one worker.
import type { EngineHandle, EngineResult } from './result.d.ts';
import type { WeightLoader } from './weight-loader.d.ts';
import type { VisionReader } from './vision.d.ts';

export type * from './result.d.ts';
export type * from './weight-loader.d.ts';

export interface EngineModule {
  /** Views of the heap are replaced when memory grows: read this again after every call. */
  readonly HEAPU8: Uint8Array;
  /**
   * Called during long calls: returns whether the work with this id is cancelled. Only where nobody can
   * write the cancelledIds() meanwhile.
   */
  isCancelled?: (id: number) => boolean;
  /**
   * Chooses a file of a repository on the hub, by its weight type ("" for a usual one): the model, or
   * the file that reads pictures for it. `listing`: the hub's answer, JSON. `repository`: its name, for
   * errors.
   */
  pickHubFile(
    listing: string,
    type: string,
    repository: string,
    isReader: boolean,
  ): EngineResult<string>;
  /** The answer to a request of OpenAI's API that an error of the package ended. */
  refusalOf(code: string, message: string): EngineRefusal;
  /** Kernel sets of this build, fastest first: "relaxed-simd" or "simd128", then "scalar". */
  kernelSets(): string[];
  /** The number of threads that compute: 1 in modules without threads. Loading may reduce it. */
  nPoolThreads(): number;
  /**
   * Reads the header at the beginning of a file; returns how many bytes are needed if these are too
   * few. `fileBytes`: the size of the file, or 0 if it is unknown. `tables`: see EngineTables.
   */
  readHeader(
    beginning: Uint8Array,
    fileBytes: number,
    tables: TablePlace,
  ): EngineResult<EngineHeader> | { needed: number; error?: undefined };
  /**
   * `fileBytes`: the size of the file, or 0 if it is unknown. `kernels`: a name from kernelSets(),
   * or "" for the fastest. `choosesThreads`: measures which number of threads is fastest, which
   * takes some milliseconds. `tables`: which tables stay in the first file; undefined: none.
   */
  newLoader(
    fileBytes: number,
    kernels: string,
    choosesThreads: boolean,
    tables: EngineTables | undefined,
  ): EngineResult<WeightLoader<EngineModel>>;
  /**
   * `fileBytes`: the size of the mmproj file, or 0 if it is unknown. `kernels`: as in newLoader().
   */
  newVisionLoader(fileBytes: number, kernels: string): EngineResult<WeightLoader<VisionReader>>;
  /**
   * A view of the heap: the ids of the work that is to be cancelled, each at its remainder by the
   * view's length. In modules with threads, the page may write them while a call is running.
   */
  cancelledIds(): Uint32Array;
}

/**
 * Where embedding tables are kept that are only read by rows: the large ones in the file, all in the
 * file, or all in memory.
 */
export type TablePlace = 'auto' | 'file' | 'memory';

export interface EngineHeader extends EngineHandle {
  /** Whether the file is one of several into which a model is split, whatever its name is. */
  isPart(): boolean;
  /**
   * The bytes of the file, of its tables that stay there, and of the memory that its weights need
   * besides their bytes in the file.
   */
  fileBytes(): number;
  storedBytes(): number;
  roomBytes(): number;
  describe(): EngineFileDescription;
  /**
   * Plans the memory that the model takes in addition to its file, and ends the header; delete() must still
   * be called. Fails if the file is a part, or loading it would fail.
   */
  plan(kernels: string, nThreads: number, options: EngineSessionOptions): EngineResult<EnginePlan>;
  /**
   * Measures how fast the model would be, and ends the header. `choosesThreads`: with fewer threads, if
   * they are faster. Fails as plan() does.
   */
  estimateSpeed(kernels: string, choosesThreads: boolean): EngineResult<EngineSpeed>;
}

/** The seconds of the products with the weights, for each token. */
export interface EngineSpeed {
  nThreads: number;
  /** Of an answer; 0 if the model generates no text. */
  tokenSeconds: number;
  /** Of a prompt, or of a text. */
  promptSeconds: number;
}

/** KV kinds, e.g. "f32". */
export interface EngineKvKinds {
  k: string;
  v: string;
}

/** Bytes. */
export interface EnginePlan {
  /** Positions of the first session; 0 if the model generates no text. */
  nCtx: number;
  /** How it stores keys and values. */
  kv: EngineKvKinds;
  /** The weights that will be in memory. */
  weightBytes: number;
  /** What that session stores of its context. */
  stateBytes: number;
  /** What computing takes: in the session, or in an encoder of the longest text. */
  scratchBytes: number;
}

export interface EngineFileDescription {
  version: number;
  /** Long arrays are cut; `length` is that of the whole array. */
  metadata: { key: string; value: EngineScalar | EngineScalar[]; length?: number }[];
  /** In the order of their data; the shape's fastest-varying dimension is the first. */
  tensors: { name: string; type: string; shape: number[]; bytes: number }[];
}

export type EngineScalar = string | number | boolean;

/** Keeps embedding tables in the file. */
export interface EngineTables {
  place: TablePlace;
  /**
   * The engine calls this while it computes. Copies bytes of the file, from byte `at` on, to
   * `address` in HEAPU8. Returns an error message, or "".
   */
  read(at: number, address: number, bytes: number): string;
}

export interface EngineModelInfo {
  architecture: string;
  /** 0 or 1. Without weights, all numbers except nTokens are 0, and newSession() fails. */
  hasWeights: number;
  nParameters: number;
  nLayers: number;
  nTokens: number;
  contextLength: number;
  purpose: 'text' | 'embeddings' | 'ranking';
  /** "none", "mean", "cls", "last" or "rank"; empty if the file has none. */
  pooling: string;
  /** The width of an embedding. */
  embeddingSize: number;
  /** The width of a picture's row; 0 for models that cannot read pictures. */
  imageWidth: number;
  /** The sizes of the weights in memory, and of those that stay in the file. */
  weightBytes: number;
  storedBytes: number;
  kernels: string;
  /** The settings that the file recommends; others are not set. */
  sampling: EngineSampling;
  /** The file's chat template, a Jinja program; empty if it has none. */
  chatTemplate: string;
  /** The file's template for conversations with tools; empty if it has none. */
  toolChatTemplate: string;
  /** The text of the vocabulary's begin and end tokens; empty if it has none. */
  bosToken: string;
  eosToken: string;
}

/** Options of the sampler: the names in sampling_options.cpp, as topK. */
export type EngineSampling = Record<string, number>;

export interface EngineModel extends EngineHandle {
  info(): EngineModelInfo;
  /** Names the model by its metadata, or the name of its file, or a path; "" if it has none. */
  useFileName(file: string): string;
  /** Uses this chat template instead of the file's. Fails if it cannot be read. */
  useTemplate(source: string): EngineResult<null>;
  /**
   * Runs the chat template. The texts are alternately the template's own text and text of the
   * messages. Pictures are marks.
   */
  layOut(conversation: EngineConversation): EngineResult<string[]>;
  tokens(prompt: EnginePrompt): EngineResult<Int32Array>;
  decode(ids: Int32Array, special: boolean): EngineResult<string>;
  /** The text of one token, also of a control token; a part of a character is U+FFFD. */
  piece(id: number): string;
  /** The bytes of the token's text. */
  pieceBytes(id: number): Uint8Array;
  /** Whether a chat template describes tools to the model. */
  knowsTools(chatTemplate: string): boolean;
  /** Makes the prompt, and plans how the answer is constrained and read. */
  newAnswer(request: EngineAnswerRequest): EngineResult<EngineAnswer>;
  newSession(options: EngineSessionOptions): EngineResult<EngineSession>;
  /** Adds a stored state of a prompt, given its first bytes, which contain all its tokens. */
  addPrompt(name: string, firstBytes: Uint8Array): EngineResult<EngineStoredBeginning>;
  removePrompt(name: string): void;
  /** Lets the engine make states of prompts that are worth storing: see PromptCache. */
  storePrompts(onPrompt: (name: string, state: Uint8Array<ArrayBuffer>) => void): void;
  /**
   * Computes everything that was begun, in turns, for about so long. Returns whether any is left.
   * Tokens of several answers are computed in one pass where the model allows it.
   */
  advance(ms: number): boolean;
  /** Adds the id to the cancelledIds(). */
  cancel(id: number): void;
  /** Reads a request of OpenAI's API. */
  newRequest(request: EngineRequestText): EngineAnswered<EngineRequest>;
  /**
   * The tokens of a text, with the special tokens that the file requires. A text that is too long
   * is cut if `cuts`; otherwise the call fails. It is cancelled when `id` is among the cancelledIds().
   */
  embeddingTokens(text: string, cuts: boolean, id: number): EngineResult<Int32Array>;
  /** The tokens of a query and a document that are scored together. */
  rankingTokens(
    query: string,
    document: string,
    cuts: boolean,
    id: number,
  ): EngineResult<Int32Array>;
  /**
   * Computes a vector or scores for each text, in turns with everything else. Fails at once for an
   * unknown pooling; later errors are events.
   */
  encodeTexts(
    request: EngineEncodingRequest,
    onEvent: (event: EngineResult<EngineEncodingEvent>) => void,
  ): EngineResult<null>;
  /** Fails for labels, instructions or examples that the model cannot use. */
  newClassifier(request: {
    /** Empty: those of the file's head. */
    labels: readonly string[];
    /** "": the default. */
    instruction: string;
    examples: readonly { text: string; label: string }[];
    perToken: boolean;
  }): EngineResult<EngineClassifier>;
  /** The pooling by which the file makes one vector of a text. */
  vectorPooling(): EngineResult<string>;
  newIndex(options: EngineIndexOptions): EngineResult<EngineIndex>;
}

/** Undefined: as the model was trained. */
export interface EngineIndexOptions {
  /** For the prompts of known models. */
  modelName: string;
  queryPrompt: string | undefined;
  passagePrompt: string | undefined;
  pooling: string | undefined;
  /** 0: all. */
  dimensions: number;
  passageTokens: number;
}

/** Documents with vectors of their passages. Calls take the ids of EngineGenerateOptions. */
export interface EngineIndex {
  settings(): {
    queryPrompt: string;
    passagePrompt: string;
    pooling: string;
    dimensions: number;
  };
  /** Adds or replaces a document. Passages that it had keep their vectors. */
  put(id: string, content: string, info: string, call: number): EngineResult<EngineDocument>;
  /** Adds or replaces a document that record() returned. */
  load(record: Uint8Array): EngineResult<EngineDocument>;
  remove(id: string): void;
  record(id: string): EngineResult<Uint8Array<ArrayBuffer>>;
  /** The text of a document; undefined if there is none. */
  content(id: string): string | undefined;
  /**
   * Begins to compute at most `limit` pending passages of a document; advance() does it. The event is
   * their number, which is 0 if none was pending.
   */
  compute(
    id: string,
    limit: number,
    call: number,
    onEvent: (event: EngineResult<number>) => void,
  ): EngineResult<null>;
  /**
   * Begins a search; advance() does it. `withWords`: see SearchQuery::words. `among`: ids of documents.
   */
  search(
    query: string,
    limit: number,
    withWords: boolean,
    among: readonly string[] | undefined,
    call: number,
    onEvent: (event: EngineResult<EngineHit[]>) => void,
  ): EngineResult<null>;
  delete(): void;
}

export interface EngineDocument {
  id: string;
  /** The name of its record: 16 hexadecimal digits. */
  key: string;
  info: string;
  nPassages: number;
  /** Passages without a vector. */
  nPending: number;
  /** UTF-16 units of the text. */
  nCharacters: number;
}

export interface EngineHit {
  id: string;
  score: number;
  /** The passage, in UTF-16 units of the document's text. */
  start: number;
  end: number;
  text: string;
}

export interface EngineConversation {
  /** The variables of the chat template, with `messages`, as JSON. */
  variables: string;
  /** JSON of OpenAI's "tool_choice", for the tools among the variables; empty: "auto". */
  toolChoice: string;
  /** Whether the messages' text counts as the template's own text. */
  trustContent: boolean;
  /** A text after the conversation, as if a message said it. */
  saidLast: string;
  /** Undefined if there are none. `mark`: stands in the messages for each picture. */
  pictures: { mark: string; parts: EnginePicturePart[][] } | undefined;
  /** The work is cancelled when this id is among the cancelledIds(). */
  id: number;
}

export interface EnginePrompt {
  /** A text, tokens or a conversation. */
  content: string | Int32Array | EngineConversation;
  addBos: boolean;
  /** Of a text: control tokens that are spelled out in it are recognised. */
  parseSpecial: boolean;
  /** The answer begins with this, as if the model had written it. */
  prefix: string | Int32Array;
  /**
   * What happens if the context is too small. `dropOldest` and `shift` leave out messages of a
   * conversation; with `shift`, a full context also drops the older half of its tokens.
   */
  onFull: 'error' | 'dropOldest' | 'shift';
  /** The most positions of the prompt and an answer. */
  nCtx: number;
  /** Of the answer. */
  maxTokens: number;
  /** The work is cancelled when this id is among the cancelledIds(). */
  id: number;
}

/** A request of OpenAI's API. */
export interface EngineRequestText {
  method: string;
  /** Of the URL. Only its end counts, such as "/chat/completions". */
  path: string;
  body: string;
  /** The most positions of a prompt and its answer. */
  nCtx: number;
  /** Whether the text of messages counts as the template's own text. */
  trustContent: boolean;
  /** The reading is cancelled when this id is among the cancelledIds(). */
  id: number;
}

/** A text, or rows instead of tokens: see VisionPart. The rows may be empty. */
export interface EnginePicturePart extends EngineImageRows {
  text: string;
}

/** A value, or why a request is refused. */
export type EngineAnswered<T> =
  { value: T; refusal?: undefined } | { value?: undefined; refusal: EngineRefusal };

export interface EngineRefusal {
  /** Of HTTP. */
  status: number;
  /** JSON. */
  body: string;
  /** The same in a stream. */
  event: string;
}

/**
 * A request that is being answered. For text: beginChoice, and again until isDone; then answer or
 * lastEvents.
 */
export interface EngineRequest extends EngineHandle {
  /** The URLs of its pictures. If there are any, read() comes before everything else. */
  pictures(): string[];
  /** Reads it, with the parts of all pictures. */
  read(pictures: EnginePicturePart[][]): EngineAnswered<null>;
  /** See EngineSession. */
  missingPictures(session: EngineSession): Uint32Array;
  /** See EngineSession. */
  storedPrompt(session: EngineSession): EngineStoredPrompt | undefined;
  /** The whole answer in JSON, when it is done. */
  answer(): string;
  /** Whether vectors or scores are requested: then encode() computes them. */
  isEncoding(): boolean;
  encode(id: number, onEvent: (event: EngineAnswered<EngineRequestEvent>) => void): void;
  /** Whether the answer is sent as events while it is written. */
  isStream(): boolean;
  isDone(): boolean;
  /**
   * Begins the next choice in the session, which passes on its events while EngineModel.advance()
   * computes. `id`: see EngineGenerateOptions.
   */
  beginChoice(
    session: EngineSession,
    id: number,
    onEvent: (event: EngineAnswered<EngineRequestEvent>) => void,
  ): void;
  /** The events after the last choice. */
  lastEvents(): string;
}

export interface EngineRequestEvent {
  /** Server-sent events; empty if the answer is not a stream. */
  events: string;
  /** Whether the choice is whole. */
  isLast: boolean;
}

export interface EngineClassifier extends EngineHandle {
  labels(): string[];
  /** The tokens of a text's prompt. `id`: see embeddingTokens. */
  tokens(text: string, id: number): EngineResult<Int32Array>;
  /** Computes rows like encodeTexts: the probabilities of the labels. */
  classify(
    texts: readonly Int32Array[],
    id: number,
    onEvent: (event: EngineResult<EngineEncodingEvent>) => void,
  ): void;
}

export interface EngineEncodingRequest {
  /** The tokens of each text. */
  texts: readonly Int32Array[];
  /** "mean", "cls" or "last" for vectors; "rank" for scores. */
  pooling: string;
  /** The number of first numbers of each vector to keep; 0: all. */
  dimensions: number;
  /** Whether vectors are scaled to the length 1. */
  normalizes: boolean;
  /** See EngineGenerateOptions. */
  id: number;
}

export interface EngineEncodingEvent {
  /** The number of texts that are done. */
  nDone: number;
  /** One for each text, in the last event. */
  rows: Float32Array[];
  isLast: boolean;
}

export interface EngineSessionOptions {
  /** 0: the model's context length, up to the engine's default maximum. */
  nCtx: number;
  /** Tokens computed together; 0: the engine's default. */
  nBatch: number;
  /** KV kinds, e.g. "f32", or "auto". */
  kKind: string;
  vKind: string;
  /** Tokens in the pages that the session and its forks share; 0: no pages, forks are copies. */
  kvPool: number;
}

/** An empty text stands for nothing. */
export interface EngineAnswerRequest {
  prompt: EnginePrompt;
  /** A JSON schema that the answer must match, and how many spaces each of its levels has. */
  jsonSchema: string;
  indent: number;
  /** Whether objects may have properties that the schema does not speak of. */
  openObjects: boolean;
  /** GBNF that the whole answer must match. */
  grammar: string;
  /** After so many tokens a thought is ended; -1: by the model alone. */
  maxThinkingTokens: number;
}

/** A prompt and its planned answer, for one generation. */
export interface EngineAnswer extends EngineHandle {
  /** What is probably a mistake in the schema, in words. */
  warnings(): string[];
  /** The number of messages that were left out of the prompt. */
  nDropped(): number;
  /** The answer so far, as a message in JSON. It begins with the prefix. */
  message(): string;
}

/** It also has every number of {@link EngineSampling}. */
export interface EngineGenerateOptions {
  maxTokens: number;
  drySequenceBreakers: string[];
  seed: number;
  /** Pairs of a token and the number that is added to its logit. */
  logitBias: [number, number][];
  stop: string[];
  /** The number of best tokens to measure with the sampled token; -1 measures nothing. */
  logprobs: number;
  /** The most tokens to guess at once if the context repeats itself; 0: none. */
  lookup: number;
  /** The generation is cancelled when this id is among the cancelledIds(). */
  id: number;
  /** The prompt is the whole context; a common prefix with the old one is not computed again. */
  replacesContext: boolean;
}

/** What one step adds to an answer: a token, or text that was held back. */
export interface EngineAnswerEvent {
  /** Complete characters that are now certain; may be empty. */
  text: string;
  /** Of a thought. */
  reasoning: string;
  /** One for each call; only the first of a call has the id and the name. */
  toolCalls: { index: number; id?: string; name?: string; arguments: string }[];
  /** The sampled token; -1 in the last event. */
  token: number;
  /** If they are measured: of the sampled token, and of the most probable ones, best first. */
  logprob: number;
  topTokens: Int32Array;
  topLogprobs: Float32Array;
  /** Prompt tokens computed so far, or found in the context, and those found there. */
  nPromptDone: number;
  nCached: number;
  /** Tokens sampled so far. */
  nGenerated: number;
  /** Tokens that were guessed and computed ahead so far, and those of them that were sampled. */
  nGuessed: number;
  nAccepted: number;
  /** Tokens that a full context dropped so far. */
  nDropped: number;
  /** The time of the prompt so far, and of what follows it. */
  promptMs: number;
  decodeMs: number;
  /** "none" until the last event. */
  finishReason: 'none' | 'stop' | 'length' | 'context' | 'cancelled';
  isLast: boolean;
}

export interface EnginePages {
  /** The number of tokens in a page. */
  pageTokens: number;
  pageBytes: number;
  /** Pages copied so far. */
  nCopies: number;
  /** The pages of the session, in the order of the context. */
  table: Uint32Array;
  /** For every page of the pool, the number of sessions that use it. */
  users: Uint32Array;
}

/** The rows that a vision tower computed from a picture. */
export interface EngineImageRows {
  /** [nRows][width]; the engine copies them. */
  rows: Float32Array;
  nRows: number;
  width: number;
  /** The grid of the rows in the picture; 0: rows have successive positions, like tokens. */
  gridWidth: number;
  gridHeight: number;
  /** Whether rows see each other in both directions. */
  seesAll: boolean;
  /** Identifies the picture and the reader that made the rows: 16 hexadecimal digits. */
  checksum: string;
}

/** What the first bytes of a stored state say: its tokens, and the caches that it fits. */
export interface EngineStoredBeginning {
  nTokens: number;
  kv: EngineKvKinds;
}

/** A state that was added with EngineModel.addPrompt(). */
export interface EngineStoredPrompt {
  name: string;
  nTokens: number;
}

export interface EngineSession extends EngineHandle {
  /**
   * Begins an answer, whose prompt continues the context and may be empty. Its events arrive while
   * EngineModel.advance() computes; errors end it, also when it begins.
   */
  start(
    answer: EngineAnswer,
    options: EngineGenerateOptions,
    onEvent: (event: EngineResult<EngineAnswerEvent>) => void,
  ): void;
  /**
   * Appends tokens without generating any, and passes on the logits after the last one. Errors
   * arrive there, too, and leave the session as it was. `id`: see EngineGenerateOptions.
   */
  append(
    tokens: Int32Array,
    id: number,
    onLogits: (logits: EngineResult<Float32Array>) => void,
  ): void;
  /**
   * The pictures of the answer's prompt, by their index, whose rows must be given: they are neither
   * in the context nor held by the session.
   */
  missingPictures(answer: EngineAnswer): Uint32Array;
  /**
   * Gives the rows of a part of a picture to the next answer or append(), which checks them. Returns
   * the ids that represent them in a prompt: they are negative, and computed from all fields except
   * the rows.
   */
  giveImage(image: EngineImageRows): Int32Array;
  /**
   * Ends an answer or an append; its last event or error arrives before this returns. An unfinished
   * prompt or append is undone; if it replaces the context, its computed batches stay.
   */
  cancel(): void;
  /** The session's state, for restore(). */
  save(): EngineResult<Uint8Array<ArrayBuffer>>;
  /** Returns where to write the bytes of a saved state for restore(). */
  reserveState(nBytes: number): EngineResult<{ address: number; bytes: number }>;
  /** Restores the saved state. After an error the session is as it was. */
  restore(): EngineResult<null>;
  /** The stored state that the answer's prompt begins with, if it saves more than the context does. */
  storedPrompt(answer: EngineAnswer): EngineStoredPrompt | undefined;
  /** A session with the same context, in shared pages or in its own memory. */
  fork(): EngineResult<EngineSession>;
  /** The tokens of all positions; negative for rows of pictures. */
  tokens(): Int32Array;
  /** Drops every position from nPositions on. */
  truncate(nPositions: number): EngineResult<null>;
  /**
   * Keeps the longest prefix that the context shares with `tokens`, and drops the rest. Returns its
   * length: always less than the number of tokens.
   */
  keepPrefix(tokens: Int32Array): number;
  nPositions(): number;
  nCtx(): number;
  /** The number of tokens that are computed together. */
  nBatch(): number;
  /** How keys and values are stored. */
  kvKinds(): EngineKvKinds;
  /** The size of the KV cache; with pages, of the whole pool. */
  kvBytes(): number;
  /** The size of all recurrent states, with checkpoints and forks; 0 if there are none. */
  recurrentBytes(): number;
  kvPages(): EnginePages;
  scratchBytes(): number;
}

export interface EngineOverrides {
  /**
   * The number of threads of the instance, including the caller's worker; by default 1. Only
   * modules with threads use it. All threads have started when the promise resolves.
   */
  nThreads?: number;
  /** How long a batch of a prompt may take, which delays everything else; by default 0.15. */
  batchSeconds?: number;
  /** Returns the address of the wasm file; by default it is next to the module. */
  locateFile?: (file: string) => string;
  /** The bytes of the wasm file: Node needs them, because it cannot fetch files. */
  wasmBinary?: Uint8Array<ArrayBuffer>;
  /** Makes the instance from these imports and passes it to `onInstance`, with its module. */
  instantiateWasm?: (
    imports: WebAssembly.Imports,
    onInstance: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => Record<string, never>;
  /** For modules with threads: shared memory to use if the default maximum of 4 GiB is refused. */
  wasmMemory?: WebAssembly.Memory;
}

declare const createEngine: (overrides?: EngineOverrides) => Promise<EngineModule>;
export default createEngine;
