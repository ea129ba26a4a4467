import type { ApiAnswer } from './ask.ts';
import { checkMessages, conversationOf } from './chat-template.ts';
import { asyncDispose, dispose } from './dispose.ts';
import { KingletError } from './errors.ts';
import type { Generation } from './generation.ts';
import { loadInWorker } from './load-in-worker.ts';
import { loadShared } from './load-shared.ts';
import type { LoadedShared } from './load-shared.ts';
import {
  chatPromptOptionNames,
  checkOptions,
  checkedDocuments,
  checkedRerankOptions,
  checkedSpelling,
  checkedText,
  checkedTexts,
  checkedTokens,
  postedClassification,
  postedEmbedOptions,
  postedEncoding,
  postedLoadOptions,
  postedSessionOptions,
  workerPlace,
} from './options.ts';
import type {
  AnswerOf,
  CallName,
  Conversation,
  Embeddings,
  PostedRequest,
  TakesOf,
} from './protocol.ts';
import { Session } from './session.ts';
import { postedSources, withHubHint } from './source.ts';
import { startWorker } from './start-worker.ts';
import type {
  ChatMessage,
  ChatOptions,
  ChatPromptOptions,
  ChatResult,
  ChatTokensOptions,
  ClassifyOptions,
  DetokenizeOptions,
  EmbedOptions,
  EncodeOptions,
  GenerateOptions,
  LabelProbability,
  LoadOptions,
  ModelInfo,
  ModelSource,
  PrepareOptions,
  RankedDocument,
  RerankOptions,
  SessionOptions,
  TokenizeOptions,
} from './types.ts';
import type { AskOptions, Client } from './worker-client.ts';
import type { StartWorker } from './worker-link.ts';

/** A loaded model. It has its worker, or its engine in this thread, until {@link dispose}. */
export class Kinglet {
  readonly info: ModelInfo;
  readonly #client: Client;
  readonly #session: Session;

  private constructor(client: Client, info: ModelInfo, session: Session) {
    this.#client = client;
    this.#session = session;
    this.info = info;
  }

  /**
   * Loads a GGUF file. The bytes stream from their source into the engine's memory; there is no
   * second copy of the file.
   *
   * For a model that is split into several files, pass all of them in any order, or the URL of one
   * whose name has the usual form NAME-00001-of-00003.gguf.
   *
   * @throws {@link KingletError}, or the signal's reason. Nothing is left running then.
   */
  static load(
    source: ModelSource | readonly ModelSource[],
    options: LoadOptions = {},
  ): Promise<Kinglet> {
    return Kinglet.loadWith(startWorker, source, options);
  }

  /** @internal Like load(), with a worker that the caller makes. */
  static async loadWith(
    start: StartWorker,
    source: ModelSource | readonly ModelSource[],
    options: LoadOptions,
  ): Promise<Kinglet> {
    const posted = postedLoadOptions(options, source);
    const place = workerPlace(options);
    const sources = postedSources(source, options);
    options.signal?.throwIfAborted();
    const load = options.shared ? loadShared : loadInWorker;
    const { client, loaded } = await withHubHint<LoadedShared>(
      load(start, place, sources, posted, options),
      source,
    );
    const { info, session } = loaded;
    return new Kinglet(client, info, new Session(client, info, session));
  }

  /**
   * Continues a prompt, given as text or as tokens, in the model's first session. The prompt is the
   * whole context: a common beginning with the previous call's context is reused, and the rest is
   * dropped.
   *
   * Work starts at once; calls run one after the other. To run several at the same time, or to
   * continue a context, use {@link newSession}. All errors, including wrong options, arrive through
   * the returned object.
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return this.#session.start(prompt, options, { replacesContext: true });
  }

  /** Answers the last message. The model's chat template formats the messages. See generate(). */
  chat(
    messages: string | readonly ChatMessage[],
    options: ChatOptions = {},
  ): Generation<ChatResult> {
    return this.#session.chat(messages, options);
  }

