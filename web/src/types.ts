import type { KingletError } from './errors.ts';

/**
 * Where a model's bytes come from. A string is a URL, relative to the page (in Node a path, unless it
 * begins like `https:`, `file:` or `data:`; `%`, `#` and `?` are then characters of a name), or a file
 * on the Hugging Face hub: `hf:owner/repo/file.gguf`, or by weight type `hf:owner/repo:Q4_K_M`, or with
 * a revision `hf:owner/repo@revision/file.gguf`. A stream is consumed; buffers and blobs are not
 * changed.
 */
export type ModelSource =
  string | URL | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/**
 * What a load is doing. `download`: bytes come from a server; `cache`: from an earlier download;
 * `read`: from a file, a buffer or a stream; `retry`: a download broke off, and the rest is about to be
 * requested again; `prepare`: all bytes have arrived, and the model is being prepared.
 */
export type LoadPhase = 'download' | 'cache' | 'read' | 'retry' | 'prepare';

export interface LoadProgress {
  /** Bytes in the engine's memory; back to 0 if a file must be loaded from the start again. */
  loaded: number;
  /** Bytes of all the model's files begun so far; undefined while unknown. */
  total: number | undefined;
  phase: LoadPhase;
}

/** How `hf:owner/repo/file.gguf` becomes a URL. */
export interface HubOptions {
  /** The address of the hub or of a mirror. Default "https://huggingface.co". */
  hubBase?: string | undefined;
}

export interface LoadOptions extends HubOptions {
  /** Called about twenty times a second, and at the end. What it throws ends the load. */
  onProgress?: ((progress: LoadProgress) => void) | undefined;
  /**
   * Called with problems that do not stop the load: `cache_full` and `cache_unavailable` if a
   * download cannot be cached, `cache_corrupt` if it is repeated, and `worker_crashed` if the
   * engine's threads did not start and it starts again with fewer.
   */
  onWarning?: ((warning: KingletError) => void) | undefined;
  /** Aborting stops the download, frees everything and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Bytes of memory to reserve for further sessions. With threads, memory is reserved in advance:
   * for the model, its first session, and this. If the browser refuses, less is tried, and then one
   * thread. Default 256 MiB.
   */
  spareMemory?: number | undefined;
  /**
   * Where to keep embedding tables that are read only at the rows of a text's tokens (those that do
   * not also compute the logits). `'auto'`, the default, leaves tables of 64 MiB and more in the file
   * if it can be read again: a Blob or File in browsers, a path in Node, or a cached download (in
   * browsers, cached in the origin private file system). `'file'` does so with smaller tables too,
   * `'memory'` with none.
   */
  embeddingTables?: EmbeddingTables | undefined;
  /**
   * Whether to cache files from URLs. In Node also the cache's folder; by default the environment
   * variable `KINGLET_CACHE`, or else `kinglet` in the user's cache folder. Default true. See
   * {@link ModelCache}.
   */
  cache?: boolean | string | undefined;
  /**
   * Headers for every request for the model's files, such as `Authorization: 'Bearer …'` for a gated
   * model. They are not sent to another site if the server redirects there.
   */
  headers?: Record<string, string> | undefined;
  /**
   * Milliseconds without a byte after which a download counts as interrupted and is resumed. Default
   * 30,000.
   */
  stallTimeout?: number | undefined;
  /**
   * Default: half of the hardware's threads (both of two), at most 8; fewer if a short measurement
   * while loading finds that faster; 1 if threads are not possible.
   */
  nThreads?: number | undefined;
  /** A kernel set by name, e.g. "scalar". Default: the fastest that runs here. */
  kernels?: string | undefined;
  /** Tokens of context. Default: the model's own context length, at most 4096. */
  nCtx?: number | undefined;
  /** How keys and values are stored: one kind for both, or one each. Default: `'auto'`. */
  kv?: KvOption | undefined;
  /**
   * The URL of the package's `worker/worker.js`, relative to the page. Default: where the bundler put
   * it, or else next to the package's other files.
   */
  workerUrl?: string | URL | undefined;
  /**
   * The URL of the folder with the engine's files (`engine` in the package), relative to the page.
   * Default: where the bundler put them, or else next to the worker's folder.
   */
  engineUrl?: string | URL | undefined;
  /**
   * Start the worker from a blob that imports its script: browsers start no worker from another
   * site. Needs `worker-src blob:` in a Content-Security-Policy. Default false.
   */
  blobWorker?: boolean | undefined;
  /**
   * Where the engine runs: `'own'`, a worker that is started for it, where it may have threads; or
   * `'here'`, in the thread that calls `load()`, which has one. There it lets other events in every 25
   * ms, or after a token that takes longer. Default: its own worker; here in a worker that can start
   * none, such as a service worker, which must import `kinglet/here`. `info.runtime` says which.
   *
   * Or a function that makes the worker, in browsers, for bundlers that need their own way. It must
   * run the module `kinglet/worker`. Each call must return a new worker.
   */
  worker?: 'own' | 'here' | (() => Worker) | undefined;
  /**
   * Share the model with the origin's other tabs that load the same files with the same options (except
   * how they are fetched): the first one's worker runs it for all, and when that tab is closed, another
   * takes over. The files must be URLs. `info.runtime.shared` says what this tab is. A call that cannot
   * go on in the other tab rejects with `host_gone`. Where tabs cannot find each other, the model is
   * loaded for this one alone, and `onWarning` gets `unsupported_environment`. Default false.
   */
  shared?: boolean | undefined;
  /**
   * A chat template to use instead of the file's: a Jinja program, like `chat_template` in a
   * `tokenizer_config.json`. Rejects with `unsupported_feature` if it cannot be read.
   */
  chatTemplate?: string | undefined;
  /**
   * The file that reads pictures for this model (`mmproj`), from any source that a model can have. It
   * is loaded right after the model, and rejects with `wrong_shape` if it belongs to another model.
   * Default: for a model from the hub, the one in the same repository, which is found and loaded when
   * the first picture comes; for others none.
   */
  mmproj?: ModelSource | undefined;
  /**
   * States of conversations' beginnings, as {@link Kinglet.prepare} and `kinglet prepare` make them,
   * from any sources that a model can have. A prompt that begins with the same tokens starts from
   * there, in every session with the same `kv` kinds. A state that cannot be used, such as one of
   * another model, is reported to `onWarning`.
   */
  prepared?: readonly ModelSource[] | undefined;
  /**
   * Keep the states of long prompts' beginnings in the origin's storage (in Node in the cache's
   * folder), for later visits and other tabs: what the system messages and tools take, and what
   * several prompts have in common, from 256 tokens on. At most `maxBytes` in all; the least recently
   * used states are removed. Default: nothing is kept.
   */
  keepPrompts?: { maxBytes: number } | undefined;
}

