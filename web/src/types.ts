import type { EngineCallFormat } from '#engine';
import type { KingletError } from './errors.ts';

/**
 * Where a model's bytes come from. A string is a URL, relative to the page (in Node a path may do
 * too), or names a file on the Hugging Face hub: `hf:owner/repo/file.gguf`, or by its weight type
 * `hf:owner/repo:Q4_K_M`, of a certain revision `hf:owner/repo@revision/file.gguf`. A stream is
 * consumed; buffers and blobs stay yours.
 */
export type ModelSource =
  string | URL | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/**
 * What a load is doing: `download`: bytes come from a server; `cache`: from what was kept of it
 * earlier; `read`: from a file, a buffer or a stream; `prepare`: all are there, and the model is
 * made of them.
 */
export type LoadPhase = 'download' | 'cache' | 'read' | 'prepare';

export interface LoadProgress {
  /** Bytes that are in the engine's memory; 0 again when a file must be begun anew. */
  loaded: number;
  /** Bytes of the whole model, all its files begun so far; undefined while nobody has told. */
  total: number | undefined;
  phase: LoadPhase;
}

/** How `hf:owner/repo/file.gguf` becomes a URL. */
export interface HubOptions {
  /** Where the hub, or a mirror of it, is. Default "https://huggingface.co". */
  hubBase?: string | undefined;
}

export interface LoadOptions extends HubOptions {
  /** Called with the bytes that have arrived, about twenty times a second, and at the end. */
  onProgress?: ((progress: LoadProgress) => void) | undefined;
  /**
   * Called with what went wrong where the load goes on nevertheless: `cache_full` and
   * `cache_unavailable` when a download cannot be kept, `cache_corrupt` when it is repeated, and
   * `worker_crashed` when the engine's threads did not start and it starts over with fewer.
   */
  onWarning?: ((warning: KingletError) => void) | undefined;
  /** Aborting stops the download, frees everything and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Bytes of memory to leave for further sessions. With threads, memory is reserved in advance: as
   * much as the model and its first session take, and this. Where the browser refuses it, less is
   * tried, and then one thread. Default 256 MiB.
   */
  spareMemory?: number | undefined;
  /**
   * Where tables of embeddings are of which only the rows of a text's tokens are read: those that no
   * logits are made of. `'auto'`, the default, leaves them in the file from 64 MiB on, where it can
   * be read again: a Blob or File in browsers, a path in Node, or a URL whose file is kept in the
   * cache (in browsers, in the origin private file system). `'file'` does so with smaller ones too,
   * `'memory'` with none.
   */
  embeddingTables?: EmbeddingTables | undefined;
  /**
   * Whether files from URLs are kept and read again; in Node also the folder that keeps them, by
   * default `KINGLET_CACHE` of the environment, or else `kinglet` in the user's folder for caches.
   * Default true. See {@link ModelCache}.
   */
  cache?: boolean | string | undefined;
  /**
   * Headers of every request for the model's files, such as `Authorization: 'Bearer …'` for a gated
   * model. They go to no other site when the server redirects there.
   */
  headers?: Record<string, string> | undefined;
  /**
   * Milliseconds without a byte after which a download counts as broken off, and is taken up again.
   * Default 30,000.
   */
  stallTimeout?: number | undefined;
  /**
   * Default: half of the hardware's threads, of two both, at most 8; fewer where a short measurement
   * while loading finds fewer to be faster; 1 where threads are not possible.
   */
  nThreads?: number | undefined;
  /** A kernel set by name, e.g. "scalar". Default: the fastest that runs here. */
  kernels?: string | undefined;
  /** Tokens of context. Default: the model's own context length, at most 4096. */
  nCtx?: number | undefined;
  /** How keys and values are stored, both alike or apart. Default: `'f32'`. */
  kv?: KvOption | undefined;
  /**
   * Where the package's `worker/worker.js` is, relative to the page. Default: where the bundler has
   * put it, or else beside the package's other files.
   */
  workerUrl?: string | URL | undefined;
  /**
   * The folder with the engine's files, the package's `engine`, relative to the page. Default: where
   * the bundler has put them, or else beside the worker's folder.
   */
  engineUrl?: string | URL | undefined;
  /**
   * Start the worker from a blob that imports its script, as browsers start none from another site
   * than the page's. Needs `worker-src blob:` in a Content-Security-Policy. Default false.
   */
  blobWorker?: boolean | undefined;
  /**
   * Makes the worker, in browsers: for bundlers with a way of their own. It must run the module
   * `kinglet/worker`, and be a new one each time.
   */
  worker?: (() => Worker) | undefined;
  /**
   * A chat template in place of the file's: a Jinja program, as `chat_template` of a
   * `tokenizer_config.json` has it. One that cannot be read rejects with `unsupported_feature`.
   */
  chatTemplate?: string | undefined;
  /**
   * The file that reads pictures for this model, its `mmproj`, from a source as the model's. It is
   * loaded after the model, so that one of another model rejects with `wrong_shape` here. Default: of
   * a model from the hub, the one that lies beside it, looked for and loaded when the first picture
   * comes; of others none.
   */
  mmproj?: ModelSource | undefined;
}

