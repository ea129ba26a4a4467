import type { Chat, ChatState } from '../chat.ts';
import { MarkdownView } from '../markdown/index.ts';
import type { ChatMessage } from '../types.ts';
import { styles } from './styles.ts';

const speakers: Partial<Record<string, string>> = { user: 'You', assistant: 'Model' };

/** A message with its element; an answer's text is Markdown. */
interface Shown {
  message: ChatMessage;
  element: HTMLElement;
  thought?: HTMLElement;
  markdown?: MarkdownView;
}

/** The elements of a chat in a shadow root, and what their keys and buttons do. */
export class ChatView {
  readonly #chat: Chat;
  readonly #log = make('div', 'log', { role: 'log', tabindex: '0', 'aria-label': 'Conversation' });
  readonly #status = make('p', 'status', { role: 'status' });
  readonly #progress = make('progress', 'progress', { 'aria-label': 'Loading the model' });
  readonly #error = make('p', 'error', { role: 'alert' });
  readonly #input = make('textarea', 'input', { rows: '1', 'aria-label': 'Message' });
  readonly #send = slottedButton('send', 'Send');
  readonly #stop = slottedButton('stop', 'Stop');
  /** The messages that are shown, with their elements. */
  readonly #shown: Shown[] = [];
  /** The next frame, if the answer has been drawn in this one. */
  #frame: number | undefined;
  #isBehind = false;

  constructor(root: ShadowRoot, chat: Chat) {
    this.#chat = chat;
    const sheet = new CSSStyleSheet(); // unlike an element, allowed by every Content-Security-Policy
    sheet.replaceSync(styles);
    root.adoptedStyleSheets = [sheet];
    const form = make('form', 'form');
    form.append(this.#input, this.#send, this.#stop);
    root.append(this.#log, this.#progress, this.#status, this.#error, form);
    this.#stop.type = 'button';
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#ask();
    });
    this.#stop.addEventListener('click', () => {
      chat.stop();
      this.#input.focus(); // the button goes
    });
    this.#input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#ask();
    });
    root.addEventListener('keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Escape') chat.stop();
    });
  }

  focus(options?: FocusOptions): void {
    this.#input.focus(options);
  }

  setPlaceholder(text: string): void {
    this.#input.placeholder = text;
  }

  /** Shows the state; while an answer streams, at most once per frame. */
  show(state: ChatState): void {
    this.#isBehind = this.#frame !== undefined && state.isAnswering;
    if (this.#isBehind) return;
    this.#showNow(state);
    if (!state.isAnswering) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = undefined;
      if (this.#isBehind) this.show(this.#chat.getState());
    });
  }

  #showNow({ model, isLoading, progress, isAnswering, error, messages }: ChatState): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const isAtEnd = this.#log.scrollHeight - this.#log.scrollTop - this.#log.clientHeight < 8;
    for (const { element } of this.#shown.splice(messages.length)) element.remove();
    messages.forEach((message, i) => {
      this.#showMessage(message, i);
    });
    if (isAtEnd) this.#log.scrollTop = this.#log.scrollHeight;
    // Screen readers wait for the whole answer.
    this.#log.setAttribute('aria-busy', String(isAnswering));
    this.#progress.hidden = !isLoading;
    if (progress?.total) this.#progress.value = progress.loaded / progress.total;
    else this.#progress.removeAttribute('value');
    const hint = 'No model yet. Set the attribute "model" to the address of one.';
    setText(this.#status, isLoading ? 'Loading the model' : model || error ? '' : hint);
    setText(this.#error, error?.message ?? '');
    this.#send.disabled = !model;
    this.#send.hidden = isAnswering;
    this.#stop.hidden = !isAnswering;
  }

  async #ask(): Promise<void> {
    const { model, isAnswering } = this.#chat.getState();
    const question = this.#input.value.trim();
    if (!model || isAnswering || question === '') return;
    this.#input.value = '';
    const answer = await this.#chat.ask(question);
    // It can be asked again, unless another one has been typed.
    if (!answer && this.#chat.getState().model) this.#input.value ||= question;
  }

  #showMessage(message: ChatMessage, i: number): void {
    const shown = this.#shown[i];
    if (shown?.message === message) return;
    if (shown?.markdown && message.role === 'assistant') {
      shown.message = message;
      showAnswer(shown, message);
      return;
    }
    const next = shownMessage(message);
    if (shown) shown.element.replaceWith(next.element);
    else this.#log.append(next.element);
    this.#shown[i] = next;
  }
}

function shownMessage(message: ChatMessage): Shown {
  const { role } = message;
  const element = make('div', `message ${role}`);
  const speaker = make('span', 'speaker');
  speaker.textContent = `${speakers[role] ?? role}: `;
  element.append(speaker);
  if (role !== 'assistant') {
    element.append(textOf(message));
    return { message, element };
  }
  const thought = make('div', 'thought');
  const content = make('div', 'content');
  element.append(thought, content);
  const shown = { message, element, thought, markdown: new MarkdownView(content) };
  showAnswer(shown, message);
  return shown;
}

function showAnswer({ thought, markdown }: Shown, message: ChatMessage): void {
  if (thought) {
    setText(thought, message.reasoning_content ?? '');
    thought.hidden = !message.reasoning_content;
  }
  markdown?.update(textOf(message));
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '🖼')).join('');
}

function slottedButton(name: string, words: string): HTMLButtonElement {
  const button = make('button', `button ${name}`);
  const slot = document.createElement('slot');
  slot.name = name;
  slot.textContent = words;
  button.append(slot);
  return button;
}

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  part: string,
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  element.setAttribute('part', part);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** An element with a live role is read again when its text is set, even to the same. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