/** What {@link Kinglet.prepare} prepares. */
export interface PrepareOptions extends Omit<ChatPromptOptions, 'addGenerationPrompt'> {
  /** The conversation's beginning. */
  messages: readonly ChatMessage[];
  /** How keys and values are stored. Default: as in the model's first session. */
  kv?: KvOption | undefined;
  signal?: AbortSignal | undefined;
}

/** Where a file is, and where the package's own files are. */
export type InspectOptions = Pick<
  LoadOptions,
  | 'signal'
  | 'headers'
  | 'stallTimeout'
  | 'hubBase'
  | 'worker'
  | 'workerUrl'
  | 'engineUrl'
  | 'blobWorker'
>;

export type MetadataScalar = string | number | boolean;

export interface FileDescription {
  version: number;
  /** The entries in the file's order. Long arrays are cut after their first elements. */
  metadata: MetadataEntry[];
  /** The tensors in the order of their data. */
  tensors: TensorDescription[];
  /**
   * What the model takes here with the default options. Missing for a part of a model, for a file
   * without weights, and for a model that the engine cannot load.
   */
  plan?: ModelPlan;
}

export interface ModelPlan {
  /** Tokens of context; 0: the model generates no text. */
  nCtx: number;
  /** How keys and values are stored. */
  kv: { k: KvKind; v: KvKind };
  weightBytes: number;
  /** The KV cache and recurrent states. */
  stateBytes: number;
  scratchBytes: number;
}

