// The view of an exchange: the prompt, the growing answer, and the actions on them.
import { pictureList } from '../pictures/thumbnail.ts';
import { button, h, oncePerFrame } from '../ui/dom.ts';
import { rate } from '../ui/format.ts';
import { branch, goOn, resend } from './conversation.ts';
import type { Ending, Exchange } from './exchange.ts';
import { MarkdownView } from 'kinglet/markdown';
import { TokenView } from './token-view.ts';
import { writer } from './writer.ts';

export class ExchangeView {
  readonly element: HTMLElement;
  readonly #exchange: Exchange;
  readonly #onGrowth: () => void;
  readonly #prompt: HTMLElement;
  readonly #looking: HTMLElement;
  readonly #thoughts: HTMLDetailsElement;
  readonly #answer: HTMLElement;
  readonly #tokens: TokenView;
  readonly #actions: HTMLElement;
  /** The actions that need a model. */
  readonly #writers: HTMLButtonElement[] = [];
  #goOn: HTMLButtonElement | undefined;
  #tokensButton: HTMLButtonElement | undefined;
  readonly #note: HTMLElement;
  readonly #unsubscribe: (() => void)[];
  /** Draws the answer's text. */
  #showText: (text: string) => void;

  /** `onGrowth` is called when the text on the page has grown. */
  constructor(exchange: Exchange, onGrowth: () => void) {
    this.#exchange = exchange;
    this.#onGrowth = onGrowth;
    const isChat = exchange.mode === 'chat';
    this.#prompt = h(isChat ? 'div' : 'span', { class: 'prompt-text' });
    this.#looking = h('p', { class: 'soft looking' });
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
      ? [this.#prompt, this.#looking, this.#thoughts, this.#answer, this.#tokens.element]
      : [h('p', { class: 'written' }, this.#prompt, this.#answer, this.#tokens.element)];
    this.element = h(
      'article',
      { class: `exchange ${exchange.mode}`, 'aria-label': isChat ? 'Question and answer' : 'Text' },
      pictureList(exchange.pictures),
      ...body,
      h('div', { class: 'exchange-foot' }, this.#actions, this.#note),
    );
    this.#addActions();
    const paint = oncePerFrame(() => {
      this.#paint();
    });
    this.#unsubscribe = [exchange.updates.subscribe(paint), writer.subscribe(paint)];
  }

  dispose(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
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
    this.#writers.push(action('Regenerate', () => resend(exchange)));
    this.#goOn = action('Go on', () => goOn(exchange));
    this.#writers.push(this.#goOn);
    this.#writers.push(
      action('Edit', () => {
        this.#edit();
      }),
    );
    const tokens = action('Tokens', () => {
      this.#showTokens(tokens.ariaPressed !== 'true');
    });
    tokens.ariaPressed = 'false';
    this.#tokensButton = tokens;
    const copy = action('Copy', async () => {
      await navigator.clipboard.writeText(isChat ? exchange.text : exchange.prompt + exchange.text);
      copy.textContent = 'Copied';
      setTimeout(() => (copy.textContent = 'Copy'), 1500);
    });
  }

  #paint(): void {
    const { state, prompt, looking, text, result, error } = this.#exchange;
    const { isRunning, hasTokens } = this.#exchange;
    this.#prompt.textContent = prompt;
    this.element.ariaBusy = String(isRunning);
    this.element.dataset.state = state;
    this.#looking.textContent = looking;
    this.#showThoughts();
    this.#showText(text);
    if (!isRunning && !hasTokens) this.#showTokens(false);
    if (!this.#tokens.element.hidden) this.#tokens.update(this.#exchange.pieces);
    for (const action of this.#actions.querySelectorAll('button')) action.disabled = isRunning;
    if (this.#goOn) {
      const canGoOn = wasCutShort(result) && writer.value?.canGoOnInChats !== false;
      this.#goOn.hidden = this.#exchange.mode === 'chat' && !canGoOn;
    }
    for (const action of this.#writers) action.disabled ||= !writer.value;
    if (this.#tokensButton) this.#tokensButton.disabled ||= !hasTokens;
    this.#note.classList.toggle('wrong', state === 'failed');
    if (state === 'failed') this.#note.textContent = error;
    else if (state === 'stopped') this.#note.textContent = 'Stopped';
    else if (result) this.#note.textContent = summary(this.#exchange, result);
    this.#onGrowth();
  }

  #showThoughts(): void {
    const { reasoning, text, isRunning } = this.#exchange;
    const [summary, body] = this.#thoughts.children;
    this.#thoughts.hidden = reasoning === '';
    if (summary) summary.textContent = isRunning && text === '' ? 'Thinking …' : 'Thoughts';
    if (body) body.textContent = reasoning;
  }

  /** Shows the tokens in place of the text, or the text again. */
  #showTokens(areShown: boolean): void {
    this.#answer.hidden = areShown;
    this.#tokens.element.hidden = !areShown;
    if (this.#tokensButton) this.#tokensButton.ariaPressed = String(areShown);
    if (areShown) this.#tokens.update(this.#exchange.pieces);
  }

  /** Replaces the prompt by a field to edit it. */
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
 * Returns a function that draws the answer's text. Plain text stays one node: with several nodes,
 * the parts of a word would jump when it is wrapped.
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

/** Whether a limit ended the answer. An answer that ended otherwise is complete. */
function wasCutShort(result: Ending | undefined): boolean {
  return result?.finishReason === 'length' || result?.finishReason === 'context';
}

/** "60 tokens, 310 a second · length reached" */
function summary({ isCut }: Exchange, result: Ending): string {
  const { usage, timings, finishReason, dropped = 0 } = result;
  const nDropped = dropped / 2; // a question and its answer each
  const parts = [
    `${String(usage.completionTokens)} tokens, ${rate(timings.tokensPerSecond)} a second`,
  ];
  if (finishReason === 'length') parts.push('length reached');
  if (finishReason === 'context') parts.push('context full');
  if (nDropped === 1) parts.push('the oldest question no longer fits');
  if (nDropped > 1) parts.push(`the oldest ${String(nDropped)} questions no longer fit`);
  if (isCut) parts.push('the beginning no longer fits');
  return parts.join(' · ');
}