export type EmbeddingTables = 'auto' | 'memory' | 'file';

/**
 * How the keys and values of past tokens are stored, largest first: floats of 32 and 16 bits; 8-bit
 * integers or floats with one scale for each head; 8 and 4 bits with one scale for 32 elements.
 */
export type KvKind = 'f32' | 'f16' | 'q8' | 'int8' | 'fp8_e4m3' | 'fp8_e5m2' | 'q4';

export type KvOption = KvKind | { k: KvKind; v: KvKind };

export interface SessionOptions {
  /** Tokens of context, at most the model's `contextLength`. Default: as the model was loaded. */
  nCtx?: number | undefined;
  /** How keys and values are stored. Default: as the model was loaded. */
  kv?: KvOption | undefined;
  /**
   * Tokens that the session and all its forks can hold together, `nCtx` and 64 at least: their keys
   * and values are kept in pages, which sessions share until one of them writes. Where no page is
   * left, a call rejects with `out_of_memory`. Default: the session is in one piece, and a fork is a
   * copy.
   */
  kvPool?: number | undefined;
}

export interface SessionInfo {
  /** Tokens of context that fit. */
  nCtx: number;
  kv: { k: KvKind; v: KvKind };
  /** What the session takes beside the model's weights. */
  memory: {
    /**
     * Where it shares pages: of all that there are. 0 in forks, which add none. Else layers whose
     * attention sees a window hold little more than that.
     */
    kvBytes: number;
    /**
     * States of recurrent layers, with the checkpoints that make going back in a text cheap; 0 in
     * models without such layers. Those of a session and its forks are counted together.
     */
    recurrentBytes: number;
    scratchBytes: number;
  };
}

/** Where the keys and values of a session are: see {@link SessionOptions.kvPool}. */
export interface KvPages {
  /** Tokens of a page. */
  pageTokens: number;
  pageBytes: number;
  /** Pages that there are, and those of them that nobody uses. */
  nPages: number;
  nFree: number;
  /** The session's pages by number, in the order of its context. */
  table: number[];
  /** By how many sessions each page is used. */
  users: number[];
  /** How often a page was copied so far, because one of those who shared it wrote. */
  nCopies: number;
}

/** Why generation runs on one thread. */
export type SingleThreadReason =
  /** The page is not cross-origin isolated (COOP and COEP headers), so memory cannot be shared. */
  | 'not_isolated'
  /** The threaded build could not start, for example because shared memory was refused. */
  | 'refused'
  /** The caller asked for one thread. */
  | 'requested'
  /** The machine has no more than one core to spare, or a second thread made it slower. */
  | 'one_core';

/** Some of the options of {@link GenerateOptions}. */
export interface RecommendedSampling {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repeatPenalty?: number;
  repeatLastN?: number;
}