  /** Makes another context with its own memory: see {@link Session}. */
  async newSession(options: SessionOptions = {}): Promise<Session> {
    const posted = postedSessionOptions(options, this.#session.info);
    return new Session(this.#client, this.info, await this.#client.ask('newSession', posted));
  }

  /**
   * The text that the model's chat template makes from a conversation, for people to read. It does
   * not show whether a control token comes from the template or from a message; {@link chatTokens}
   * does. Pictures appear as `[picture 0]` and so on.
   */
  async chatPrompt(
    messages: string | readonly ChatMessage[],
    options: ChatPromptOptions = {},
  ): Promise<string> {
    checkOptions(options, chatPromptOptionNames);
    const conversation = conversationOf(messages, options);
    const text = (await this.layOut(conversation)).join('');
    let nPictures = 0;
    const { pictures } = conversation;
    if (!pictures) return text;
    return text.replaceAll(pictures.mark, () => `[picture ${String(nPictures++)}]`);
  }

  /**
   * The tokens that the model's chat template makes from a conversation, as chat() reads them.
   * Pictures have negative tokens.
   */
  async chatTokens(
    messages: string | readonly ChatMessage[],
    options: ChatTokensOptions = {},
  ): Promise<number[]> {
    checkOptions(options, [...chatPromptOptionNames, 'trustContent']);
    return this.tokensOf(conversationOf(messages, options));
  }

  /** @internal Like chatTokens(). */
  async tokensOf(text: Conversation): Promise<number[]> {
    return [...(await this.#client.ask('tokenize', { text, ...postedEncoding({}) }))];
  }

  /** @internal Returns alternately the template's own text and text of the messages. */
  async layOut(conversation: Conversation): Promise<string[]> {
    return this.#client.ask('layOut', { ...conversation, pictures: undefined });
  }

  /** @internal Answers a request of OpenAI's API in the model's first session. */
  ask(request: PostedRequest, signal: AbortSignal | undefined): Promise<ApiAnswer> {
    return this.#session.ask(request, signal);
  }

  /**
   * Computes a conversation's beginning, such as a long system message with tools, and returns the
   * state after it: a file for the `prepared` option of {@link Kinglet.load}, here and elsewhere. Runs
   * in a session of its own, as long as the first one: a few models rotate the keys of long contexts
   * differently. `kinglet prepare` of the program does the same.
   */
  async prepare(given: PrepareOptions): Promise<Uint8Array<ArrayBuffer>> {
    checkOptions(given, ['messages', 'tools', 'variables', 'trustContent', 'kv', 'signal']);
    const { messages, kv, signal, ...options } = given;
    checkMessages(messages);
    // What two conversations have in common that go on differently.
    const [tokens, others] = await Promise.all(
      ['1', 'a'].map((content) =>
        this.chatTokens([...messages, { role: 'user', content }], options),
      ) as [Promise<number[]>, Promise<number[]>],
    );
    const end = tokens.findIndex((token, i) => token !== others[i]);
    const beginning = tokens.slice(0, end);
    const session = await this.newSession({ kv });
    try {
      await session.decode(beginning, { signal });
      return await session.save();
    } finally {
      session.dispose();
    }
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    const request = { text: checkedText(text), ...postedEncoding(options) };
    return [...(await this.#client.ask('tokenize', request))];
  }

  async detokenize(tokens: ArrayLike<number>, options: DetokenizeOptions = {}): Promise<string> {
    const request = { tokens: checkedTokens(tokens), special: checkedSpelling(options) };
    return this.#client.ask('detokenize', request);
  }

  /** The number of a text's tokens: the room that it needs in a context. */
  async countTokens(text: string, options: TokenizeOptions = {}): Promise<number> {
    return (await this.tokenize(text, options)).length;
  }

  /**
   * A vector for each text, with `info.embeddingSize` numbers and length 1. Texts of similar meaning
   * have vectors of similar direction: see {@link similarity}. Models that were trained for this do
   * it much better than others. Texts are tokenized with the special tokens that the file asks for; to
   * choose them yourself, pass tokens.
   *
   * Runs independently of the sessions, in memory that is freed at the end. A text's vector does not
   * depend on the other texts.
   */
  async embed(text: string, options?: EmbedOptions): Promise<Float32Array>;
  async embed<const Texts extends readonly (string | ArrayLike<number>)[]>(
    texts: Texts,
    options?: EmbedOptions,
  ): Promise<{ -readonly [Index in keyof Texts]: Float32Array }>;
  async embed(
    texts: string | readonly (string | ArrayLike<number>)[],
    options: EmbedOptions = {},
  ): Promise<Float32Array | Float32Array[]> {
    if (typeof texts !== 'string') return (await this.embedCounted(texts, options)).embeddings;
    const [vector] = (await this.embedCounted([texts], options)).embeddings;
    return vector ?? new Float32Array();
  }

  /** @internal Like embed(), with the number of each text's tokens. */
  async embedCounted(
    texts: readonly (string | ArrayLike<number>)[],
    options: EmbedOptions,
  ): Promise<Embeddings> {
    const request = { texts: checkedTexts(texts), options: postedEmbedOptions(options) };
    return this.#encode('embed', request, options);
  }

  /**
   * Scores how well each document answers the query, and returns the best first. Needs a model for
   * this purpose (`info.purpose` is `ranking`). It reads the query together with each document, which
   * is slower than comparing vectors but more accurate.
   */
  async rerank(
    query: string,
    documents: readonly string[],
    options: RerankOptions = {},
  ): Promise<RankedDocument[]> {
    const { topN, truncate } = checkedRerankOptions(options);
    const checked = {
      query: checkedText(query, 'the query'),
      documents: checkedDocuments(documents),
    };
    const scores = await this.#encode('score', { ...checked, truncate }, options);
    return [...scores]
      .map((score, index) => ({ index, score }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topN);
  }

  /**
   * Says how probable each label is for each text, the most probable first: one list for each text.
   *
   * A text model reads the instruction, the examples and the text, by its chat template if it has
   * one, and the probabilities of the labels as its answer are scaled to the sum 1. A label that
   * begins like another one (`good`, `good enough`) takes part of its probability: choose labels
   * that begin differently. A model whose file names the labels of a classification head needs no
   * `labels`.
   */
  async classify(
    text: string,
    labels?: readonly string[],
    options?: ClassifyOptions,
  ): Promise<LabelProbability[]>;
  async classify<const Texts extends readonly string[]>(
    texts: Texts,
    labels?: readonly string[],
    options?: ClassifyOptions,
  ): Promise<{ -readonly [Index in keyof Texts]: LabelProbability[] }>;
  async classify(
    texts: string | readonly string[],
    labels: readonly string[] = [],
    options: ClassifyOptions = {},
  ): Promise<LabelProbability[] | LabelProbability[][]> {
    const isOne = typeof texts === 'string';
    const request = postedClassification(isOne ? [texts] : texts, labels, options);
    const found = await this.#encode('classify', request, options);
    const lists = found.rows.map((row) =>
      found.labels
        .map((label, i) => ({ label, probability: row[i] ?? 0 }))
        .sort((a, b) => b.probability - a.probability),
    );
    return isOne ? (lists[0] ?? []) : lists;
  }

  #encode<Name extends 'embed' | 'score' | 'classify'>(
    call: Name,
    takes: TakesOf<Name>,
    { signal, onProgress }: EncodeOptions,
  ): Promise<AnswerOf<Name>> {
    return this.#client.ask(call, takes, { signal, onNotice: onProgress });
  }

  /** @internal Posts a call to the model's worker. */
  askWorker<Name extends CallName>(
    call: Name,
    takes: TakesOf<Name>,
    options?: AskOptions<Name>,
  ): Promise<AnswerOf<Name>> {
    return this.#client.ask(call, takes, options);
  }

  /**
   * Ends the worker and frees its memory; a shared model's when no other tab uses it. Calls that still
   * run reject with `disposed`.
   */
  dispose(): void {
    this.#client.close(new KingletError('disposed', 'the model has been disposed of'));
  }

  /** Like dispose(), at the end of a block with `using model = …`. */
  [dispose](): void {
    this.dispose();
  }

  /** Like dispose(), for `await using`. */
  [asyncDispose](): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }
}