/** What {@link estimate} found. Numbers are undefined where they are not known. */
export interface ModelEstimate {
  /** Whether the model can be loaded here, as far as its header and the browser tell. */
  fits: boolean;
  /** Why it cannot: `too_large`, `out_of_memory`, or one of the errors about what is not supported. */
  problem: KingletError | undefined;
  /** Bytes to download or to read, those of `mmproj` included. */
  fileBytes: number | undefined;
  /**
   * Bytes of memory that the model takes with its first session, and the weights of `mmproj`; without
   * `spareMemory`, and without the room in which a picture is read.
   */
  memoryBytes: number | undefined;
  /** What they are for. Missing also for a model that is split into several files. */
  plan: ModelPlan | undefined;
  /**
   * The device's memory: in Node all of it; in Chrome and Edge, on HTTPS pages, a power of two; in other
   * browsers unknown.
   */
  deviceMemoryBytes: number | undefined;
  /** On what the model would run. */
  runtime: ModelInfo['runtime'] | undefined;
  /**
   * About how many tokens of an answer are made in a second, and how many of a prompt (or of texts to
   * embed) are read. Undefined also for a model that makes no text, or is split.
   */
  tokensPerSecond: number | undefined;
  promptTokensPerSecond: number | undefined;
}

export interface MetadataEntry {
  key: string;
  value: MetadataScalar | readonly MetadataScalar[];
  /** The number of elements of an array, including those left out of `value`. */
  length?: number;
}

export interface TensorDescription {
  name: string;
  /** "Q4_0", "F32", … */
  type: string;
  /** The dimensions, with the fastest-varying one first, as in the file. */
  shape: number[];
  bytes: number;
}

export type EmbeddingTables = 'auto' | 'memory' | 'file';

/**
 * How the keys and values of past tokens are stored. `f32`, `f16`: floats; `q8`, `q4`: 8 and 4 bits
 * with a scale for every 32 elements; `int8`, `fp8_e4m3`, `fp8_e5m2`: 8-bit integers and floats with a
 * scale for each head. All but the floats keep the first 64 tokens as `f16`.
 */
export type KvKind = 'f32' | 'f16' | 'q8' | 'int8' | 'fp8_e4m3' | 'fp8_e5m2' | 'q4';

/**
 * `auto`: a kind that decodes faster than floats after a long text, without a visible cost in quality.
 * What it stands for is in {@link SessionInfo.kv}. For the exact probabilities of a model, choose `f32`.
 */
export type KvChoice = KvKind | 'auto';

export type KvOption = KvChoice | { k: KvChoice; v: KvChoice };

export interface SessionOptions {
  /** Tokens of context, at most the model's `contextLength`. Default: as the model was loaded. */
  nCtx?: number | undefined;
  /** How keys and values are stored. Default: as the model was loaded. */
  kv?: KvOption | undefined;
  /**
   * The number of tokens for which the session and all its forks have room together, at least `nCtx`
   * and 64. Keys and values are then stored in pages, which sessions share until one of them writes.
   * If no page is left, a call rejects with `out_of_memory`. Default: no pages; a fork is a copy.
   */
  kvPool?: number | undefined;
}

export interface SessionInfo {
  /** Tokens of context that fit. */
  nCtx: number;
  /** How keys and values are stored. */
  kv: { k: KvKind; v: KvKind };
  /** Memory of the session, not counting the model's weights. */
  memory: {
    /**
     * With pages: of the whole pool, and 0 in forks. Without pages, layers whose attention sees a
     * window need little more than that window.
     */
    kvBytes: number;
    /**
     * States of recurrent layers, including the checkpoints that make it cheap to go back in a text;
     * 0 in models without such layers. A session and its forks are counted together.
     */
    recurrentBytes: number;
    scratchBytes: number;
  };
}

/** The pages of a session's keys and values: see {@link SessionOptions.kvPool}. */
export interface KvPages {
  /** Tokens in a page. */
  pageTokens: number;
  pageBytes: number;
  /** All pages, and how many of them are unused. */
  nPages: number;
  nFree: number;
  /** The numbers of the session's pages, in the order of its context. */
  table: number[];
  /** How many sessions use each page. */
  users: number[];
  /** How many pages were copied so far because a session wrote to a shared one. */
  nCopies: number;
}

/** Why generation runs on one thread. */
export type SingleThreadReason =
  /** The page is not cross-origin isolated (COOP and COEP headers), so threads cannot share memory. */
  | 'not_isolated'
  /** The threaded build could not start, for example because shared memory was refused. */
  | 'refused'
  /** The caller asked for one thread. */
  | 'requested'
  /** The engine runs in the thread that loaded the model, and has no other. */
  | 'here'
  /** The machine has only one core to spare, or a second thread made it slower. */
  | 'one_core';

