import { ask } from './ask.ts';
import type { ApiAnswer } from './ask.ts';
import { conversationOf } from './chat-template.ts';
import { asyncDispose, dispose } from './dispose.ts';
import { emptyResult } from './empty-result.ts';
import { Generation } from './generation.ts';
import type { GenerationSink } from './generation.ts';
import {
  checkOptions,
  checkedBytes,
  checkedContext,
  checkedPositions,
  checkedThinking,
  checkedTokens,
  generateOptionNames,
  chatOptionNames,
  postedGenerateOptions,
  postedPrompt,
} from './options.ts';
import type { AnswerOptions } from './options.ts';
import type { Conversation, MadeSession, PostedRequest, PromptPlace } from './protocol.ts';
import type {
  ChatMessage,
  ChatOptions,
  ChatResult,
  DecodeOptions,
  GenerateOptions,
  GenerationResult,
  KvPages,
  ModelInfo,
  SessionInfo,
} from './types.ts';
import { whenAborted } from './when-aborted.ts';
import type { Client } from './worker-client.ts';

type Prompt = string | ArrayLike<number> | Conversation;

/**
 * A context: the text that the model has read and written, stored as keys and values so that only
 * new text must be computed. Made by {@link Kinglet.newSession} and {@link Session.fork}.
 *
 * The calls of one session run one after the other, in the order in which they were made. The sessions
 * of one model take turns after each token or batch, or are computed together. They never see each
 * other's text.
 */
export class Session {
  /** The size of the context, and how it is stored. */
  readonly info: SessionInfo;
  readonly #model: ModelInfo;
  readonly #client: Client;
  readonly #id: number;

  /** @internal */
  constructor(client: Client, model: ModelInfo, { id, info }: MadeSession) {
    this.#client = client;
    this.#id = id;
    this.#model = model;
    this.info = info;
  }

  /**
   * Continues the context with a prompt, given as text or as tokens. Prompt and answer become part of
   * it. An empty prompt continues the context itself. If reading the prompt is cancelled, the context
   * stays as it was.
   *
   * All errors, including wrong options, arrive through the returned object.
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return this.start(prompt, options, { replacesContext: false });
  }

  /**
   * Answers the last message. The model's chat template formats the messages. They become the whole
   * context; what the session already contains of them, such as earlier turns, is not computed again.
   *
   * If the template marks thoughts or calls of tools, these arrive separately from the text: see
   * {@link Piece}.
   */
  chat(
    messages: string | readonly ChatMessage[],
    options: ChatOptions = {},
  ): Generation<ChatResult> {
    const prompt = () => {
      checkOptions(options, chatOptionNames);
      return conversationOf(messages, options);
    };
    const place = () => ({
      replacesContext: true,
      maxThinkingTokens: checkedThinking(options.maxThinkingTokens),
    });
    return this.#generation(prompt, options, place);
  }

  /**
   * Appends tokens to the context and returns the logits after the last one, a number for each token
   * of the vocabulary. For your own samplers.
   */
  async decode(tokens: ArrayLike<number>, options: DecodeOptions = {}): Promise<Float32Array> {
    checkOptions(options, ['signal']);
    const checked = checkedTokens(tokens);
    const { signal } = options;
    return this.#client.ask('decode', { session: this.#id, tokens: checked }, { signal });
  }

