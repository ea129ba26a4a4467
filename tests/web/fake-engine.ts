// An engine without wasm: its "model" is a text file whose characters are the tokens it generates.
import type {
  EngineAnswer,
  EngineAnswerRequest,
  EngineApi,
  EngineConversation,
  EngineEncoder,
  EngineError,
  EngineGenerateOptions,
  EngineLoader,
  EngineModel,
  EngineModule,
  EngineResult,
  EngineSampling,
  EngineSession,
  EngineSessionOptions,
} from '#engine';

const codePoint = (character: string) => character.codePointAt(0) ?? 0;

const fail = (code: string, message: string): { error: EngineError } => ({
  error: { code, message },
});

const nBatch = 64;

const encoded = (text: string, addBos: boolean) =>
  Int32Array.from([...(addBos ? [1] : []), ...Array.from(text, codePoint)]);

/** Writes a mark before each message. */
function laidOut({ variables }: EngineConversation): string[] {
  const { messages } = JSON.parse(variables) as { messages: { content: string }[] };
  return messages.flatMap(({ content }) => ['^', content]);
}

const notFitted = { end: '', nDropped: 0, nKept: -1 };

export class FakeEngine implements EngineModule {
  HEAPU8: Uint8Array = new Uint8Array(8);
  /** Called before each step; tests can count steps, cancel or throw here. */
  onStep: () => void = () => undefined;
  /** The starts and cancellations of generations, in order. */
  readonly calls: string[] = [];
  /** The sizes of the computed batches, in order: tokens of a session, or texts of an encoder. */
  readonly batches: number[] = [];
  /** The options of the generations, without `maxTokens` and `replacesContext`. */
  readonly options: Partial<EngineGenerateOptions>[] = [];
  /** What was asked of the answers. */
  readonly answers: EngineAnswerRequest[] = [];
  /** The options of the sessions that were opened, without forks. */
  readonly sessions: EngineSessionOptions[] = [];
  purpose: 'text' | 'embeddings' | 'ranking' = 'text';
  pooling = '';
  sampling: EngineSampling = {};
  /** The number of handles that were made and not yet deleted. */
  nHandles = 0;

  readHeader(): { error: EngineError } {
    return fail('not_gguf', 'a story has no header');
  }

  kernelSets(): string[] {
    return ['fast', 'scalar'];
  }

  nPoolThreads(): number {
    return 1;
  }

  cancelAddress(): number {
    return 4;
  }

  imageTokens(): Int32Array {
    return new Int32Array();
  }

  newVisionLoader(): { error: EngineError } {
    return fail('unsupported_feature', 'no pictures here');
  }

  countKept(): number {
    return 4;
  }