export interface ModelInfo {
  name: string;
  architecture: string;
  /**
   * False of a file that holds a vocabulary only. It tokenizes; everything else rejects with
   * `missing_tensor`, and the numbers here but `nTokens` are 0.
   */
  hasWeights: boolean;
  nParameters: number;
  nLayers: number;
  /** Size of the vocabulary. */
  nTokens: number;
  /**
   * What the file was made for: models for `embeddings` answer `embed()`, those for `ranking`
   * `rerank()`, and neither makes text. Those for `text` can embed too.
   */
  purpose: 'text' | 'embeddings' | 'ranking';
  /** How an embedding is made of a text's states, where the file tells. */
  pooling: Pooling | undefined;
  /** Numbers of an embedding. */
  embeddingSize: number;
  /** Tokens of context the model was trained for. */
  contextLength: number;
  /** Tokens of context that fit this instance. */
  nCtx: number;
  /** The chat template, a Jinja program: the option's or the file's; undefined where it has none. */
  chatTemplate: string | undefined;
  /** The one for conversations with tools, where the file has one of its own for them. */
  toolChatTemplate: string | undefined;
  /** The chat template tells the model of `tools`. */
  knowsTools: boolean;
  /** @internal How the model writes calls. */
  callFormat: EngineCallFormat;
  /**
   * What the file recommends to draw tokens with: the defaults of generate() and chat(). Empty where
   * it says nothing.
   */
  sampling: RecommendedSampling;
  /** How the vocabulary spells its marks of beginning and end; empty where it has none. */
  bosToken: string;
  eosToken: string;
  /**
   * Numbers of each row that a picture becomes, in place of a token's embedding; 0 of models that
   * take none.
   */
  imageWidth: number;
  /** What reads pictures, in memory of its own; undefined where no `mmproj` was given. */
  images: ImageReaderInfo | undefined;
  /** Of the weights, and of the session that the model has from the start. */
  memory: {
    weightBytes: number;
    /** Of the file's weights, those that stay there: see {@link LoadOptions.embeddingTables}. */
    storedBytes: number;
    kvBytes: number;
    /** Of recurrent layers; 0 in models without them. */
    recurrentBytes: number;
    scratchBytes: number;
    /** Of WebAssembly memory, all of these and the engine itself among them. */
    heapBytes: number;
  };
  runtime: {
    /** The wasm build that runs, e.g. "simd128-threads". */
    variant: string;
    /** The kernel set that runs, e.g. "simd128". */
    kernels: string;
    /** That compute. */
    nThreads: number;
    /** Undefined with more than one thread. */
    singleThreadReason: SingleThreadReason | undefined;
  };
}

/** Of the `mmproj` file: see {@link LoadOptions.mmproj}. */
export interface ImageReaderInfo {
  name: string;
  /** How it makes rows for the model, as the file names it: "idefics3", "gemma3", "lfm2". */
  projector: string;
  weightBytes: number;
  /** Of WebAssembly memory, after loading; large pictures take more. */
  heapBytes: number;
}

/** A JSON schema, as an object or a boolean; `$ref` may point into the schema itself. */
export type JsonSchema = object | boolean;

/** What happens where a conversation fills the context: see `onFull` of {@link ChatOptions}. */
export type OnFull = 'error' | 'dropOldest' | 'shift';

