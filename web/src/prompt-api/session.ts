import type { Kinglet } from '../kinglet.ts';
import type { FunctionCall } from '../openai/types.ts';
import type { Session } from '../session.ts';
import { controllerOf } from '../when-aborted.ts';
import { abortable } from './abortable.ts';
import { constraintOf } from './constraint.ts';
import type { Constraint } from './constraint.ts';
import { destroyedError, quotaError } from './errors.ts';
import { Layout, readPrompt } from './messages.ts';
import type { ReadPrompt, Said } from './messages.ts';
import type {
  LanguageModelPrompt,
  LanguageModelPromptOptions,
  LanguageModelSignalOptions,
  LanguageModelTool,
} from './types.ts';

/** @internal The arguments of a session's constructor. */
export interface SessionParts {
  model: Kinglet;
  session: Session;
  initial: readonly Said[];
  temperature: number;
  topK: number;
  tools: readonly LanguageModelTool[];
  /** For a clone: the conversation so far, and the tokens that it takes. */
  turns?: readonly Said[][];
  usage?: number;
}

/** A conversation, like a session of Chrome's Prompt API. Its calls run one after the other. */
export class PromptSession extends EventTarget {
  readonly #parts: SessionParts;
  readonly #layout: Layout;
  readonly #destroyed = new AbortController();
  /** The turns after the initial prompts. When the context is full, the oldest are dropped. */
  #turns: Said[][];
  #usage: number;
  #last: Promise<unknown> = Promise.resolve();
  /** Called when the oldest turns are dropped because the context is full. */
  oncontextoverflow: ((event: Event) => void) | null = null;
  /** The older name of `oncontextoverflow`. */
  onquotaoverflow: ((event: Event) => void) | null = null;

  /** @internal */
  constructor(parts: SessionParts) {
    super();
    this.#parts = parts;
    this.#layout = new Layout(parts.model, parts.tools);
    this.#turns = [...(parts.turns ?? [])];
    this.#usage = parts.usage ?? 0;
  }

  get temperature(): number {
    return this.#parts.temperature;
  }

  get topK(): number {
    return this.#parts.topK;
  }

  /** Tokens of context that fit. */
  get contextWindow(): number {
    return this.#parts.session.info.nCtx;
  }

  /** Tokens of context that are taken. */
  get contextUsage(): number {
    // After an answer that fills the context, the template may add a mark that does not fit.
    return Math.min(this.#usage, this.contextWindow);
  }

  /** The older name of `contextWindow`. */
  get inputQuota(): number {
    return this.contextWindow;
  }

  /** The older name of `contextUsage`. */
  get inputUsage(): number {
    return this.contextUsage;
  }

  /** Returns the answer to the input. */
  prompt(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<string> {
    return this.#ask(input, options, () => undefined);
  }

  /** Returns the answer as a stream of its new text. Cancelling the stream ends the answer. */
  promptStreaming(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions = {},
  ): ReadableStream<string> {
    const { controller, release } = controllerOf(options.signal);
    let isOpen = true;
    return new ReadableStream<string>({
      start: (stream) => {
        const ask = { ...options, signal: controller.signal };
        this.#ask(input, ask, (text) => {
          if (isOpen) stream.enqueue(text);
        })
          .finally(release)
          .then(
            () => {
              if (isOpen) stream.close();
            },
            (error: unknown) => {
              if (isOpen) stream.error(error);
            },
          );
      },
      cancel: (reason) => {
        isOpen = false;
        controller.abort(reason);
      },
    });
  }

