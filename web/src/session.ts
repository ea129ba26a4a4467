import { conversationOf } from './chat-template.ts';
import { asyncDispose, dispose } from './dispose.ts';
import { emptyResult } from './empty-result.ts';
import { Generation } from './generation.ts';
import type { GenerationSink } from './generation.ts';
import {
  checkedBytes,
  checkedPositions,
  checkedTokens,
  generateOptionNames,
  chatOptionNames,
  postedGenerateOptions,
  postedPrompt,
  refuseUnknown,
} from './options.ts';
import type { PromptOptions } from './options.ts';
import type { ChatText, Conversation, PromptPlace } from './protocol.ts';
import type {
  ChatMessage,
  ChatOptions,
  DecodeOptions,
  GenerateOptions,
  KvPages,
  ModelInfo,
  SessionInfo,
} from './types.ts';
import { knownTools } from './tools.ts';
import type { WorkerClient } from './worker-client.ts';

type Prompt = string | ArrayLike<number> | ChatText | Conversation;
type RunOptions = Omit<GenerateOptions, 'onFull'> & PromptOptions;

/**
 * A context of its own: what the model has read and written, kept as keys and values so that only
 * what is new must be computed. Made by {@link Kinglet.newSession} and {@link Session.fork}.
 *
 * The calls on one session are run one after the other, in the order they were made. Sessions of
 * one model take turns, token by token and batch by batch, and never see each other's text.
 */
export class Session {
  /** What it holds at most, and how. */
  readonly info: SessionInfo;
  readonly #model: ModelInfo;
  readonly #client: WorkerClient;
  readonly #id: number;

  /** @internal */
  constructor(client: WorkerClient, id: number, model: ModelInfo, info: SessionInfo) {
    this.#client = client;
    this.#id = id;
    this.#model = model;
    this.info = info;
  }