/** Why the engine runs in the thread that loaded the model. */
export type HereReason =
  /** The caller asked for it. */
  | 'requested'
  /** No worker can be started here, as in a service worker. */
  | 'no_workers'
  /** This worker was refused another one, for example by a policy. */
  | 'refused';

/** Some of the options of {@link GenerateOptions}. */
export interface RecommendedSampling {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  xtcProbability?: number;
  xtcThreshold?: number;
  repeatPenalty?: number;
  repeatLastN?: number;
}

export interface ModelInfo {
  /**
   * The name that the file gives (`general.name`), or the file's own name where the file gives none or
   * that of a training run, such as "Checkpoint 1200".
   */
  name: string;
  architecture: string;
  /**
   * False for a file that contains only a vocabulary. It can tokenize; other calls reject with
   * `missing_tensor`, and all numbers here except `nTokens` are 0.
   */
  hasWeights: boolean;
  nParameters: number;
  nLayers: number;
  /** Size of the vocabulary. */
  nTokens: number;
  /**
   * What the model is for. Models for `embeddings` answer `embed()`, and models for `ranking` answer
   * `rerank()`; neither can generate text. Models for `text` can also embed.
   */
  purpose: 'text' | 'embeddings' | 'ranking';
  /** How a text's hidden states become an embedding, if the file says so. */
  pooling: Pooling | undefined;
  /** The length of an embedding. */
  embeddingSize: number;
  /** Tokens of context the model was trained for. */
  contextLength: number;
  /** Tokens of context that fit this instance. */
  nCtx: number;
  /** How the first session stores keys and values: what `auto` stands for here. */
  kv: { k: KvKind; v: KvKind };
  /** The chat template, a Jinja program, from the option or the file; undefined if there is none. */
  chatTemplate: string | undefined;
  /** The file's separate template for conversations with tools, if it has one. */
  toolChatTemplate: string | undefined;
  /** Whether the chat template describes `tools` to the model. */
  knowsTools: boolean;
  /**
   * The sampling settings that the file recommends: they are the defaults of generate() and chat().
   * Empty if it recommends none.
   */
  sampling: RecommendedSampling;
  /** The text of the beginning-of-sequence and end-of-sequence tokens; empty if there are none. */
  bosToken: string;
  eosToken: string;
  /**
   * The width of the rows that a picture becomes, which take the place of token embeddings; 0 if the
   * model cannot see pictures.
   */
  imageWidth: number;
  /** The picture reader, which has its own memory; undefined without an `mmproj`. */
  images: ImageReaderInfo | undefined;
  /** Memory of the weights, and of the session that the model has from the start. */
  memory: {
    weightBytes: number;
    /** Weights that stay in the file: see {@link LoadOptions.embeddingTables}. */
    storedBytes: number;
    kvBytes: number;
    /** States of recurrent layers; 0 in models without them. */
    recurrentBytes: number;
    scratchBytes: number;
    /** All WebAssembly memory, including the above and the engine itself. */
    heapBytes: number;
  };
  runtime: {
    /** The WebAssembly build, such as "simd128-threads". */
    variant: string;
    /** The kernel set, such as "simd128". */
    kernels: string;
    /** Threads that compute. */
    nThreads: number;
    /** Whether the engine has a worker of its own, or runs in the thread that loaded the model. */
    worker: 'own' | 'here';
    /** Undefined in a worker of its own. */
    hereReason: HereReason | undefined;
    /** Undefined with more than one thread. */
    singleThreadReason: SingleThreadReason | undefined;
    /** If the reason is `not_isolated`: what would allow threads in this browser, in words. */
    threadsRemedy: string | undefined;
    /**
     * With {@link LoadOptions.shared}: whether this tab's worker runs the model (`host`) or another's
     * (`guest`). Changes when the host is closed. Undefined: the model is not shared.
     */
    shared?: 'host' | 'guest' | undefined;
  };
}

/** The `mmproj` file: see {@link LoadOptions.mmproj}. */
export interface ImageReaderInfo {
  name: string;
  /** The kind of projector, as the file names it: "idefics3", "gemma3", "lfm2" … */
  projector: string;
  weightBytes: number;
  /** WebAssembly memory after loading; large pictures need more. */
  heapBytes: number;
}