  #api(): EngineApi {
    return {
      ...this.#handle(),
      check: () => ({ value: null }),
      layOut: (conversation) => ({ value: laidOut(conversation) }),
      makePrompt: ({ addBos, prefix, ...conversation }) => {
        const tokens = encoded(laidOut(conversation).join(''), addBos);
        return { value: { tokens: Int32Array.from([...tokens, ...prefix]), ...notFitted } };
      },
      newAnswer: (request) => this.#newAnswer(request),
      read: () => ({ refusal: { status: 404, body: '{}', event: '' } }),
    };
  }

  #newAnswer(request: EngineAnswerRequest): EngineResult<EngineAnswer> {
    this.answers.push(request);
    return { value: this.#answer() };
  }

  #answer(): EngineAnswer {
    return {
      ...this.#handle(),
      warnings: () => [],
      read: (text) => ({ text, reasoning: '', toolCalls: [] }),
    };
  }

  newLoader(fileBytes: number, kernels: string): EngineResult<EngineLoader> {
    const file: number[] = [];
    let address = 8;
    const loader: EngineLoader = {
      ...this.#handle(),
      skip: () => 0,
      // Reserves at most 5 bytes at a time, and moves the heap each time, as growing memory does.
      reserve: (maxBytes) => {
        address += 3;
        this.HEAPU8 = new Uint8Array(new SharedArrayBuffer(address + 16));
        const room = fileBytes > 0 ? fileBytes - file.length : maxBytes;
        return { value: { address, bytes: Math.min(maxBytes, 5, room) } };
      },
      commit: (bytes) => {
        file.push(...this.HEAPU8.subarray(address, address + bytes));
        return { value: null };
      },
      fileBytes: () => fileBytes,
      nextPart: (bytes) => {
        fileBytes = bytes;
        return { value: null };
      },
      finish: () => {
        const text = new TextDecoder().decode(new Uint8Array(file));
        if (text === '') return fail('truncated', 'the file is empty');
        return { value: this.#model(text, kernels || 'fast') };
      },
    };
    return { value: loader };
  }

  #model(text: string, kernels: string): EngineModel {
    return {
      ...this.#handle(),
      knowsTools: () => false,
      newAnswer: (request) => this.#newAnswer(request),
      info: () => ({
        name: text,
        hasWeights: 1,
        architecture: 'fake',
        nParameters: text.length,
        nLayers: 1,
        nTokens: 256,
        contextLength: 100_000,
        ...{ purpose: this.purpose, pooling: this.pooling, embeddingSize: 2, imageWidth: 2 },
        ...{ weightBytes: text.length, storedBytes: 0 },
        kernels,
        sampling: this.sampling,
        chatTemplate: "{% for m in messages %}{{ bos_token + m['content'] }}{% endfor %}",
        toolChatTemplate: '',
        bosToken: '^',
        eosToken: '$',
      }),
      encode: encoded,
      piece: (id) => String.fromCodePoint(id),
      pieceBytes: (id) => new TextEncoder().encode(String.fromCodePoint(id)),
      decode: (ids) => ({ value: String.fromCodePoint(...ids) }),
      newApi: () => this.#api(),
      newSession: (options) => {
        this.sessions.push(options);
        return { value: this.#session(text, { ...options, nCtx: options.nCtx || 4096 }, []) };
      },
      embeddingTokens: (given, cuts) => this.#tokensOf(given, cuts),
      rankingTokens: (query, document, cuts) => this.#tokensOf(`${query}|${document}`, cuts),
      newEncoder: () => this.#encoder(),
      vectorPooling: () => this.#vectorPooling(),
    };
  }

  #tokensOf(text: string, cuts: boolean): EngineResult<Int32Array> {
    const tokens = Array.from(text, codePoint);
    if (tokens.length > 1000 && !cuts) return fail('prompt_too_long', 'the text is too long');
    return { value: Int32Array.from(tokens.slice(0, 1000)) };
  }

  #vectorPooling(): EngineResult<string> {
    if (this.purpose === 'ranking') return fail('unsupported_feature', 'a reranker');
    if (this.pooling !== '') return { value: this.pooling };
    return this.purpose === 'text' ? { value: 'mean' } : fail('missing_metadata', 'no pooling');
  }

  /** Embeds a text in two steps as a pair: the sum of its tokens, or the last token, and 1. */
  #encoder(): EngineEncoder {
    const texts: Int32Array[] = [];
    let nLeft = 0;
    let id = 0;
    const isCancelled = () => new DataView(this.HEAPU8.buffer).getUint32(4, true) === id;
    return {
      ...this.#handle(),
      clear: () => {
        texts.length = 0;
      },
      add: (tokens) => {
        texts.push(tokens);
        return texts.length === 50;
      },
      begin: (beginId) => {
        this.batches.push(texts.length);
        id = beginId;
        nLeft = 2;
        return { value: nLeft };
      },
      advance: () => {
        this.onStep();
        if (isCancelled()) return fail('cancelled', 'cancelled');
        return { value: --nLeft };
      },
      embedding: (text, pooling, dimensions, normalizes) => {
        const tokens = texts[text] ?? new Int32Array();
        const sum = tokens.reduce((total, token) => total + token, 0);
        const vector = [(pooling === 'last' ? tokens.at(-1) : sum) ?? 0, 1].slice(0, dimensions);
        const length = normalizes ? Math.hypot(...vector) : 1;
        return { value: Float32Array.from(vector, (x) => x / length) };
      },
      scores: (text) => ({ value: Float32Array.of(texts[text]?.at(-1) ?? 0, 5) }),
    };
  }

  #session(text: string, options: EngineSessionOptions, tokens: number[]): EngineSession {
    const { nCtx, kKind, vKind } = options;
    let nPromptDone = 0;
    let prompt: number[] = [];
    let left: string[] = [];
    let id = 0;
    let appended: number[] = [];
    let nBefore = 0;
    const isCancelled = () => new DataView(this.HEAPU8.buffer).getUint32(4, true) === id;
    return {
      ...this.#handle(),
      start: (given, _answer, { maxTokens, replacesContext, ...options }): EngineResult<number> => {
        this.options.push(options);
        id = options.id;
        prompt = [...given];
        const nSame = prompt.findIndex(
          (token, i) => token !== tokens[i] || i + 1 === prompt.length,
        );
        if (replacesContext) tokens = prompt.slice(0, nSame);
        const nKnown = replacesContext ? nSame : 0;
        this.calls.push(`start ${String(prompt.length)}, ${String(nKnown)} known`);
        if (prompt.length > nCtx) return fail('prompt_too_long', 'the prompt is too long');
        nPromptDone = nKnown;
        prompt.splice(0, nKnown);
        left = Array.from(text).slice(0, maxTokens);
        return { value: nKnown };
      },
      step: (maxBatch) => {
        this.onStep();
        const batch = prompt.splice(0, Math.min(maxBatch, nBatch));
        nPromptDone += batch.length;
        const step = {
          ...{
            nPromptDone,
            nComputed: batch.length,
            ...{ nGuessed: 0, nAccepted: 0, nDropped: 0 },
            token: -1,
            ...{ text: '', reasoning: '', toolCalls: [] },
            finishReason: 'none' as const,
          },
          ...{ logprob: 0, topTokens: new Int32Array(), topLogprobs: new Float32Array() },
        };
        if (isCancelled()) return { value: { ...step, finishReason: 'cancelled' } };
        if (batch.length > 0) {
          this.batches.push(batch.length);
          tokens.push(...batch);
          return { value: step };
        }
        const next = left.shift();
        if (next === undefined) return { value: { ...step, finishReason: 'stop' } };
        const token = codePoint(next);
        tokens.push(token);
        const topTokens = Int32Array.of(token, 33);
        const topLogprobs = Float32Array.of(-0.5, -1.5);
        const logprob = -0.5;
        return { value: { ...step, token, text: next, logprob, topTokens, topLogprobs } };
      },
      cancel: () => {
        this.calls.push('cancel');
        if (appended.length > 0) tokens.length = nBefore;
        appended = [];
        return { value: null };
      },
      begin: (more, appendId) => {
        id = appendId;
        nBefore = tokens.length;
        appended = [...more];
        return { value: appended.length };
      },
      advance: (maxBatch) => {
        this.onStep();
        const more = appended.splice(0, Math.min(maxBatch, nBatch));
        const isBad = more.includes(99_999);
        if (isCancelled() || isBad) {
          appended = [];
          tokens.length = nBefore;
          return isBad ? fail('invalid_argument', 'no such token') : fail('cancelled', 'cancelled');
        }
        this.batches.push(more.length);
        tokens.push(...more);
        const logits = appended.length === 0 ? more.slice(-2) : [];
        return { value: { nLeft: appended.length, logits: Float32Array.from(logits) } };
      },
      save: () => ({ value: Uint8Array.from(tokens) }),
      restore: (bytes) => {
        if (bytes.includes(0)) return fail('corrupt', 'no state');
        tokens = [...bytes];
        return { value: null };
      },
      fork: () => ({ value: this.#session(text, options, [...tokens]) }),
      tokens: () => Int32Array.from(tokens),
      truncate: (n) => {
        if (n > tokens.length) return fail('invalid_argument', 'past the end');
        tokens.length = n;
        return { value: null };
      },
      keepPrefix: (given) => {
        const nSame = given.findIndex((token, i) => token !== tokens[i] || i + 1 === given.length);
        tokens.length = Math.max(nSame, 0);
        return tokens.length;
      },
      commonPrefix: () => 0,
      giveImage: () => 1,
      heldImages: () => new Int32Array(),
      nPositions: () => tokens.length,
      nCtx: () => nCtx,
      nBatch: () => nBatch,
      kvKinds: () => ({ k: kKind, v: vKind }),
      kvBytes: () => 1000,
      recurrentBytes: () => 0,
      kvPages: () => ({
        ...{ pageTokens: 32, pageBytes: 250, nCopies: 7 },
        ...{ table: Uint32Array.of(3, 1), users: Uint32Array.of(0, 1, 0, 2) },
      }),
      scratchBytes: () => 100,
    };
  }

  #handle() {
    this.nHandles += 1;
    return {
      delete: () => {
        this.nHandles -= 1;
      },
    };
  }
}
