import { checkMessages } from './chat-template.ts';
import { messageOf } from './errors.ts';
import type { Generation } from './generation.ts';
import { Kinglet } from './kinglet.ts';
import { checkedObject } from './options.ts';
import type {
  ChatMessage,
  ChatOptions,
  ChatResult,
  LoadOptions,
  LoadProgress,
  ModelSource,
  Piece,
} from './types.ts';

/** How a {@link Chat} loads its model and answers. */
export interface ChatSetup {
  /** What the model is told before the conversation. It is not among the messages. */
  system?: string | undefined;
  /** The conversation to begin with, such as that of an earlier visit. Read once. */
  messages?: readonly ChatMessage[] | undefined;
  /** How models are loaded. The chat has its own signal and progress. */
  load?: Omit<LoadOptions, 'signal' | 'onProgress'> | undefined;
  /** How questions are answered. The default of `onFull` is `dropOldest`. */
  answer?: Omit<ChatOptions, 'signal'> | undefined;
}

/** What a user interface shows of a {@link Chat}. It never changes: each change makes a new one. */
export interface ChatState {
  /** The model that answers; undefined until one is loaded. */
  readonly model: Kinglet | undefined;
  /** Whether a model is being loaded, perhaps while an earlier one still answers. */
  readonly isLoading: boolean;
  /** How far the loading is. Undefined at its very beginning, too. */
  readonly progress: LoadProgress | undefined;
  readonly isAnswering: boolean;
  /**
   * Why the last call of load(), ask() or restore() failed; undefined if it did not, and when it was
   * stopped.
   */
  readonly error: Error | undefined;
  /** The conversation, with the answer so far. */
  readonly messages: readonly ChatMessage[];
}

/**
 * A conversation with a model, for user interfaces: it has the state that they show, and calls them
 * when the state changes. Its methods can be passed around without the object. They do not throw: an
 * error becomes part of the state.
 */
export class Chat {
  /** May be changed at any time; the next load() or ask() uses it. */
  setup: ChatSetup;
  readonly #listeners = new Set<() => void>();
  #state: ChatState;
  #loading = new AbortController();
  #answering = new AbortController();

  constructor(setup: ChatSetup = {}) {
    this.setup = checkedObject('the setup', setup);
    const { messages = [] } = setup;
    const error = faultOf(messages);
    this.#state = {
      ...{ model: undefined, isLoading: false, progress: undefined },
      ...{ isAnswering: false, error, messages: error ? [] : messages },
    };
  }

  /** The state now. The same object until something changes. */
  readonly getState = (): ChatState => this.#state;

  /** Calls a function after each change. Returns what ends that. Its errors are logged to the console. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /**
   * Loads a model in place of the one that is there, which stays if this fails. Ends an earlier load().
   * Resolves when it is over; the state has the model or the error.
   */
  readonly load = async (source: ModelSource | readonly ModelSource[]): Promise<void> => {
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    this.#change({ isLoading: true, progress: undefined, error: undefined });
    const onProgress = (progress: LoadProgress) => {
      if (!signal.aborted) this.#change({ progress });
    };
    try {
      const model = await Kinglet.load(source, { ...this.setup.load, signal, onProgress });
      if (signal.aborted) {
        model.dispose();
        return;
      }
      this.stop();
      this.#state.model?.dispose();
      this.#change({ model, isLoading: false, progress: undefined });
    } catch (error) {
      if (signal.aborted) return;
      this.#change({ isLoading: false, progress: undefined, error: asError(error) });
    }
  };

  /**
   * Asks a question and adds it and the answer to the conversation, the answer as it comes. Resolves
   * with the answer, also one that was stopped. If there is none, because of an error or because it was
   * stopped at once, the question leaves the conversation again, and this resolves with undefined.
   * Without a model, and while it answers, this does nothing.
   */
  readonly ask = async (
    content: NonNullable<ChatMessage['content']>,
  ): Promise<ChatMessage | undefined> => {
    const { model, isAnswering, messages: before } = this.#state;
    if (!model || isAnswering) return undefined;
    const { signal } = (this.#answering = new AbortController());
    const { system, answer: options } = this.setup;
    const asked = [...before, { role: 'user', content }];
    let said: ChatMessage = { role: 'assistant', content: '' };
    this.#change({ isAnswering: true, error: undefined, messages: [...asked, said] });
    const prompt = system === undefined ? asked : [{ role: 'system', content: system }, ...asked];
    const answer = model.chat(prompt, { onFull: 'dropOldest', ...options, signal });
    let failure: Error | undefined;
    try {
      for await (const piece of answer) {
        if (signal.aborted) break;
        said = grown(said, piece);
        this.#change({ messages: [...asked, said] });
      }
      said = (await answer.result).message;
    } catch (error) {
      if (signal.aborted) said = await stoppedMessage(answer, said);
      else failure = asError(error);
    }
    const isEmpty = said.content === '' && !said.reasoning_content && !said.tool_calls;
    const isReplaced = this.#answering.signal !== signal;
    if (!isReplaced) {
      const messages = isEmpty ? before : [...asked, said];
      this.#change({ isAnswering: false, error: failure, messages });
    }
    return isEmpty || isReplaced ? undefined : said;
  };

  /** Stops the answer that is being written. What there is of it stays. */
  readonly stop = (): void => {
    this.#answering.abort();
  };

  /** Begins a new conversation. Stops the answer that is being written. */
  readonly clear = (): void => {
    this.restore([]);
  };

  /**
   * Goes on with another conversation. Stops the answer that is being written. If `messages` is not a
   * list of messages, the conversation stays as it is.
   */
  readonly restore = (messages: readonly ChatMessage[]): void => {
    const error = faultOf(messages);
    if (error) {
      this.#change({ error });
      return;
    }
    this.stop();
    this.#answering = new AbortController();
    this.#change({ isAnswering: false, error: undefined, messages });
  };

  /** Frees the model and ends what is running. The conversation stays, and load() can follow. */
  readonly dispose = (): void => {
    this.#loading.abort();
    this.stop();
    this.#state.model?.dispose();
    this.#change({ model: undefined, isLoading: false, progress: undefined });
  };

  #change(part: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        console.error(error); // the conversation goes on, and the other listeners hear of it
      }
    }
  }
}

/** Returns why a conversation cannot be shown or answered. An empty one can. */
function faultOf(messages: readonly ChatMessage[]): Error | undefined {
  if (Array.isArray(messages) && messages.length === 0) return undefined;
  try {
    checkMessages(messages);
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}

/** Returns a message with a new piece at its end. */
function grown(message: ChatMessage, { text, reasoning = '' }: Piece): ChatMessage {
  const content = `${message.content as string}${text}`;
  const thoughts = (message.reasoning_content ?? '') + reasoning;
  return { ...message, content, ...(thoughts !== '' && { reasoning_content: thoughts }) };
}

/** Returns the message of an answer that a signal ended, which may have more text than was read. */
async function stoppedMessage(
  answer: Generation<ChatResult>,
  read: ChatMessage,
): Promise<ChatMessage> {
  try {
    return (await answer.partial).message;
  } catch {
    return read; // the model is gone, too
  }
}