export interface GenerateOptions {
  /** Tokens to generate at most. Default 256. */
  maxTokens?: number | undefined;
  /**
   * 0 always takes the most probable token. Above, it shapes the draw among those that `topK`,
   * `topP` and `minP` keep. Default 0.8.
   */
  temperature?: number | undefined;
  /** Keep the k most probable tokens; 0 keeps all. Default 40. */
  topK?: number | undefined;
  /** Keep the fewest tokens whose probabilities reach p. Default 0.95. */
  topP?: number | undefined;
  /** Keep tokens with at least this share of the largest probability. Default 0.05. */
  minP?: number | undefined;
  /** Above 1, tokens that were seen lately become less probable. Default 1. */
  repeatPenalty?: number | undefined;
  /** Taken off a token's logit for each time it was seen lately, -100 to 100. Default 0. */
  frequencyPenalty?: number | undefined;
  /** Taken off a token's logit once it was seen lately, -100 to 100. Default 0. */
  presencePenalty?: number | undefined;
  /** How many tokens of prompt and answer count as "lately". Default 64. */
  repeatLastN?: number | undefined;
  /** Added to the logits of these tokens, -100 to 100: the extremes force and forbid. */
  logitBias?: Record<number, number> | undefined;
  /**
   * Texts that end the answer and are not part of it, wherever tokens begin and end: what may become
   * one is held back until that is certain.
   */
  stop?: readonly string[] | undefined;
  /**
   * Measure how probable the model finds each token, and so many of the most probable ones beside
   * it, 0 to 100. Biases, penalties and temperature do not count.
   */
  logprobs?: number | undefined;
  /**
   * Where the last tokens were seen before, guess that what followed them follows again, and compute
   * so many guesses at a time with one step, 0 to 7: text that copies from its prompt comes up to
   * several times as fast, any other as fast as before. The answer is the same with any number.
   * Default 7.
   */
  lookup?: number | undefined;
  /** The same seed gives the same text. Default: random; the result tells it. */
  seed?: number | undefined;
  /**
   * What the whole answer must match, in GBNF: only tokens that fit are drawn, and the answer ends
   * where nothing can follow. An answer that `maxTokens` cuts matches as far as it goes.
   */
  grammar?: string | undefined;
  /**
   * The answer is a JSON text that is valid under this schema (draft 2020-12), unless `maxTokens`
   * cuts it; `true` allows any JSON. A keyword that is not supported is refused by name. The model
   * does not see the schema: the prompt should ask for it. The text has no white space between its
   * parts, see {@link GenerateOptions.indent}.
   */
  jsonSchema?: JsonSchema | undefined;
  /**
   * Of an answer that matches a `jsonSchema`: how many spaces its lines are indented by at each
   * level, 0 to 10, as JSON.stringify does it; 12 levels down it has no white space. Default 0:
   * nowhere.
   */
  indent?: number | undefined;
  /**
   * Of a prompt given as text: put the vocabulary's beginning-of-sequence token in front, where it
   * asks for one and the text does not spell it. Default: at the start of a context.
   */
  addBos?: boolean | undefined;
  /** Of a prompt given as text: recognise control tokens that it spells out. Default false. */
  parseSpecial?: boolean | undefined;
  /**
   * Where the context is full. `error`: a prompt that does not fit rejects with `prompt_too_long`, and
   * an answer that fills the context ends with `finishReason` `context`. `shift`: the context drops
   * the older half of what comes after its first tokens, as often as it is full, and the answer goes
   * on; so does a session that has no room for the prompt. Models with recurrent layers or learned
   * positions cannot do that, and reject with `unsupported_feature`. Default `error`.
   */
  onFull?: 'error' | 'shift' | undefined;
  /**
   * Aborting takes effect at the next token, in the prompt at the next batch, and rejects with the
   * signal's reason. What there is by then: see {@link Generation.partial}.
   */
  signal?: AbortSignal | undefined;
}

export interface ChatMessage {
  /** "system", "user", "assistant", or what else the model's template knows. */
  role: string;
  /** Of a message that only calls tools: "". */
  content: string | readonly ContentPart[];
  /** The tools that the assistant called. */
  tool_calls?: readonly ChatToolCall[] | undefined;
  /** Of a tool's result: the call that it answers, and the tool. */
  tool_call_id?: string | undefined;
  name?: string | undefined;
  /** What the assistant thought before it answered. */
  reasoning_content?: string | undefined;
}

export type ContentPart = { type: 'text'; text: string } | { type: 'image'; image: ImageSource };