  /** Adds messages to the conversation. The model reads them now, but does not answer them. */
  append(input: LanguageModelPrompt, options: LanguageModelSignalOptions = {}): Promise<undefined> {
    return this.#exclusive(options, async (signal) => {
      const { messages, prefix } = readPrompt(input);
      if (prefix !== '') messages.push({ role: 'assistant', content: prefix });
      await this.#makeRoom(messages);
      await this.#read([...this.#said(), ...messages], signal);
      this.#turns.push(messages);
      return undefined;
    });
  }

  /** Returns how many tokens of the context the input would take. */
  measureContextUsage(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions = {},
  ): Promise<number> {
    return this.#exclusive(options, async () => {
      const { messages } = withInstruction(
        readPrompt(input),
        constraintOf(options.responseConstraint),
      );
      const before = await this.#count(this.#said());
      return (await this.#count([...this.#said(), ...messages])) - before;
    });
  }

  /** The older name of `measureContextUsage`. */
  measureInputUsage(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions = {},
  ): Promise<number> {
    return this.measureContextUsage(input, options);
  }

  /** Returns a new session with a copy of this conversation. */
  clone(options: LanguageModelSignalOptions = {}): Promise<this> {
    return this.#exclusive(options, async (signal) => {
      const session = await this.#parts.session.fork();
      if (signal.aborted) {
        session.dispose();
        throw signal.reason;
      }
      const same = this.constructor as new (parts: SessionParts) => this;
      return new same({ ...this.#parts, session, turns: this.#turns, usage: this.#usage });
    });
  }

  /** Frees the session's memory. Calls that run or wait reject with an `InvalidStateError`. */
  destroy(): void {
    this.#destroyed.abort(destroyedError());
    this.#parts.session.dispose();
  }

  /** @internal Reads the initial prompts. */
  begin(signal: AbortSignal | undefined): Promise<void> {
    return this.#exclusive({ signal }, async (either) => {
      const messages = this.#said();
      const requested = await this.#count(messages);
      if (requested >= this.contextWindow) throw quotaError(requested, this.contextWindow);
      await this.#read(messages, either);
    });
  }

  /** Runs `work` after the earlier calls, with a signal that destroy() also aborts. */
  #exclusive<T>(
    { signal }: LanguageModelSignalOptions,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { controller, release } = controllerOf(signal, this.#destroyed.signal);
    const either = controller.signal;
    const done = this.#last.then(async () => {
      either.throwIfAborted();
      return work(either);
    });
    this.#last = done.catch(() => undefined);
    return abortable(done, either).finally(release);
  }

  #ask(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions,
    onText: (text: string) => void,
  ): Promise<string> {
    return this.#exclusive(options, async (signal) => {
      const constraint = constraintOf(options.responseConstraint);
      const isIncluded = options.omitResponseConstraintInput !== true;
      const read = readPrompt(input);
      const { messages, prefix } = isIncluded ? withInstruction(read, constraint) : read;
      const turn = [...messages];
      const text = await this.#answer({ turn, prefix, constraint, signal, onText });
      this.#turns.push(turn);
      this.#usage = await this.#count(this.#said());
      return text;
    });
  }

  /** Generates the answer. Runs the tools that the model calls, and asks again with the results. */
  async #answer({ turn, prefix: begun, constraint, signal, onText }: Asking): Promise<string> {
    let text = '';
    for (let prefix = begun; ; prefix = '') {
      await this.#makeRoom(turn);
      const answer = await this.#generate({ turn, prefix, constraint, signal, onText });
      text += answer.text;
      const content = prefix + answer.written;
      if (answer.calls.length === 0) {
        turn.push({ role: 'assistant', content });
        return text;
      }
      turn.push({ role: 'assistant', content, tool_calls: answer.calls });
      for (const call of answer.calls) turn.push(await this.#callTool(call));
      signal.throwIfAborted();
    }
  }

  async #generate({ turn, prefix, constraint, signal, onText }: Asking) {
    const { session, temperature, topK, model } = this.#parts;
    const chat = this.#layout.chat([...this.#said(), ...turn], prefix);
    const options = { ...constraint.options, temperature, topK, signal };
    const generation = session.start(
      chat,
      { ...options, maxTokens: model.info.nCtx },
      { replacesContext: true },
    );
    let [text, written] = ['', ''];
    const calls: FunctionCall[] = [];
    for await (const piece of generation) {
      written += piece.text;
      const delta = constraint.read(piece.text);
      text += delta;
      if (delta !== '') onText(delta);
      for (const { index, id = '', name, arguments: more } of piece.toolCalls ?? []) {
        const call = calls[index];
        if (call) call.function.arguments += more;
        else {
          const made = { name: name ?? '', arguments: more };
          calls.push({ id, type: 'function', function: made });
        }
      }
    }
    const { finishReason } = await generation.result;
    if (constraint.options.jsonSchema !== undefined && finishReason !== 'stop') {
      const window = this.contextWindow;
      const message = 'The context is full before the answer under the responseConstraint ends.';
      throw quotaError(window + 1, window, message);
    }
    return { text, written, calls };
  }

  async #callTool({ id, function: call }: FunctionCall): Promise<Said> {
    const tool = this.#parts.tools.find(({ name }) => name === call.name);
    let content: string;
    try {
      const result = await tool?.execute(JSON.parse(call.arguments || '{}') as never);
      content = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    } catch (error) {
      // The model reads the error and can try something else.
      content = `Error: ${error instanceof Error ? error.message : String(error)}`;
    }
    return { role: 'tool', tool_call_id: id, name: call.name, content };
  }

  #said(turns = this.#turns): Said[] {
    return [...this.#parts.initial, ...turns.flat()];
  }

  /**
   * Drops the oldest turns until the messages and an answer of some length fit. If the messages
   * cannot fit at all, rejects and drops nothing.
   */
  async #makeRoom(messages: readonly Said[]): Promise<void> {
    const window = this.contextWindow;
    const room = window - Math.min(maxAnswerRoom, Math.floor(window / 4));
    let dropped = 0;
    const count = () => this.#count([...this.#said(this.#turns.slice(dropped)), ...messages], true);
    let requested = await count();
    while (requested > room && dropped < this.#turns.length) {
      dropped += 1;
      requested = await count();
    }
    if (requested >= window) throw quotaError(requested, window);
    if (dropped === 0) return;
    this.#turns.splice(0, dropped);
    for (const name of ['contextoverflow', 'quotaoverflow'] as const) {
      const event = new Event(name);
      this[`on${name}`]?.(event);
      this.dispatchEvent(event);
    }
  }

  async #count(messages: readonly Said[], isAsking = false): Promise<number> {
    const tokens = await this.#tokens(messages, isAsking);
    if (tokens) return tokens.length;
    return this.#parts.model.countTokens(messages.map(({ content }) => content).join('\n'));
  }

  /** Undefined if the template refuses: some require that user and assistant take turns. */
  async #tokens(messages: readonly Said[], isAsking = false) {
    return this.#layout.tokens(messages, isAsking).catch(() => undefined);
  }

  /** Makes these messages the context. Only their new tokens are computed. */
  async #read(messages: readonly Said[], signal: AbortSignal): Promise<void> {
    const { session } = this.#parts;
    const tokens = await this.#tokens(messages);
    if (tokens && tokens.length > 0) {
      const nKept = await session.keepPrefix(tokens);
      await session.decode(tokens.slice(nKept), { signal });
    }
    this.#usage = tokens?.length ?? (await this.#count(messages));
  }
}

/** The most tokens that are kept free for an answer: a quarter of the context if that is less. */
const maxAnswerRoom = 512;

interface Asking {
  /** The messages of this turn. Calls, their results and the answer are added to them. */
  turn: Said[];
  prefix: string;
  constraint: Constraint;
  signal: AbortSignal;
  onText: (text: string) => void;
}

/** Returns the prompt with the constraint's description added to the user's last message. */
function withInstruction(
  { messages, prefix }: ReadPrompt,
  { instruction }: Constraint,
): ReadPrompt {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (instruction === '' || last < 0) return { messages, prefix };
  const said = messages.map((message, i) =>
    i === last ? { ...message, content: `${message.content}\n\n${instruction}` } : message,
  );
  return { messages: said, prefix };
}