/** A JSON schema, as an object or a boolean; `$ref` may point into the schema itself. */
export type JsonSchema = object | boolean;

/** What happens when a conversation fills the context: see `onFull` in {@link ChatOptions}. */
export type OnFull = 'error' | 'dropOldest' | 'shift';

export interface GenerateOptions {
  /** The most tokens to generate. Default 2048. */
  maxTokens?: number | undefined;
  /**
   * 0 always takes the most probable token, whatever the limits below say. Higher values make the
   * choice among the tokens that these keep more random. Default 0.8.
   */
  temperature?: number | undefined;
  /** Keep the k most probable tokens; 0 keeps all. Default 40. */
  topK?: number | undefined;
  /** Keep the fewest tokens whose probabilities reach p. Default 0.95. */
  topP?: number | undefined;
  /** Keep tokens with at least this share of the largest probability. Default 0.05. */
  minP?: number | undefined;
  /**
   * Locally typical sampling: keep the tokens that are about as probable as is to be expected, until
   * their probabilities exceed p; 1 keeps all. Default 1.
   */
  typicalP?: number | undefined;
  /**
   * XTC ("exclude top choices"): how often all tokens with at least `xtcThreshold` are excluded, but
   * the least probable of them. 0 is never, 1 always. Default 0.
   */
  xtcProbability?: number | undefined;
  /** The probability from which a token is a top choice. Above 0.5 nothing is excluded. Default 0.1. */
  xtcThreshold?: number | undefined;
  /** Above 1, recent tokens become less probable. Default 1. */
  repeatPenalty?: number | undefined;
  /** Subtracted from a token's logit for each recent occurrence, -100 to 100. Default 0. */
  frequencyPenalty?: number | undefined;
  /** Subtracted once from the logit of a recent token, -100 to 100. Default 0. */
  presencePenalty?: number | undefined;
  /** How many of the last tokens of prompt and answer count as recent. Default 64. */
  repeatLastN?: number | undefined;
  /**
   * DRY ("don't repeat yourself"): if the last tokens also occur earlier, at least
   * `dryAllowedLength` of them, the token that followed there loses `dryMultiplier` ×
   * `dryBase` ^ (their number − `dryAllowedLength`) of its logit. 0 turns it off; 0.8 is usual.
   * Default 0.
   */
  dryMultiplier?: number | undefined;
  /** How fast the penalty grows with the length of the repetition, 1 to 100. Default 1.75. */
  dryBase?: number | undefined;
  /** From this length a repetition is penalized. Default 2. */
  dryAllowedLength?: number | undefined;
  /** How many last tokens are searched; -1: as many as the context has room for. Default -1. */
  dryPenaltyLastN?: number | undefined;
  /**
   * A repetition does not reach back beyond these texts: at most 64, of 1 to 64 bytes in UTF-8. They
   * may span tokens. Default `['\n', ':', '"', '*']`.
   */
  drySequenceBreakers?: readonly string[] | undefined;
  /** Added to the logits of these tokens, -100 (forbids the token) to 100 (forces it). */
  logitBias?: Record<number, number> | undefined;
  /**
   * Strings that end the answer and are not part of it. They may span tokens: text that may become
   * one is held back until it is certain.
   */
  stop?: readonly string[] | undefined;
  /**
   * Return the log probability of each token, and of this many most probable tokens in its place, 0
   * to 100. Biases, penalties and temperature do not affect them.
   */
  logprobs?: number | undefined;
  /**
   * Prompt lookup decoding: if the last tokens occurred before, guess that the same text follows, and
   * compute this many guesses in one step, 0 to 7. Text that copies from its prompt is generated
   * about twice as fast; other text is not slowed down. The answer is the same with any number.
   * Default 7.
   */
  lookup?: number | undefined;
  /** The same seed gives the same text. Default: random; the result contains it. */
  seed?: number | undefined;
  /**
   * A grammar in GBNF that the whole answer must match: only tokens that fit are sampled, and the
   * answer ends where nothing can follow. If `maxTokens` cuts the answer, it matches up to there.
   */
  grammar?: string | undefined;
  /**
   * The answer is JSON that is valid under this schema (draft 2020-12), or under that of a validator's
   * object (Standard Schema, such as Zod's), unless `maxTokens` cuts it; `true` allows any JSON. Objects
   * have only the properties that their schema names, where it says nothing of others: see
   * {@link GenerateOptions.openObjects}. An unsupported keyword is refused by name. The model does not see the
   * schema: the prompt should describe it. The JSON has no white space between its parts, see
   * {@link GenerateOptions.indent}. In chat(), if the template begins a thought, the JSON comes after
   * the thought.
   */
  jsonSchema?: JsonSchema | undefined;
  /**
   * With `jsonSchema`: the number of spaces by which each level is indented, 0 to 10, as in
   * JSON.stringify. Below 12 levels there is no white space. Default 0: no white space.
   */
  indent?: number | undefined;
  /**
   * With `jsonSchema`: objects may also have properties that their schema does not speak of, as JSON
   * Schema allows unless `additionalProperties` is `false`. Small models often do not stop writing
   * these. Default false: an object whose schema names properties has others only where it needs them
   * (`minProperties`), or where the schema speaks of them (`additionalProperties`, `patternProperties`,
   * `propertyNames`).
   */
  openObjects?: boolean | undefined;
  /**
   * For a prompt given as text: begin with the beginning-of-sequence token, if the vocabulary asks
   * for one and the text does not already have it. Default: at the start of a context.
   */
  addBos?: boolean | undefined;
  /** For a prompt given as text: recognize control tokens that are spelled out. Default false. */
  parseSpecial?: boolean | undefined;
  /**
   * What happens when the context is full. `error`: a prompt that does not fit rejects with
   * `prompt_too_long`, and an answer that fills the context ends with `finishReason` `context`.
   * `shift`: whenever the context is full, or has no room for the prompt, it drops the older half of
   * what comes after its first tokens, and goes on. Models with recurrent layers or learned positions
   * cannot shift and reject with `unsupported_feature`. Default `error`.
   */
  onFull?: 'error' | 'shift' | undefined;
  /**
   * Aborting takes effect at the next token, at the next batch of the prompt, or while the prompt is
   * read, and rejects with the signal's reason. {@link Generation.partial} has the answer up to there.
   */
  signal?: AbortSignal | undefined;
}