/**
 * A picture. A string is a URL, relative to the page (in Node a path may do too), or a data URL;
 * bytes and blobs are files: PNG, JPEG, and in browsers WebP, AVIF and BMP. In Node files are read by
 * the package `sharp`, where it is installed. What is transparent is seen over white, and turned as its
 * file says. What came from a URL is taken to stay as it is while the model lives.
 */
export type ImageSource =
  Blob | ImageBitmap | ImageData | ImagePixels | URL | string | Uint8Array<ArrayBuffer>;

export interface ImagePixels {
  width: number;
  height: number;
  /** Line by line from the top, 3 bytes a pixel (red, green, blue) or 4 (and alpha). */
  data: Uint8Array | Uint8ClampedArray;
}

/** How far the pictures of a prompt are read; those that were read before are not among them. */
export interface ImageProgress {
  /** Which picture of the messages, from 0 on. */
  image: number;
  /** Steps of it. */
  done: number;
  total: number;
}

/** Templates expect an object of arguments, not its JSON. */
export interface ChatToolCall {
  id?: string | undefined;
  type?: string | undefined;
  function: { name: string; arguments: unknown };
}

/** A tool that the model may call. */
export interface ChatTool {
  type: 'function';
  function: {
    name: string;
    description?: string;
    /** A JSON schema of the arguments. */
    parameters?: Record<string, unknown>;
  };
}

export interface ChatPromptOptions {
  /** End where the model's answer begins. Default true. */
  addGenerationPrompt?: boolean | undefined;
  /** What the model may call, where its template tells it of tools: see `info.knowsTools`. */
  tools?: readonly ChatTool[] | undefined;
  /** Further variables of the template, such as `enable_thinking: false`. */
  variables?: Record<string, unknown> | undefined;
}

export interface ChatTokensOptions extends ChatPromptOptions {
  /**
   * Recognise control tokens that messages and variables spell, too. By default they are the
   * template's alone: what a user, a fetched page or a tool's result says stays text, and cannot end
   * its turn or begin one in another's name.
   */
  trustContent?: boolean | undefined;
}

export type ChatOptions = Omit<GenerateOptions, 'addBos' | 'parseSpecial' | 'onFull'> &
  Pick<ChatTokensOptions, 'tools' | 'variables' | 'trustContent'> & {
    /** The answer goes on from this, as if the model had written it. The result does not repeat it. */
    prefix?: string | ArrayLike<number> | undefined;
    /**
     * Where the conversation is longer than the context. `error`: it rejects with
     * `prompt_too_long`, and an answer that fills the context ends with `finishReason` `context`.
     * `dropOldest`: the oldest exchanges after the system's messages are left out, whole, until the
     * rest and `maxTokens` fit, of which at most half of the context is kept free; then the oldest
     * calls of tools with their results. The last question always stays. Some turns are left out at
     * once, so that those that follow are read from where they are new. `shift`: the same, and an
     * answer that fills the context goes on: the older half of what comes after the system's
     * messages is dropped then, which some models cannot do (`unsupported_feature`). The result
     * tells what was `dropped`. Default `error`.
     */
    onFull?: OnFull | undefined;
    /** Called while pictures are read. Aborting and leaving the loop take effect between steps. */
    onImage?: ((progress: ImageProgress) => void) | undefined;
  };

export interface Piece {
  /**
   * Whole characters, ready to append. Empty while a character's bytes are incomplete, or what may
   * become a stop string, a thought or a call.
   */
  text: string;
  /** In an answer to chat(): what the model thinks first, where its template marks thoughts. */
  reasoning?: string;
  /** In an answer to chat() with tools: what is new of calls. */
  toolCalls?: ToolCallPiece[];
  /** The token drawn; each comes in one piece. -1 in a last piece of text that was held back. */
  token: number;
  /** The natural logarithm of the token's probability, where `logprobs` asks for it. */
  logprob?: number;
  /** The most probable tokens in its place, best first. */
  top?: TokenLogprob[];
}

