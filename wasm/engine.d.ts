// The interface of the wasm module: what bindings.cpp exports, as seen from the worker.
// The engine is synchronous; one module instance belongs to one worker.

/** Every call that can fail answers one or the other; nothing throws. */
export type EngineResult<T> = { value: T; error?: undefined } | { error: EngineError };

export interface EngineError {
  /** The snake_case name of a kinglet::ErrorCode, e.g. "wrong_shape". */
  code: string;
  message: string;
}

/** An object in the wasm heap: call delete() when done. */
export interface EngineHandle {
  delete(): void;
}

export interface EngineModule {
  /** Views of the heap are replaced when memory grows: read this anew after every call. */
  readonly HEAPU8: Uint8Array;
  /** Kernel sets of this build, fastest first: "relaxed-simd" or "simd128", then "scalar". */
  kernelSets(): string[];
  /** Threads that compute: 1 in modules without threads. Loading a model may leave some out. */
  nPoolThreads(): number;
  /**
   * `fileBytes`: 0 where the source does not tell. `kernels`: a name from kernelSets(), or "" for
   * the fastest. Weights are packed on other threads, where there are any, while bytes arrive.
   * `tables`: what stays in the first file; undefined: nothing does.
   */
  newLoader(
    fileBytes: number,
    kernels: string,
    tables: EngineTables | undefined,
  ): EngineResult<EngineLoader>;
  newAnswerReader(options: EngineAnswerOptions): EngineAnswerReader;
  /**
   * The ids that stand for a picture's rows in a prompt: negative, and made of all but the rows,
   * which may be left empty.
   */
  imageTokens(image: EngineImageRows): Int32Array;
  /**
   * Where in the heap the id (uint32) of the work stands that is to end. In modules with threads the
   * page may write it while a call is running.
   */
  cancelAddress(): number;
}

/** Embedding tables that are read by rows only stay in the file. */
export interface EngineTables {
  /** Smaller ones are loaded. */
  minBytes: number;
  /**
   * Called while the engine computes: copies bytes of the file, from byte `at` on, to `address` of
   * HEAPU8. What went wrong, or "".
   */
  read(at: number, address: number, bytes: number): string;
}

/**
 * skip → reserve → write into HEAPU8 → commit, until reserve gives 0 bytes; then finish, or nextPart and
 * the same again where the model comes in several files.
 */
export interface EngineLoader extends EngineHandle {
  /** Bytes that come next and stay in the file, up to `maxBytes`: they are left out. */
  skip(maxBytes: number): number;
  reserve(maxBytes: number): EngineResult<{ address: number; bytes: number }>;
  commit(bytes: number): EngineResult<null>;
  /** Of the part that is being loaded; 0 until its header has been read. */
  fileBytes(): number;
  /** The file is complete and another one follows; `fileBytes` as in newLoader(). */
  nextPart(fileBytes: number): EngineResult<null>;
  /**
   * Ends the loader, whatever it answers; delete() is still due. `choosesThreads`: the fastest
   * number of them is measured, which takes some milliseconds.
   */
  finish(choosesThreads: boolean): EngineResult<EngineModel>;
}

export interface EngineModelInfo {
  name: string;
  architecture: string;
  /** 0 or 1. Without them all numbers but nTokens are 0, and newSession() fails. */
  hasWeights: number;
  nParameters: number;
  nLayers: number;
  nTokens: number;
  contextLength: number;
  purpose: 'text' | 'embeddings' | 'ranking';
  /** "none", "mean", "cls", "last" or "rank"; empty where the file does not tell. */
  pooling: string;
  /** Numbers of an embedding. */
  embeddingSize: number;
  /** Numbers of a picture's row; 0 of models that read none. */
  imageWidth: number;
  /** Of the weights in memory, and of those that stay in the file. */
  weightBytes: number;
  storedBytes: number;
  kernels: string;
  /** What the file recommends; nothing else is set. */
  sampling: EngineSampling;
  /** The file's own, a Jinja program; empty where it has none. */
  chatTemplate: string;
  /** The one that it has for conversations with tools; empty where it has none. */
  toolChatTemplate: string;
  /** How the vocabulary spells its marks; empty where it has none. */
  bosToken: string;
  eosToken: string;
}

export interface EngineSampling {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repeatPenalty?: number;
  repeatLastN?: number;
}

export interface EngineModel extends EngineHandle {
  info(): EngineModelInfo;
  /**
   * The ids of the joined texts. With `parseSpecial` control tokens are recognised in every other
   * one, the first among them.
   */
  encode(texts: readonly string[], addBos: boolean, parseSpecial: boolean): Int32Array;
  decode(ids: Int32Array, special: boolean): EngineResult<string>;
  /** What one token spells, control tokens too; part of a character is U+FFFD. */
  piece(id: number): string;
  /** What a chat template tells of tools. */
  toolFormat(chatTemplate: string): EngineToolFormat;
  newSession(options: EngineSessionOptions): EngineResult<EngineSession>;
  /** With the special tokens that the file asks for. `cuts`: what is too long, which fails else. */
  embeddingTokens(text: string, cuts: boolean): EngineResult<Int32Array>;
  /** Of a query and a document, to be scored together. */
  rankingTokens(query: string, document: string, cuts: boolean): EngineResult<Int32Array>;
  /** With room for so many tokens of texts that are computed together. */
  newEncoder(nTokens: number): EngineResult<EngineEncoder>;
}

