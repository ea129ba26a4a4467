// An engine without wasm: its "model" is a text file whose characters are the tokens it generates.
import type {
  EngineAnswer,
  EngineAnswerEvent,
  EngineAnswerRequest,
  EngineConversation,
  EngineEncodingEvent,
  EngineEncodingRequest,
  EngineError,
  EngineGenerateOptions,
  WeightLoader,
  EngineModel,
  EngineModule,
  EnginePrompt,
  EngineRefusal,
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
function laidOut({ variables }: Pick<EngineConversation, 'variables'>): string[] {
  const { messages } = JSON.parse(variables) as { messages: { content: string }[] };
  return messages.flatMap(({ content }) => ['^', content]);
}

function tokensOf({ content, addBos, prefix }: EnginePrompt): Int32Array {
  const begun = typeof prefix === 'string' ? encoded(prefix, false) : prefix;
  return Int32Array.from([...promptOf(content, addBos), ...begun]);
}

function promptOf(content: EnginePrompt['content'], addBos: boolean): Int32Array {
  if (typeof content === 'string') return encoded(content, addBos);
  return 'variables' in content ? encoded(laidOut(content).join(''), addBos) : content;
}

interface FakeAnswer extends EngineAnswer {
  prompt: Int32Array;
  said: string;
}

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
  /** Each computes a step of an answer, and returns whether more follow. */
  readonly #running = new Set<() => boolean>();
  /** The number of handles that were made and not yet deleted. */
  nHandles = 0;

  readHeader(): { error: EngineError } {
    return fail('not_gguf', 'a story has no header');
  }

  pickHubFile(): { error: EngineError } {
    return fail('not_found', 'stories are not on the hub');
  }

  refusalOf(code: string): EngineRefusal {
    return { status: 500, body: code, event: '' };
  }

  kernelSets(): string[] {
    return ['fast', 'scalar'];
  }

  nPoolThreads(): number {
    return 1;
  }

  cancelledIds(): Uint32Array {
    return new Uint32Array(1);
  }

  newVisionLoader(): { error: EngineError } {
    return fail('unsupported_feature', 'no pictures here');
  }

  #newAnswer(request: EngineAnswerRequest): EngineResult<EngineAnswer> {
    this.answers.push(request);
    const answer: FakeAnswer = {
      ...this.#handle(),
      ...{ prompt: tokensOf(request.prompt), said: '' },
      warnings: () => [],
      nDropped: () => 0,
      message: () => JSON.stringify({ role: 'assistant', content: answer.said }),
    };
    return { value: answer };
  }

  newLoader(fileBytes: number, kernels: string): EngineResult<WeightLoader<EngineModel>> {
    const file: number[] = [];
    let address = 8;
    const loader: WeightLoader<EngineModel> = {
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
      useFileName: () => text,
      useTemplate: () => ({ value: null }),
      layOut: (conversation) => ({ value: laidOut(conversation) }),
      tokens: (prompt) => ({ value: tokensOf(prompt) }),
      addPrompt: () => ({ value: { nTokens: 1, kv: { k: 'q8', v: 'q8' } } }),
      removePrompt: () => undefined,
      storePrompts: () => undefined,
      newRequest: () => ({ refusal: { status: 404, body: '{}', event: '' } }),
      info: () => ({
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
      piece: (id) => String.fromCodePoint(id),
      pieceBytes: (id) => new TextEncoder().encode(String.fromCodePoint(id)),
      decode: (ids) => ({ value: String.fromCodePoint(...ids) }),
      advance: () => {
        for (const step of [...this.#running]) if (!step()) this.#running.delete(step);
        return this.#running.size > 0;
      },
      newSession: (options) => {
        this.sessions.push(options);
        return { value: this.#session(text, { ...options, nCtx: options.nCtx || 4096 }, []) };
      },
      embeddingTokens: (given, cuts) => this.#tokensOf(given, cuts),
      rankingTokens: (query, document, cuts) => this.#tokensOf(`${query}|${document}`, cuts),
      newIndex: () => fail('unsupported_feature', 'the fake engine has no search'),
      encodeTexts: (request, onEvent) => this.#encode(request, onEvent),
      cancel: (id) => {
        new DataView(this.HEAPU8.buffer).setUint32(4, id, true);
      },
      newClassifier: () => fail('unsupported_feature', 'a fake'),
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

  #isCancelled(id: number): boolean {
    return new DataView(this.HEAPU8.buffer).getUint32(4, true) === id;
  }

  /**
   * Encodes 50 texts in two steps, each as a pair: the sum of its tokens, or the last token, and 1;
   * its scores are the last token and 5.
   */
  #encode(
    { texts, pooling, dimensions, normalizes, id }: EngineEncodingRequest,
    onEvent: (event: EngineResult<EngineEncodingEvent>) => void,
  ): EngineResult<null> {
    const rowOf = (tokens: Int32Array) => {
      if (pooling === 'rank') return Float32Array.of(tokens.at(-1) ?? 0, 5);
      const sum = tokens.reduce((total, token) => total + token, 0);
      const vector = [(pooling === 'last' ? tokens.at(-1) : sum) ?? 0, 1];
      const kept = dimensions > 0 ? vector.slice(0, dimensions) : vector;
      const length = normalizes ? Math.hypot(...kept) : 1;
      return Float32Array.from(kept, (x) => x / length);
    };
    let nDone = 0;
    let nSteps = 0;
    this.#running.add(() => {
      const group = texts.slice(nDone, nDone + 50);
      if (nSteps % 2 === 0) this.batches.push(group.length);
      this.onStep();
      if (this.#isCancelled(id)) {
        onEvent(fail('cancelled', 'cancelled'));
        return false;
      }
      nSteps += 1;
      if (nSteps % 2 === 1) return true;
      nDone += group.length;
      onEvent({ value: { nDone, rows: [], isLast: false } });
      if (nDone < texts.length) return true;
      onEvent({ value: { nDone, rows: texts.map(rowOf), isLast: true } });
      return false;
    });
    return { value: null };
  }

  #session(text: string, options: EngineSessionOptions, tokens: number[]): EngineSession {
    const { nCtx, kKind, vKind } = options;
    let prompt: number[] = [];
    let step = () => false;
    let stateAt = { address: 0, bytes: 0 };
    let endWork: () => void = () => undefined;
    let id = 0;
    const isCancelled = () => this.#isCancelled(id);
    return {
      ...this.#handle(),
      start: (given, { maxTokens, replacesContext, ...options }, onEvent) => {
        const answer = given as FakeAnswer;
        this.options.push(options);
        id = options.id;
        prompt = [...answer.prompt];
        const nSame = prompt.findIndex(
          (token, i) => token !== tokens[i] || i + 1 === prompt.length,
        );
        if (replacesContext) tokens = prompt.slice(0, nSame);
        const nKnown = replacesContext ? nSame : 0;
        this.calls.push(`start ${String(prompt.length)}, ${String(nKnown)} known`);
        if (prompt.length > nCtx) {
          onEvent(fail('prompt_too_long', 'the prompt is too long'));
          return;
        }
        let nPromptDone = nKnown;
        let nGenerated = 0;
        prompt.splice(0, nKnown);
        const left = Array.from(text).slice(0, maxTokens);
        const tell = (said: Partial<EngineAnswerEvent>) => {
          const { finishReason = 'none', text = '' } = said;
          answer.said += text;
          onEvent({
            value: {
              ...{ nPromptDone, nCached: nKnown, nGenerated, promptMs: nPromptDone, decodeMs: 1 },
              ...{ nGuessed: 0, nAccepted: 0, nDropped: 0 },
              ...{ text: '', reasoning: '', toolCalls: [], token: -1 },
              ...{ logprob: 0, topTokens: new Int32Array(), topLogprobs: new Float32Array() },
              ...{ ...said, finishReason, isLast: finishReason !== 'none' },
            },
          });
          return finishReason === 'none';
        };
        endWork = () => {
          tell({ finishReason: 'cancelled' });
        };
        step = () => {
          this.onStep();
          if (isCancelled()) return tell({ finishReason: 'cancelled' });
          const batch = prompt.splice(0, nBatch);
          nPromptDone += batch.length;
          if (batch.length > 0) {
            this.batches.push(batch.length);
            tokens.push(...batch);
            return true;
          }
          const next = left.shift();
          if (next === undefined) return tell({ finishReason: 'stop' });
          const token = codePoint(next);
          tokens.push(token);
          nGenerated += 1;
          const topTokens = Int32Array.of(token, 33);
          const topLogprobs = Float32Array.of(-0.5, -1.5);
          return tell({ token, text: next, logprob: -0.5, topTokens, topLogprobs });
        };
        this.#running.add(step);
      },
      cancel: () => {
        this.calls.push('cancel');
        if (this.#running.delete(step)) endWork();
      },
      append: (more, appendId, onLogits) => {
        id = appendId;
        const nBefore = tokens.length;
        const left = [...more];
        const giveUp = (code: string, message: string) => {
          tokens.length = nBefore;
          onLogits(fail(code, message));
          return false;
        };
        endWork = () => {
          giveUp('cancelled', 'cancelled');
        };
        step = () => {
          this.onStep();
          const batch = left.splice(0, nBatch);
          if (isCancelled()) return giveUp('cancelled', 'cancelled');
          if (batch.includes(99_999)) return giveUp('invalid_argument', 'no such token');
          this.batches.push(batch.length);
          tokens.push(...batch);
          if (left.length > 0) return true;
          onLogits({ value: Float32Array.from(batch.slice(-2)) });
          return false;
        };
        this.#running.add(step);
      },
      save: () => ({ value: Uint8Array.from(tokens) }),
      reserveState: (bytes) => {
        const address = 16;
        this.HEAPU8 = new Uint8Array(new SharedArrayBuffer(address + bytes));
        stateAt = { address, bytes };
        return { value: stateAt };
      },
      storedPrompt: () => undefined,
      restore: () => {
        const { address, bytes: n } = stateAt;
        const bytes = this.HEAPU8.subarray(address, address + n);
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
      giveImage: () => new Int32Array(),
      missingPictures: () => new Uint32Array(),
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