export interface ChatMessage {
  /** Or another role that the model's template knows. */
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | (string & {});
  /** "" or null in a message that only calls tools. */
  content: string | readonly ContentPart[] | null;
  /** The tools that the assistant called. */
  tool_calls?: readonly ChatToolCall[] | undefined;
  /** In a tool's result: the id of the call that it answers, and the name of the tool. */
  tool_call_id?: string | undefined;
  name?: string | undefined;
  /** What the assistant thought before it answered. */
  reasoning_content?: string | undefined;
}

export type ContentPart = { type: 'text'; text: string } | { type: 'image'; image: ImageSource };

/**
 * A picture. A string is a URL, relative to the page (in Node a path, as for a model), or a data URL. Bytes and
 * blobs are files: PNG, JPEG, and in browsers WebP, AVIF and BMP. In Node, the package `sharp` reads
 * files, if it is installed. Transparent parts become white, and the file's orientation is applied. A
 * URL is read only once: its picture should not change while the model is in use.
 */
export type ImageSource =
  Blob | ImageBitmap | ImageData | ImagePixels | URL | string | Uint8Array<ArrayBuffer>;

export interface ImagePixels {
  width: number;
  height: number;
  /** Lines from top to bottom, with 3 bytes for each pixel (red, green, blue) or 4 (and alpha). */
  data: Uint8Array | Uint8ClampedArray;
}

/** Progress in reading the pictures of a prompt, without those that were read before. */
export interface ImageProgress {
  /** The index of the picture in the messages, from 0. */
  image: number;
  /** Steps of this picture. */
  done: number;
  total: number;
}

/** A call in a message. `arguments` are an object, or its JSON as OpenAI's API has it. */
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
    /** A JSON schema of the arguments, or a validator's object. Default: there are none. */
    parameters?: object;
  };
}

/** As `tool_choice` in OpenAI's API. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { type: 'function'; function: { name: string } }
  | {
      type: 'allowed_tools';
      allowed_tools: { mode: 'auto' | 'required'; tools: readonly object[] };
    };

export interface ChatPromptOptions {
  /** End where the model's answer begins. Default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Tools that the model may call. If its template does not describe tools, a system message does. */
  tools?: readonly ChatTool[] | undefined;
  /** Further variables of the template, such as `enable_thinking: false`. */
  variables?: Record<string, unknown> | undefined;
}