/** Makes vectors or scores of whole texts. */
export interface EngineEncoder extends EngineHandle {
  /**
   * Begins with these texts, in place of those before. `id`: compared with what stands at
   * cancelAddress(). The number of steps that are left, as advance() gives it.
   */
  begin(texts: readonly Int32Array[], id: number): EngineResult<number>;
  /** Computes a step: a layer, or a batch of tokens. After an error there are no texts. */
  advance(): EngineResult<number>;
  /** Of a text, when no step is left: its first `dimensions` numbers, or those there are. */
  embedding(
    text: number,
    pooling: string,
    dimensions: number,
    normalizes: boolean,
  ): EngineResult<Float32Array>;
  /** The scores of a text, the first of them the one that ranks. */
  scores(text: number): EngineResult<Float32Array>;
}

export interface EngineSessionOptions {
  /** 0 takes the model's context length. */
  nCtx: number;
  /** Tokens computed together; 0 takes the engine's default. */
  nBatch: number;
  /** KV kinds, e.g. "f32". */
  kKind: string;
  vKind: string;
  /** Tokens in the pages that the session and its forks share; 0: none, forks are copies. */
  kvPool: number;
}

export interface EngineToolFormat {
  /** Whether the template tells the model of tools. */
  knowsTools: number;
  calls: EngineCallFormat;
}

/** How the model writes calls: see call_notation.h, whose flags are 0 or 1 here. */
export interface EngineCallFormat {
  begin: string;
  idMark: string;
  nameEnd: string;
  idMember: string;
  between: string;
  end: string;
  argumentsBegin: string;
  argumentBegin: string;
  keyEnd: string;
  valueEnd: string;
  argumentSeparator: string;
  argumentsEnd: string;
  textEnd: string;
  cdataBegin: string;
  cdataEnd: string;
  separator: string;
  colon: string;
  quotes: string;
  textQuote: string;
  hasPlainNames: number;
  hasPlainKeys: number;
  sortsKeys: number;
  hasPythonWords: number;
  /** Around a thought; empty where the template knows of none. */
  thoughtBegin: string;
  thoughtEnd: string;
  /** The marks among all these that the vocabulary has a token for. */
  marks: { text: string; token: number }[];
}

/** A part of an answer; `arguments` are of the call that began last, a piece of a JSON object. */
export interface EngineAnswerPart {
  kind: 'text' | 'thought' | 'call' | 'arguments';
  /** Of a call: the tool's name. */
  text: string;
}

export interface EngineAnswerOptions {
  /** It tells how the model marks thoughts and calls. */
  chatTemplate: string;
  /** What may be called; their parameters that are strings, whatever they spell. */
  tools: readonly { name: string; textParameters: string[] }[];
  /** The end of the prompt, which may have begun a thought or the calls. */
  prompt: string;
  /** The answer must match a grammar, and has no thoughts. */
  isConstrained: boolean;
}

/** Parts an answer while it is written. */
export interface EngineAnswerReader extends EngineHandle {
  /** Control tokens that must be part of its text. */
  marks(): string[];
  /** What is certain with this text. */
  push(text: string): EngineAnswerPart[];
  /** What was held back. */
  end(): EngineAnswerPart[];
}

export interface EngineGenerateOptions {
  maxTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repeatPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  repeatLastN: number;
  seed: number;
  /** Tokens, and what is added to their logits. */
  logitBias: [number, number][];
  stop: string[];
  /** Alternatives to measure with the token drawn; -1 measures nothing. */
  logprobs: number;
  /** Tokens to guess at a time, where the context repeats itself; 0: none. */
  lookup: number;
  /** Compared with what stands at cancelAddress(). */
  id: number;
  /** The prompt is the whole context; what the session holds of it is not computed again. */
  replacesContext: boolean;
  /**
   * A full context drops the older half of what comes after its first so many tokens, and goes on;
   * -1: it ends the answer.
   */
  nKept: number;
  /** GBNF that the answer must match. */
  grammar: string | undefined;
  /** Control tokens that are part of the text all the same. */
  marks: readonly string[];
}

