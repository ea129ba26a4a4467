import { layOutChat, renderChat } from './chat-template.ts';
import { KingletError } from './errors.ts';
import type { Generation } from './generation.ts';
import {
  checkedChat,
  checkedPooling,
  checkedText,
  checkedTexts,
  checkedTokens,
  postedEncoding,
  postedLoadOptions,
  postedSessionOptions,
} from './options.ts';
import type { ChatText } from './protocol.ts';
import { Session } from './session.ts';
import { postedSources } from './source.ts';
import type {
  ChatMessage,
  ChatOptions,
  ChatPromptOptions,
  ChatTokensOptions,
  DetokenizeOptions,
  EmbedOptions,
  GenerateOptions,
  LoadOptions,
  ModelInfo,
  ModelSource,
  SessionOptions,
  TokenizeOptions,
} from './types.ts';
import { WorkerClient } from './worker-client.ts';
import type { AnswerOf } from './worker-client.ts';
import { startWorker } from './worker-link.ts';
import type { StartWorker } from './worker-link.ts';

/** A loaded model, living in a worker of its own until {@link dispose}. */
export class Kinglet {
  readonly info: ModelInfo;
  readonly #client: WorkerClient;
  readonly #session: Session;

  private constructor(client: WorkerClient, info: ModelInfo, session: Session) {
    this.#client = client;
    this.#session = session;
    this.info = info;
  }

  /**
   * Loads a GGUF file. The bytes go piece by piece from their source into the engine's memory; no
   * second copy of the file is made.
   *
   * Of a model that is split into several files, give all in any order, or the URL of one that is
   * named as they are: NAME-00001-of-00003.gguf.
   *
   * @throws {@link KingletError}, or the signal's reason. Nothing is left running then.
   */
  static load(
    source: ModelSource | readonly ModelSource[],
    options: LoadOptions = {},
  ): Promise<Kinglet> {
    return Kinglet.loadWith(startWorker, source, options);
  }

  /** @internal As load(), with a worker of the caller's making. */
  static async loadWith(
    start: StartWorker,
    source: ModelSource | readonly ModelSource[],
    options: LoadOptions,
  ): Promise<Kinglet> {
    const { signal, onProgress, onWarning } = options;
    const postedOptions = postedLoadOptions(options);
    const sources = postedSources(source, options);
    signal?.throwIfAborted();
    const client = await WorkerClient.start(start);
    let onAbort: (() => void) | undefined;
    try {
      const loaded = await new Promise<AnswerOf<'loaded'>>((resolve, reject) => {
        onAbort = () => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a signal's reason may be anything
          reject(signal?.reason);
        };
        if (signal?.aborted) onAbort();
        signal?.addEventListener('abort', onAbort);
        client.request(
          { type: 'load', sources, options: postedOptions },
          {
            onAnswer: (answer) => {
              if (answer.type === 'progress') onProgress?.(answer.progress);
              else if (answer.type === 'loaded') resolve(answer);
              else if (answer.type === 'warning') {
                onWarning?.(new KingletError(answer.code, answer.message));
              }
            },
            onError: reject,
          },
          sources.flatMap((posted) => (posted.kind === 'stream' ? [posted.stream] : [])),
        );
      });
      const { id, info, session, cancelWord } = loaded;
      if (cancelWord) client.useCancelWord(cancelWord);
      return new Kinglet(client, info, new Session(client, id, info, session));
    } catch (error) {
      client.close(new KingletError('disposed', 'the model was not loaded'));
      throw error;
    } finally {
      if (onAbort) signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Continues a prompt, given as text or as tokens, in the session that the model has from the
   * start. The prompt is the whole context: of what that session holds from the call before, the
   * common beginning is used again and the rest forgotten.
   *
   * Work starts at once; calls run one after the other. To run several side by side, or to go on
   * from a context, use {@link newSession}. Every error, a wrong option too, arrives through the
   * returned object.
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return this.#session.start(prompt, options, { replacesContext: true, keepsAnswer: false });
  }

  /** Answers the last of the messages, laid out by the file's chat template. As generate(). */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    return this.#session.chat(messages, options);
  }

  /** A context of its own, with memory of its own: see {@link Session}. */
  async newSession(options: SessionOptions = {}): Promise<Session> {
    const posted = postedSessionOptions(options, this.#session.info);
    const request = { type: 'newSession', options: posted } as const;
    const { id, session } = await this.#client.ask(request, 'session');
    return new Session(this.#client, id, this.info, session);
  }

  /**
   * The text that the file's chat template makes of a conversation, to look at: it does not tell
   * the template's control tokens from those that a message spells. {@link chatTokens} does.
   */
  chatPrompt(messages: readonly ChatMessage[], options: ChatPromptOptions = {}): Promise<string> {
    return renderChat(this.info, messages, options);
  }

  /** The tokens that the file's chat template makes of a conversation, as chat() reads them. */
  async chatTokens(
    messages: readonly ChatMessage[],
    options: ChatTokensOptions = {},
  ): Promise<number[]> {
    const text = checkedChat(await this.layOut(messages, options));
    const request = { type: 'tokenize', text, ...postedEncoding({}) } as const;
    return [...(await this.#client.ask(request, 'tokens')).tokens];
  }

  /** @internal A conversation for {@link answer}. */
  layOut(messages: readonly ChatMessage[], options: ChatTokensOptions): Promise<ChatText> {
    return layOutChat(this.info, messages, options);
  }

  /** @internal As generate(). */
  answer(chat: ChatText, options: GenerateOptions): Generation {
    return this.#session.start(chat, options, { replacesContext: true, keepsAnswer: false });
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    const request = {
      ...({ type: 'tokenize', text: checkedText(text) } as const),
      ...postedEncoding(options),
    };
    return [...(await this.#client.ask(request, 'tokens')).tokens];
  }

  async detokenize(tokens: ArrayLike<number>, options: DetokenizeOptions = {}): Promise<string> {
    const { special = false } = options;
    const request = { type: 'detokenize', tokens: checkedTokens(tokens), special } as const;
    return (await this.#client.ask(request, 'detokenized')).text;
  }

  /** How many tokens a text has: what it takes of a context. */
  async countTokens(text: string, options: TokenizeOptions = {}): Promise<number> {
    return (await this.tokenize(text, options)).length;
  }

  /**
   * A vector of length 1 for each text, given as text or as tokens, of as many numbers as the model's
   * states have: texts of similar meaning have vectors of similar direction. Models that were trained
   * for it do this much better than others.
   *
   * Runs beside the sessions, in memory of its own that is freed at the end.
   */
  async embed(
    texts: readonly (string | ArrayLike<number>)[],
    options: EmbedOptions = {},
  ): Promise<Float32Array[]> {
    const { pooling = 'mean', signal } = options;
    const request = {
      ...{ texts: checkedTexts(texts), pooling: checkedPooling(pooling) },
      type: 'embed',
    } as const;
    return (await this.#client.ask(request, 'embeddings', signal)).embeddings;
  }

  /** Ends the worker and frees its memory. What is still running rejects with `disposed`. */
  dispose(): void {
    this.#client.close(new KingletError('disposed', 'the model has been disposed of'));
  }
}