export interface ChatTokensOptions extends ChatPromptOptions {
  /**
   * Recognize control tokens in messages and variables, too. By default only the template can write
   * them: what a user, a fetched page or a tool's result says stays text, and cannot end its turn or
   * pose as another speaker.
   */
  trustContent?: boolean | undefined;
}

export type ChatOptions = Omit<GenerateOptions, 'addBos' | 'parseSpecial' | 'onFull'> &
  Pick<ChatTokensOptions, 'tools' | 'variables' | 'trustContent'> & {
    /**
     * Whether the answer calls a tool: `auto` (the model chooses), `none`, `required`, or the tool to
     * call. A call that is required is a valid one: its arguments match the tool's schema. Default
     * `auto`.
     */
    toolChoice?: ToolChoice | undefined;
    /**
     * A thought that has so many tokens is ended: its closing mark follows, whatever the model would
     * write. 0 lets a model answer at once that always begins with a thought. Default: no limit.
     */
    maxThinkingTokens?: number | undefined;
    /** The answer continues this, as if the model had written it. The result does not repeat it. */
    prefix?: string | ArrayLike<number> | undefined;
    /**
     * What happens when the conversation is longer than the context. `error`: it rejects with
     * `prompt_too_long`, and an answer that fills the context ends with `finishReason` `context`.
     * `dropOldest`: the oldest exchanges after the system messages are left out until the rest fits
     * and leaves room for `maxTokens` (at most half of the context); if that is not enough, the
     * oldest calls of tools with their results, too. The last question always stays. Several
     * exchanges are left out at once, so that the next turns only compute what is new. `shift`: the
     * same, and an answer that fills the context goes on: then the older half of what comes after
     * the system messages is dropped. Some models cannot do this (`unsupported_feature`). The result
     * says how many messages were `dropped`. Default `error`.
     */
    onFull?: OnFull | undefined;
    /** Called while pictures are read. Aborting or leaving the loop takes effect between steps. */
    onImage?: ((progress: ImageProgress) => void) | undefined;
  };

export interface Piece {
  /**
   * Complete characters, ready to append. Empty while the text is an incomplete character, or may
   * become a stop string, a thought or a call.
   */
  text: string;
  /** In chat(): new text of the model's thoughts, if its template marks thoughts. */
  reasoning?: string;
  /** In chat() with tools: new parts of calls. */
  toolCalls?: ToolCallPiece[];
  /** The sampled token: one for each piece. -1 in a last piece with text that was held back. */
  token: number;
  /** With `logprobs`: the natural logarithm of the token's probability. */
  logprob?: number;
  /** With `logprobs`: the token's own text and its bytes, as in {@link TokenLogprob}. */
  tokenText?: string;
  tokenBytes?: Uint8Array;
  /** The most probable tokens in its place, best first. */
  top?: TokenLogprob[];
}

/** A new part of a tool call. */
export interface ToolCallPiece {
  /** The index of the call in the answer, from 0. */
  index: number;
  /** Only in the first piece of a call, as its name. */
  id?: string;
  name?: string;
  /** JSON, ready to append; incomplete if the answer was cut. */
  arguments: string;
}

export interface ToolCall {
  /** Connects the call with its result: see {@link toolResult}. */
  id: string;
  name: string;
  /** A JSON object as text, as in OpenAI's API; incomplete if the answer was cut. */
  arguments: string;
}

export interface TokenLogprob {
  token: number;
  /** The token's text in the vocabulary; U+FFFD if it is only a part of a character. */
  text: string;
  /** The bytes of the text in UTF-8, which may be a part of a character. */
  bytes: Uint8Array;
  logprob: number;
}

/** How a text's hidden states become one vector: their mean, the first token's or the last one's. */
export type Pooling = 'mean' | 'cls' | 'last';

/** How many texts are done. */
export interface EncodeProgress {
  done: number;
  total: number;
}

