import { renderChat } from './chat-template.ts';
import { KingletError } from './errors.ts';
import { Generation } from './generation.ts';
import type { GenerationSink } from './generation.ts';
import {
  checkedText,
  checkedTokens,
  postedEncoding,
  postedGenerateOptions,
  postedLoadOptions,
} from './options.ts';
import { postedSources } from './source.ts';
import type {
  ChatMessage,
  ChatOptions,
  ChatPromptOptions,
  DetokenizeOptions,
  GenerateOptions,
  LoadOptions,
  ModelInfo,
  ModelSource,
  TokenizeOptions,
} from './types.ts';
import { WorkerClient } from './worker-client.ts';
import type { Answer } from './worker-client.ts';
import { startWorker } from './worker-link.ts';
import type { StartWorker } from './worker-link.ts';

/** A loaded model, living in a worker of its own until {@link dispose}. */
export class Kinglet {
  readonly info: ModelInfo;
  readonly #client: WorkerClient;

  private constructor(client: WorkerClient, info: ModelInfo) {
    this.#client = client;
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
    const { signal, onProgress } = options;
    const postedOptions = postedLoadOptions(options);
    const sources = postedSources(source, options);
    signal?.throwIfAborted();
    const client = await WorkerClient.start(start);
    let onAbort: (() => void) | undefined;
    try {
      const info = await new Promise<ModelInfo>((resolve, reject) => {
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
              else if (answer.type === 'loaded') resolve(answer.info);
            },
            onError: reject,
          },
          sources.flatMap((posted) => (posted.kind === 'stream' ? [posted.stream] : [])),
        );
      });
      return new Kinglet(client, info);
    } catch (error) {
      client.close(new KingletError('disposed', 'the model was not loaded'));
      throw error;
    } finally {
      if (onAbort) signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Continues a prompt, given as text or as tokens. Work starts at once; calls on one model run one
   * after the other. Every error, a wrong option too, arrives through the returned object.
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return new Generation((sink) => this.#run(sink, prompt, options));
  }

  /** Answers the last of the messages, laid out by the file's chat template. As generate(). */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    const { variables, ...generating } = options;
    return new Generation((sink) => {
      let isCancelled = false;
      let cancel = () => {
        isCancelled = true;
      };
      this.chatPrompt(messages, { variables }).then(
        (prompt) => {
          cancel = this.#run(sink, prompt, { ...generating, parseSpecial: true });
          if (isCancelled) cancel();
        },
        (error: unknown) => {
          sink.fail(error);
        },
      );
      return () => {
        cancel();
      };
    });
  }

  /**
   * The text that the file's chat template makes of a conversation. It spells control tokens:
   * tokenize it with `parseSpecial`.
   */
  chatPrompt(messages: readonly ChatMessage[], options: ChatPromptOptions = {}): Promise<string> {
    return renderChat(this.info, messages, options);
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    const answer = await this.#ask({
      type: 'tokenize',
      text: checkedText(text),
      ...postedEncoding(options),
    });
    return answer.type === 'tokenized' ? [...answer.tokens] : [];
  }

  async detokenize(tokens: ArrayLike<number>, options: DetokenizeOptions = {}): Promise<string> {
    const { special = false } = options;
    const answer = await this.#ask({ type: 'detokenize', tokens: checkedTokens(tokens), special });
    return answer.type === 'detokenized' ? answer.text : '';
  }

  /** Ends the worker and frees its memory. What is still running rejects with `disposed`. */
  dispose(): void {
    this.#client.close(new KingletError('disposed', 'the model has been disposed of'));
  }

  /** Posts a generation whose answers go to `sink`; gives what cancels it. */
  #run(
    sink: GenerationSink,
    prompt: string | ArrayLike<number>,
    { addBos, parseSpecial, ...options }: GenerateOptions,
  ): () => void {
    const { signal } = options;
    let id = 0;
    const onAbort = () => {
      this.#client.abandon(id);
      sink.fail(signal?.reason);
    };
    try {
      signal?.throwIfAborted();
      const posted = postedGenerateOptions(options);
      const encoding = postedEncoding({ addBos, parseSpecial });
      const content = typeof prompt === 'string' ? checkedText(prompt) : checkedTokens(prompt);
      id = this.#client.request(
        { type: 'generate', prompt: content, encoding, options: posted },
        {
          onAnswer: (answer) => {
            if (answer.type === 'piece') {
              sink.push(answer.piece);
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

  #ask(request: Parameters<WorkerClient['request']>[0]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#client.request(request, { onAnswer: resolve, onError: reject });
    });
  }
}