  /**
   * Continues the context with a prompt, given as text or as tokens, and keeps both prompt and
   * answer in it. An empty prompt goes on where the context ends. A prompt whose reading was cancelled
   * leaves the context as it was.
   *
   * Every error, a wrong option too, arrives through the returned object.
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return this.start(prompt, options, { replacesContext: false });
  }

  /**
   * Answers the last of the messages, laid out by the model's chat template. The messages become the
   * context: what the session already holds of them, such as the turns before, is not computed
   * again.
   *
   * Where the template marks what the model thinks, or calls of tools, these come apart from the
   * text: see {@link Piece}.
   */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    const { tools, variables, trustContent, onImage, ...generating } = options;
    const prompt = () => {
      refuseUnknown(options, chatOptionNames);
      return conversationOf(messages, { tools, variables, trustContent });
    };
    const place = () => ({ replacesContext: true, tools: knownTools(tools ?? []) });
    return this.#generation(prompt, generating, place, onImage);
  }

  /**
   * Appends tokens to the context; the logits after the last one, a number for each token of the
   * vocabulary. For samplers of your own.
   */
  async decode(tokens: ArrayLike<number>, options: DecodeOptions = {}): Promise<Float32Array> {
    refuseUnknown(options, ['signal']);
    const checked = checkedTokens(tokens);
    const request = { type: 'decode', session: this.#id, tokens: checked } as const;
    return (await this.#client.ask(request, 'logits', options.signal)).logits;
  }

  /**
   * What the session holds, as bytes to keep: restored into a session of the same model and kinds of
   * keys and values, on this machine or another, nothing must be computed again.
   */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#client.ask({ type: 'save', session: this.#id }, 'state')).bytes;
  }

  /**
   * Makes the context what it was when the bytes were saved. Rejects with `corrupt`,
   * `unsupported_version`, `wrong_shape` (another model, or other kinds of keys and values) or
   * `context_full`, and is then as it was before.
   */
  async restore(bytes: Uint8Array): Promise<void> {
    const request = { type: 'restore', session: this.#id, bytes: checkedBytes(bytes) } as const;
    await this.#client.ask(request, 'done');
  }

  /** The tokens of the context, when the calls before are done; negative where pictures stand. */
  async tokens(): Promise<number[]> {
    const request = { type: 'tokens', session: this.#id } as const;
    return [...(await this.#client.ask(request, 'tokens')).tokens];
  }

  /** How many tokens the context holds, when the calls before are done. */
  async nPositions(): Promise<number> {
    return (await this.tokens()).length;
  }

  /** Forgets the context from its `nPositions`th token on. */
  async truncate(nPositions: number): Promise<void> {
    const checked = checkedPositions(nPositions);
    const request = { type: 'truncate', session: this.#id, nPositions: checked } as const;
    await this.#client.ask(request, 'done');
  }

  /**
   * Forgets what is not the beginning of these tokens; how many of them it still holds, and need not
   * be read again. At least the last one must, as its logits are where an answer begins.
   */
  async keepPrefix(tokens: ArrayLike<number>): Promise<number> {
    const checked = checkedTokens(tokens, true);
    const request = { type: 'keepPrefix', session: this.#id, tokens: checked } as const;
    return (await this.#client.ask(request, 'kept')).nPositions;
  }

  /**
   * Which pages hold the context and how far they are shared. Tells what is, without waiting for the
   * calls before: a view can follow a session that writes. A session without a `kvPool` is one page.
   */
  async kvPages(): Promise<KvPages> {
    const request = { type: 'kvPages', session: this.#id } as const;
    return (await this.#client.ask(request, 'pages')).pages;
  }

  /**
   * A session that begins with the same context and goes its own way. The context is copied; with a
   * `kvPool` it is shared, and the fork takes pages as it writes.
   */
  async fork(): Promise<Session> {
    const request = { type: 'fork', session: this.#id } as const;
    const { id, session } = await this.#client.ask(request, 'session');
    return new Session(this.#client, id, this.#model, session);
  }

  /** Frees its memory. What still runs or waits rejects with `disposed`; the model lives on. */
  dispose(): void {
    this.#client.post({ type: 'closeSession', session: this.#id });
  }

  /** As dispose(), at the end of a block with `using session = …`. */
  [dispose](): void {
    this.dispose();
  }

  /** As dispose(), for `await using`. */
  [asyncDispose](): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }

  /** @internal As generate(), anywhere in the context. */
  start(
    prompt: string | ArrayLike<number> | ChatText,
    options: GenerateOptions,
    place: PromptPlace,
  ): Generation {
    const checked = () => {
      refuseUnknown(options, generateOptionNames);
      return prompt;
    };
    return this.#generation(checked, options, () => place);
  }

  #generation(
    prompt: () => Prompt,
    options: RunOptions,
    place: () => PromptPlace,
    onImage?: ChatOptions['onImage'],
  ): Generation {
    return new Generation((sink) => this.#run(sink, prompt, options, place, onImage));
  }

  /** Posts a generation whose answers go to `sink`; gives what cancels it. */
  #run(
    sink: GenerationSink,
    prompt: () => Prompt,
    { addBos, parseSpecial, prefix, onFull, ...options }: RunOptions,
    place: () => PromptPlace,
    onImage: ChatOptions['onImage'],
  ): () => void {
    const { signal } = options;
    let id = 0;
    const onAbort = () => {
      sink.abort(signal?.reason);
      this.#client.cancel(id);
    };
    try {
      if (signal?.aborted) {
        sink.abort(signal.reason);
        sink.end(emptyResult(options.seed));
        return () => undefined;
      }
      id = this.#client.request(
        {
          type: 'generate',
          session: this.#id,
          prompt: postedPrompt(prompt(), { addBos, parseSpecial, prefix, onFull }, place()),
          options: postedGenerateOptions(options, this.#model.sampling),
        },
        {
          onAnswer: (answer) => {
            if (answer.type === 'piece') {
              sink.push(answer.piece);
            } else if (answer.type === 'imageRead') {
              onImage?.(answer.progress);
            } else if (answer.type === 'generated') {
              signal?.removeEventListener('abort', onAbort);
              sink.end(answer.result);
            }
          },
          onError: (error) => {
            signal?.removeEventListener('abort', onAbort);
            sink.fail(error);
          },
        },
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    } catch (error) {
      sink.fail(error);
    }
    return () => {
      this.#client.cancel(id);
    };
  }
}