/** The options of both embed() and rerank(). */
export interface EncodeOptions {
  /**
   * Cut texts (in rerank(), documents) that are longer than the model's context
   * (`info.contextLength`, whatever the `nCtx` of load()), instead of rejecting with
   * `prompt_too_long`. Default false.
   */
  truncate?: boolean | undefined;
  /** Called as texts are done. What it throws ends the call. */
  onProgress?: ((progress: EncodeProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface EmbedOptions extends EncodeOptions {
  /** Default: the file's, or `'mean'` for a text model whose file does not say. */
  pooling?: Pooling | undefined;
  /** Scale vectors to length 1. Default true. */
  normalize?: boolean | undefined;
  /** Keep only the first numbers of each vector, for models trained for it. Default: all. */
  dimensions?: number | undefined;
  /** Put in front of each text, as the model was trained, such as "query: ". Default "". */
  prompt?: string | undefined;
}

export interface RerankOptions extends EncodeOptions {
  /** Return only this many documents, the best ones. Default: all. */
  topN?: number | undefined;
}

/** How well a document answers a query. */
export interface RankedDocument {
  /** The document's index in the call. */
  index: number;
  /** Larger is better. The scale depends on the model. */
  score: number;
}

/** A text and its label. */
export interface LabelledText {
  text: string;
  label: string;
}

/** The options of classify(). All but the last two are for text models. */
export interface ClassifyOptions {
  /** What the labels mean, and what to pay attention to. Default: asks for one of the labels. */
  instruction?: string | undefined;
  /** Texts with their labels, which the model sees before each text. */
  examples?: readonly LabelledText[] | undefined;
  /**
   * Score a label by the mean of its tokens' log probabilities instead of their sum. The sum is the
   * probability of the whole label, which is smaller for labels of more tokens. Default false.
   */
  perToken?: boolean | undefined;
  /** Called as texts are done. What it throws ends the call. */
  onProgress?: ((progress: EncodeProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** How probable a label is for a text. */
export interface LabelProbability {
  label: string;
  /** From 0 to 1; those of all labels add up to 1. */
  probability: number;
}

export interface DecodeOptions {
  /** Aborting takes effect at the next batch and leaves the context unchanged. */
  signal?: AbortSignal | undefined;
}

/**
 * `stop`: the model ended the answer, or a stop string did; `length`: `maxTokens` is reached, or a call
 * of a tool is not whole;
 * `context`: the context is full; `cancelled`: you left the loop or called cancel().
 */
export type FinishReason = 'stop' | 'length' | 'context' | 'cancelled';

export interface GenerationResult {
  text: string;
  /** In chat(): the model's thoughts, if any. */
  reasoning?: string;
  /** In chat() with tools: the model's calls, if any. */
  toolCalls?: ToolCall[];
  /** In chat(): see {@link ChatResult}. */
  message?: ChatMessage;
  finishReason: FinishReason;
  /** In chat() with `onFull`: how many messages were left out. */
  dropped?: number;
  /** With `onFull: 'shift'`: how many tokens the full context dropped. */
  droppedTokens?: number;
  /**
   * What is probably a mistake in the `jsonSchema`, in words: keywords that seem to be misspelt; and
   * stored states of prompts that could not be used. Absent if there is nothing.
   */
  warnings?: string[];
  seed: number;
  usage: {
    promptTokens: number;
    /** Prompt tokens that were already in the session, and were not computed again. */
    cachedTokens: number;
    completionTokens: number;
  };
  timings: {
    /** Time to read the prompt. */
    promptMs: number;
    /** From the start of work, after earlier calls are done, to the first token. */
    firstTokenMs: number;
    /** Time to generate the tokens, with the turns of other sessions between them. */
    decodeMs: number;
    /** Without cached tokens. */
    promptTokensPerSecond: number;
    tokensPerSecond: number;
    /** Tokens that were guessed ahead (see `lookup`), and how many of the guesses were right. */
    guessedTokens: number;
    keptTokens: number;
    /**
     * Tokens of the prompt whose state was stored (see `prepared` and `keepPrompts` of load()) and was
     * restored for this answer, and its bytes; 0 if none was.
     */
    restoredTokens: number;
    restoredBytes: number;
  };
}

/** What chat() resolves to. */
export interface ChatResult extends GenerationResult {
  /** The assistant's message, for the next chat(), with `prefix`, thoughts and calls. */
  message: ChatMessage;
}

export interface TokenizeOptions {
  /** Begin with the beginning-of-sequence token, if the vocabulary asks for one. Default true. */
  addBos?: boolean | undefined;
  /** Recognize control tokens that are spelled out in the text. Default false. */
  parseSpecial?: boolean | undefined;
}

export interface DetokenizeOptions {
  /** Include the text of control tokens. Default false. */
  special?: boolean | undefined;
}
