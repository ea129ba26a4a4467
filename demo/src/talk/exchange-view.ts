// How an exchange looks: the prompt, the answer as it grows, and what can be done with it.
import { button, h, oncePerFrame } from '../ui/dom.ts';
import { rate } from '../ui/format.ts';
import { branch, goOn, resend } from './conversation.ts';
import type { Exchange } from './exchange.ts';
import { MarkdownView } from './markdown.ts';
import { TokenView } from './token-view.ts';

export class ExchangeView {
  readonly element: HTMLElement;
  readonly #exchange: Exchange;
  readonly #onGrowth: () => void;
  readonly #prompt: HTMLElement;
  readonly #thoughts: HTMLDetailsElement;
  readonly #answer: HTMLElement;
  readonly #tokens: TokenView;
  readonly #actions: HTMLElement;
  readonly #note: HTMLElement;
  readonly #unsubscribe: () => void;
  /** Draws the answer's text. */
  #showText: (text: string) => void;

  /** `onGrowth` is called when the text on the page has grown. */
  constructor(exchange: Exchange, onGrowth: () => void) {
    this.#exchange = exchange;
    this.#onGrowth = onGrowth;
    const isChat = exchange.mode === 'chat';
    this.#prompt = h(isChat ? 'div' : 'span', { class: 'prompt-text' });
    this.#answer = h(isChat ? 'div' : 'span', { class: isChat ? 'answer markdown' : 'answer' });
    this.#showText = textPainter(this.#answer, isChat);
    this.#thoughts = h(
      'details',
      { class: 'thoughts', hidden: true },
      h('summary', {}, 'Thoughts'),
      h('p', {}),
    );
    this.#tokens = new TokenView((index, piece) => branch(exchange, index, piece));
    this.#tokens.element.hidden = true;
    this.#note = h('span', { class: 'note' });
    this.#actions = h('div', { class: 'actions' });
    const body = isChat
      ? [this.#prompt, this.#thoughts, this.#answer, this.#tokens.element]
      : [h('p', { class: 'written' }, this.#prompt, this.#answer, this.#tokens.element)];
    this.element = h(
      'article',
      { class: `exchange ${exchange.mode}`, 'aria-label': isChat ? 'Question and answer' : 'Text' },
      ...body,
      h('div', { class: 'exchange-foot' }, this.#actions, this.#note),
    );
    this.#addActions();
    this.#unsubscribe = exchange.updates.subscribe(
      oncePerFrame(() => {
        this.#paint();
      }),
    );
  }

  dispose(): void {
    this.#unsubscribe();
    this.#tokens.dispose();
    this.element.remove();
  }

  #addActions(): void {
    const exchange = this.#exchange;
    const isChat = exchange.mode === 'chat';
    const action = (text: string, run: () => unknown) => {
      const made = button(text, run, { class: 'button quiet action' });
      this.#actions.append(made);
      return made;
    };
    action('Regenerate', () => resend(exchange));
    if (!isChat) action('Go on', () => goOn(exchange));
    action('Edit', () => {
      this.#edit();
    });
    const tokens = action('Tokens', () => {
      this.#showTokens(tokens.ariaPressed !== 'true');
      tokens.ariaPressed = String(!this.#tokens.element.hidden);
    });
    tokens.ariaPressed = 'false';
    const copy = action('Copy', async () => {
      await navigator.clipboard.writeText(isChat ? exchange.text : exchange.prompt + exchange.text);
      copy.textContent = 'Copied';
      setTimeout(() => (copy.textContent = 'Copy'), 1500);
    });
  }

  #paint(): void {
    const { state, prompt, text, result, error } = this.#exchange;
    const { isRunning } = this.#exchange;
    this.#prompt.textContent = prompt;
    this.element.ariaBusy = String(isRunning);
    this.element.dataset.state = state;
    this.#showThoughts();
    this.#showText(text);
    if (!this.#tokens.element.hidden) this.#tokens.update(this.#exchange.pieces);
    for (const action of this.#actions.querySelectorAll('button')) action.disabled = isRunning;
    this.#note.classList.toggle('wrong', state === 'failed');
    if (state === 'failed') this.#note.textContent = error;
    else if (state === 'stopped') this.#note.textContent = 'Stopped';
    else if (result) this.#note.textContent = summary(result);
    this.#onGrowth();
  }

  #showThoughts(): void {
    const { reasoning, text, isRunning } = this.#exchange;
    const [summary, body] = this.#thoughts.children;
    this.#thoughts.hidden = reasoning === '';
    if (summary) summary.textContent = isRunning && text === '' ? 'Thinking …' : 'Thoughts';
    if (body) body.textContent = reasoning;
  }

  /** In place of the text, or the text again. */
  #showTokens(areShown: boolean): void {
    this.#answer.hidden = areShown;
    this.#tokens.element.hidden = !areShown;
    if (areShown) this.#tokens.update(this.#exchange.pieces);
  }

  /** Puts the prompt into a field in its place. */
  #edit(): void {
    const field = h('textarea', { 'aria-label': 'Edit the prompt', rows: '3' });
    field.value = this.#exchange.prompt;
    const close = () => {
      form.replaceWith(this.#prompt);
    };
    const form = h(
      'form',
      {
        class: 'edit',
        onsubmit: (event: SubmitEvent) => {
          event.preventDefault();
          close();
          void resend(this.#exchange, field.value);
        },
        onkeydown: (event: KeyboardEvent) => {
          if (event.key === 'Escape') close();
          else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            form.requestSubmit();
          } else return;
          event.stopPropagation();
        },
      },
      field,
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'button', type: 'submit' }, 'Send'),
        button('Cancel', close),
      ),
    );
    this.#prompt.replaceWith(form);
    field.focus();
  }
}

/**
 * Plain text stays one node: as nodes of their own, the parts of a word would jump when it is
 * wrapped.
 */
function textPainter(answer: HTMLElement, isMarkdown: boolean): (text: string) => void {
  if (isMarkdown) {
    const view = new MarkdownView(answer);
    return (text) => {
      view.update(text);
    };
  }
  const node = document.createTextNode('');
  answer.append(node);
  return (text) => {
    if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
    else node.data = text;
  };
}

function summary({ usage, timings, finishReason }: NonNullable<Exchange['result']>): string {
  const speed = `${String(usage.completionTokens)} tokens, ${rate(timings.tokensPerSecond)} a second`;
  if (finishReason === 'length') return `${speed} · length reached`;
  if (finishReason === 'context') return `${speed} · context full`;
  return speed;
}