/** A call of a tool, or what comes next of one. */
export interface ToolCallPiece {
  /** Which call of the answer, from 0 on. */
  index: number;
  /** In the first piece of a call. */
  name?: string;
  /** JSON, ready to append; of an answer that was cut it may end early. */
  arguments: string;
}

export interface ToolCall {
  name: string;
  /** A JSON object, as OpenAI's API gives it; of an answer that was cut it may end early. */
  arguments: string;
}

export interface TokenLogprob {
  token: number;
  /** What the token spells; U+FFFD where that is part of a character. */
  text: string;
  logprob: number;
}

/** Of the final states of a text's tokens: their mean, that of the first or of the last one. */
export type Pooling = 'mean' | 'cls' | 'last';

/** Texts that are done. */
export interface EncodeProgress {
  done: number;
  total: number;
}

/** What embed() and rerank() have in common. */
export interface EncodeOptions {
  /**
   * Cut texts that are longer than the model's context, of pairs the document; they reject with
   * `prompt_too_long` otherwise. Default false.
   */
  truncate?: boolean | undefined;
  /** Called as texts are done. */
  onProgress?: ((progress: EncodeProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface EmbedOptions extends EncodeOptions {
  /** Default: the file's; `'mean'` of a model that was made for text and does not tell. */
  pooling?: Pooling | undefined;
  /** Scale vectors to length 1. Default true. */
  normalize?: boolean | undefined;
  /** Keep so many numbers of each, the first: for models that were trained for it. Default: all. */
  dimensions?: number | undefined;
  /** Put in front of each text: what the model was trained with, such as "query: ". Default "". */
  prompt?: string | undefined;
}

export interface RerankOptions extends EncodeOptions {
  /** Give the best ones only. Default: all. */
  topN?: number | undefined;
}

/** How well a document answers a query. */
export interface RankedDocument {
  /** Among the documents that were given. */
  index: number;
  /** What the model makes of the two: larger is better, on a scale of its own. */
  score: number;
}

export interface DecodeOptions {
  /** Aborting takes effect at the next batch, and leaves the context as it was. */
  signal?: AbortSignal | undefined;
}

/**
 * `stop`: the model ended, or a stop string came; `length`: maxTokens; `context`: full; `cancelled`:
 * you left the loop, or said so.
 */
export type FinishReason = 'stop' | 'length' | 'context' | 'cancelled';

export interface GenerationResult {
  text: string;
  /** In an answer to chat(): what the model thought first; undefined where it did not. */
  reasoning?: string;
  /** In an answer to chat() with tools: those that the model calls; undefined where there are none. */
  toolCalls?: ToolCall[];
  finishReason: FinishReason;
  /** With `onFull` in an answer to chat(): how many of the messages were left out. */
  dropped?: number;
  /** With `onFull: 'shift'`: tokens that the full context dropped while it read and wrote. */
  droppedTokens?: number;
  seed: number;
  usage: {
    promptTokens: number;
    /** Those of the prompt that the session held already, so that nothing was computed for them. */
    cachedTokens: number;
    completionTokens: number;
  };
  timings: {
    /** Reading the prompt. */
    promptMs: number;
    /** From the start of work, when earlier calls are done, to the first token. */
    firstTokenMs: number;
    /** Drawing the tokens. */
    decodeMs: number;
    /** Of the tokens that were not cached. */
    promptTokensPerSecond: number;
    tokensPerSecond: number;
    /** Tokens that were guessed ahead (see `lookup`), and those of them that were drawn. */
    guessedTokens: number;
    keptTokens: number;
  };
}

export interface TokenizeOptions {
  /** Put the vocabulary's beginning-of-sequence token in front, where it asks for one. Default true. */
  addBos?: boolean | undefined;
  /** Recognise control tokens that are spelled out in the text. Default false. */
  parseSpecial?: boolean | undefined;
}

export interface DetokenizeOptions {
  /** Spell control tokens out. Default false. */
  special?: boolean | undefined;
}
