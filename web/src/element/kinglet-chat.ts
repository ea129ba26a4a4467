import { Chat } from '../chat.ts';
import type { ChatMessage } from '../types.ts';
import { ChatView } from './chat-view.ts';

// Where there are no elements, as on a server, the module can be imported all the same.
const Base = 'HTMLElement' in globalThis ? HTMLElement : (Object as unknown as typeof HTMLElement);

/**
 * `<kinglet-chat model="model.gguf" system="Be brief.">`: a chat with a model that runs in the page.
 *
 * Attributes: `model` is the model's address, `system` its system message, `max-tokens` and
 * `temperature` are options of its answers, and `placeholder` is the hint in the empty input. A change
 * of `model` loads another model; the others take effect at the next question. {@link chat} has all that
 * attributes cannot say.
 *
 * Slots, for other words than the English ones: `send` and `stop` are the contents of the buttons.
 *
 * Parts, for `::part(…)`: `log`, `message` (also `user` or `assistant`), `thought`, `content`,
 * `status`, `progress`, `error`, `form`, `input`, `button` (also `send` or `stop`).
 *
 * Custom properties: `--kinglet-gap`, `--kinglet-radius`, `--kinglet-error-color`, and
 * `--kinglet-user-color`, `--kinglet-user-background` and the same of `assistant`.
 *
 * Answers are shown as Markdown, sanitized, with the `MarkdownView` of `kinglet/markdown`.
 *
 * Enter sends, Shift and Enter begin a new line, Escape stops. Each change of the conversation fires
 * `change`, which does not bubble.
 */
export class KingletChatElement extends Base {
  static readonly observedAttributes = [
    ...['model', 'system', 'max-tokens', 'temperature', 'placeholder'],
  ];

  /**
   * The conversation, for what attributes cannot say: load a file that was picked, set
   * `chat.setup.load`, or read the messages.
   */
  readonly chat = new Chat();
  readonly #view = new ChatView(this.attachShadow({ mode: 'open' }), this.chat);
  #shown: readonly ChatMessage[] = [];
  /** The `model` that was loaded, as long as the element is in the page. */
  #address: string | null = null;

  constructor() {
    super();
    this.chat.subscribe(() => {
      const state = this.chat.getState();
      this.#view.show(state);
      if (state.messages === this.#shown) return;
      this.#shown = state.messages;
      this.dispatchEvent(new Event('change'));
    });
    this.#view.show(this.chat.getState());
  }

  /** Focuses the input. */
  override focus(options?: FocusOptions): void {
    this.#view.focus(options);
  }

  /** @internal */
  connectedCallback(): void {
    if (this.getAttribute('model') !== this.#address) this.#load();
  }

  /** @internal */
  disconnectedCallback(): void {
    // An element that moves is connected again at once, and keeps its model and its answer.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#address = null;
      this.chat.dispose();
    });
  }

  /** @internal */
  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    const { setup } = this.chat;
    const given = value?.trim() ? value : undefined; // an empty attribute counts as absent
    const number = given === undefined ? undefined : Number(given);
    if (name === 'model') {
      if (this.isConnected && value !== before) this.#load();
    } else if (name === 'placeholder') this.#view.setPlaceholder(value ?? '');
    else if (name === 'system') this.chat.setup = { ...setup, system: given };
    else {
      const option = name === 'max-tokens' ? { maxTokens: number } : { temperature: number };
      this.chat.setup = { ...setup, answer: { ...setup.answer, ...option } };
    }
  }

  #load(): void {
    this.#address = this.getAttribute('model');
    if (this.#address) void this.chat.load(this.#address);
  }
}