export interface EngineStep {
  /** Prompt tokens computed so far, or found in the context. */
  nPromptDone: number;
  /** Tokens computed in this step: of the prompt, or what was left before. */
  nComputed: number;
  /** Tokens that were guessed and computed ahead so far, and those of them that were drawn. */
  nGuessed: number;
  nKept: number;
  /** Tokens that the full context dropped so far. */
  nDropped: number;
  /** The token drawn in this step; -1 while the prompt is computed and in the last step. */
  token: number;
  /** Whole characters that are now certain; may be empty. */
  text: string;
  /** Where they are measured: of the token, and of the most probable ones, best first. */
  logprob: number;
  topTokens: Int32Array;
  topLogprobs: Float32Array;
  /** "none" until the last step. */
  finishReason: 'none' | 'stop' | 'length' | 'context' | 'cancelled';
}

/** What a batch of tokens gave. */
export interface EngineBatch {
  /** Tokens that are still to be computed. */
  nLeft: number;
  /** Behind the last token; empty before it is computed. */
  logits: Float32Array;
}

export interface EnginePages {
  /** Tokens of a page. */
  pageTokens: number;
  /** Pages copied so far. */
  nCopies: number;
  /** The session's own, in the order of the context. */
  table: Uint32Array;
  /** For every page of the pool, how many sessions use it. */
  users: Uint32Array;
}

/** What a vision tower made of a picture. */
export interface EngineImageRows {
  /** [nRows][width], copied. */
  rows: Float32Array;
  nRows: number;
  width: number;
  /** How they lie in the picture; 0: they are counted one by one. */
  gridWidth: number;
  gridHeight: number;
  /** They see each other in both directions. */
  seesAll: boolean;
  /** Of the picture, and of what made the rows of it: 16 hexadecimal digits. */
  checksum: string;
}

export interface EngineSession extends EngineHandle {
  /**
   * Begins to continue the context with a prompt; without tokens, where the context ends. The number
   * of the prompt's tokens that were found in the context.
   */
  start(prompt: Int32Array, options: EngineGenerateOptions): EngineResult<number>;
  /** One batch of the prompt, of at most `maxBatch` tokens, or one token. */
  step(maxBatch: number): EngineResult<EngineStep>;
  /**
   * Begins to append tokens, without a generation. `id` as above. The number of tokens that are to
   * be computed, with those left from before.
   */
  begin(tokens: Int32Array, id: number): EngineResult<number>;
  /**
   * A picture for the next start() or begin(), which checks it, and whose tokens are among theirs.
   * Not needed where they are found in the context, or the session holds it. How many were given.
   */
  giveImage(image: EngineImageRows): number;
  /** The first tokens of the pictures in the context; -1 where a restored one's rows are not held. */
  heldImages(): Int32Array;
  /** Computes a batch of at most `maxBatch` of them. After an error the session is as it was. */
  advance(maxBatch: number): EngineResult<EngineBatch>;
  /**
   * Ends what start() or begin() began. Tokens that were not read to their end are forgotten, but
   * for what was computed of a prompt that replaces the context. The text that a generation held
   * back.
   */
  cancel(): EngineResult<string>;
  /** All that restore() needs to make a session what this one is. */
  save(): EngineResult<Uint8Array<ArrayBuffer>>;
  /** On an error the session is as it was. */
  restore(bytes: Uint8Array): EngineResult<null>;
  /** A session with the same context, in the same pages or in memory of its own. */
  fork(): EngineResult<EngineSession>;
  /** Of all positions; negative where rows of pictures stand. */
  tokens(): Int32Array;
  /** Forgets every position from nPositions on. */
  truncate(nPositions: number): EngineResult<null>;
  /** Forgets what is not the beginning of `tokens`; how many stay, fewer than these. */
  keepPrefix(tokens: Int32Array): number;
  /** How many keepPrefix() would keep. */
  nKeptOf(tokens: Int32Array): number;
  nPositions(): number;
  nCtx(): number;
  /** Tokens that are computed together. */
  nBatch(): number;
  /** Of the whole pool. */
  kvBytes(): number;
  /** Of the states of recurrent layers: checkpoints, and those of forks. 0 where there are none. */
  recurrentBytes(): number;
  kvPages(): EnginePages;
  scratchBytes(): number;
}

export interface EngineOverrides {
  /**
   * Threads of the instance, of which one is the caller's worker: 1 where it is left out. Only
   * modules with threads look at it. All threads have started when the promise resolves.
   */
  nThreads?: number;
  /** Where the wasm file is; beside the module where it is left out. */
  locateFile?: (file: string) => string;
  /** The bytes of the wasm file: Node needs them, as it cannot fetch files. */
  wasmBinary?: Uint8Array<ArrayBuffer>;
  /** Makes the instance of these imports, and hands it over with its module. */
  instantiateWasm?: (
    imports: WebAssembly.Imports,
    onInstance: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => Record<string, never>;
  /** Modules with threads: their shared memory, where the default maximum of 4 GiB is refused. */
  wasmMemory?: WebAssembly.Memory;
}

declare const createEngine: (overrides?: EngineOverrides) => Promise<EngineModule>;
export default createEngine;