  /**
   * The session's context as bytes. A session of the same model with the same kinds of keys and values,
   * on any machine, can restore them without computing anything again.
   */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#client.ask('save', { session: this.#id });
  }

  /**
   * Replaces the context by a saved one. Rejects with `corrupt`, `unsupported_version`, `wrong_shape`
   * (another model, or other kinds of keys and values) or `context_full`; the context is then as it
   * was before.
   */
  async restore(bytes: Uint8Array): Promise<void> {
    await this.#client.ask('restore', { session: this.#id, bytes: checkedBytes(bytes) });
  }

  /** The tokens of the context, after earlier calls are done; negative for pictures. */
  async tokens(): Promise<number[]> {
    return [...(await this.#client.ask('tokens', { session: this.#id }))];
  }

  /** The number of tokens in the context, after earlier calls are done. */
  async nPositions(): Promise<number> {
    return (await this.tokens()).length;
  }

  /** Cuts the context to its first `nPositions` tokens. */
  async truncate(nPositions: number): Promise<void> {
    const checked = checkedPositions(nPositions);
    await this.#client.ask('truncate', { session: this.#id, nPositions: checked });
  }

  /**
   * Cuts the context to its common beginning with these tokens, and returns how many tokens that is:
   * they need not be read again. It is always less than all of them, because an answer begins with the
   * logits after the last one.
   */
  async keepPrefix(tokens: ArrayLike<number>): Promise<number> {
    const checked = checkedContext(tokens, this.#model.nTokens);
    return this.#client.ask('keepPrefix', { session: this.#id, tokens: checked });
  }

  /**
   * The pages of the context, and which are shared. Does not wait for earlier calls, so that a view
   * can follow a session while it generates. A session without a `kvPool` is one page.
   */
  async kvPages(): Promise<KvPages> {
    return this.#client.ask('kvPages', { session: this.#id });
  }

  /**
   * A new session with the same context, which can continue differently. The context is copied; with
   * a `kvPool` it is shared, and the fork takes new pages as it writes.
   */
  async fork(): Promise<Session> {
    const made = await this.#client.ask('fork', { session: this.#id });
    return new Session(this.#client, this.#model, made);
  }

  /** Frees its memory. Calls that run or wait reject with `disposed`. The model stays usable. */
  dispose(): void {
    this.#client.post({ type: 'closeSession', session: this.#id });
  }

  /** Like dispose(), at the end of a block with `using session = …`. */
  [dispose](): void {
    this.dispose();
  }

  /** Like dispose(), for `await using`. */
  [asyncDispose](): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }

  /** @internal Answers a request of OpenAI's API. An answer in text becomes the whole context. */
  async ask(request: PostedRequest, signal: AbortSignal | undefined): Promise<ApiAnswer> {
    return ask(this.#client, this.#id, request, signal);
  }

  /** @internal Like generate(), at any place in the context. */
  start(prompt: Prompt, options: GenerateOptions, place: PromptPlace): Generation {
    const checked = () => {
      checkOptions(options, generateOptionNames);
      return prompt;
    };
    return this.#generation(checked, options, () => place);
  }

  #generation<Result extends GenerationResult>(
    prompt: () => Prompt,
    options: AnswerOptions,
    place: () => PromptPlace,
  ): Generation<Result> {
    return new Generation<Result>((sink) => this.#run(sink, prompt, options, place));
  }

  /** Posts a generation whose answers go to `sink`; gives what cancels it. */
  #run(
    sink: GenerationSink,
    prompt: () => Prompt,
    options: AnswerOptions,
    place: () => PromptPlace,
  ): () => void {
    let id = 0;
    try {
      const content = prompt(); // checks the options, too
      const { signal, onImage } = options;
      const posted = postedPrompt(content, options, place());
      if (signal?.aborted) {
        sink.abort(signal.reason);
        sink.end(emptyResult(posted, options.seed));
        return () => undefined;
      }
      const generating = postedGenerateOptions(options, this.#model.sampling);
      const stopWaiting = whenAborted(signal, () => {
        sink.abort(signal?.reason);
        this.#client.cancel(id);
      });
      id = this.#client.call(
        'generate',
        { session: this.#id, prompt: posted, options: generating },
        {
          onNotice: ({ piece, image }) => {
            if (piece) sink.push(piece);
            else onImage?.(image);
          },
          onAnswer: (result) => {
            stopWaiting();
            sink.end(result);
          },
          onError: (error) => {
            stopWaiting();
            sink.fail(error);
          },
        },
      );
    } catch (error) {
      sink.fail(error);
    }
    return () => {
      this.#client.cancel(id);
    };
  }
}
