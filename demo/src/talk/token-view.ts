// The answer as tokens: the less probable a token was, the brighter it is. A click on a token shows
// its alternatives.
import type { Piece, TokenLogprob } from 'kinglet';
import { h } from '../ui/dom.ts';
import { percent } from '../ui/format.ts';

/** What a row of the list shows. */
type Row = Omit<TokenLogprob, 'bytes'>;

export class TokenView {
  readonly element = h('span', {
    ...{ class: 'tokens', role: 'group', 'aria-label': 'The answer, token by token' },
    onkeydown: (event: KeyboardEvent) => {
      this.#onKey(event);
    },
  });
  readonly #onChoice: (index: number, piece: Piece) => unknown;
  #pieces: readonly Piece[] = [];
  #tokens: { frame: HTMLElement; button: HTMLElement }[] = [];
  #choices: HTMLElement | undefined;

  /** `onChoice` is called with a token that should replace the one at `index`. */
  constructor(onChoice: (index: number, piece: Piece) => unknown) {
    this.#onChoice = onChoice;
  }

  dispose(): void {
    this.#close();
  }

  update(pieces: readonly Piece[]): void {
    const differs = pieces.findIndex((piece, i) => piece !== this.#pieces[i]);
    const nSame = differs < 0 ? pieces.length : differs;
    if (nSame < this.#pieces.length) this.#close();
    for (const { frame } of this.#tokens.splice(nSame)) frame.remove();
    for (const piece of pieces.slice(nSame)) this.#append(piece);
    this.#pieces = [...pieces];
  }

  /** Spaces before a word, and line ends, stay outside of the clickable part. */
  #append(piece: Piece): void {
    const index = this.#tokens.length;
    const text = piece.text || (piece.reasoning ?? '');
    const [, space = '', word = '', end = ''] = /^( ?)(.*?)(\n*)$/s.exec(text) ?? [];
    // Not a button element: tokens are parts of a text, whose lines break only between words.
    const made = h(
      'span',
      {
        ...{ class: 'token', role: 'button', tabindex: index === 0 ? '0' : '-1' },
        'aria-expanded': 'false',
        title: piece.logprob === undefined ? undefined : percent(Math.exp(piece.logprob)),
        onclick: () => {
          this.#open(index);
        },
      },
      word === '' ? spelled(text) : spelled(word) + (end === '' ? '' : '↵'),
    );
    if (piece.logprob !== undefined) {
      made.style.setProperty('--surprise', (1 - Math.exp(piece.logprob)).toFixed(3));
    }
    const frame = h('span', {}, word === '' ? '' : space, made, end);
    this.#tokens.push({ frame, button: made });
    this.element.append(frame);
  }

  #open(index: number): void {
    const opener = this.#tokens[index]?.button;
    const piece = this.#pieces[index];
    const wasOpen = opener?.ariaExpanded === 'true';
    this.#close();
    if (!opener || !piece || wasOpen) return;
    this.#focus(index);
    opener.ariaExpanded = 'true';
    this.#choices = h(
      'div',
      { class: 'choices', role: 'group', 'aria-label': 'The likeliest tokens here' },
      ...rows(piece).map((row) => this.#row(index, piece, row)),
    );
    opener.after(this.#choices);
    this.#place(this.#choices, opener);
    document.addEventListener('pointerdown', this.#onOutside);
  }

  readonly #onOutside = ({ target }: Event) => {
    if (!(target instanceof Node) || !this.element.contains(target)) this.#close();
  };

  #row(index: number, piece: Piece, { token, text, logprob }: Row): HTMLElement {
    const isWritten = token === piece.token;
    // A control token ends the text, and a token that is part of a character cannot be continued.
    const canFollow = text !== '' && !text.includes('\ufffd');
    const share = Math.exp(logprob);
    const bar = h('span', { class: 'share' });
    bar.style.setProperty('--share', share.toFixed(4));
    return h(
      'button',
      {
        ...{ type: 'button', class: 'choice', disabled: isWritten || !canFollow },
        'aria-current': isWritten && 'true',
        onclick: () => {
          this.#close();
          void this.#onChoice(index, { token, text, logprob, top: piece.top ?? [] });
        },
      },
      h('span', { class: 'choice-text' }, text === '' ? 'end of text' : spelled(text)),
      bar,
      h('span', { class: 'choice-share' }, percent(share)),
    );
  }

  /** Places the choices below the token, within the answer's width. */
  #place(choices: HTMLElement, opener: HTMLElement): void {
    const room = (choices.offsetParent?.clientWidth ?? 0) - choices.offsetWidth;
    choices.style.left = `${String(Math.max(0, Math.min(opener.offsetLeft, room)))}px`;
    choices.style.top = `${String(opener.offsetTop + opener.offsetHeight + 4)}px`;
    choices.scrollIntoView({ block: 'nearest' });
  }

  #close(): void {
    document.removeEventListener('pointerdown', this.#onOutside);
    this.#choices?.remove();
    this.#choices = undefined;
    for (const { button } of this.#tokens) button.ariaExpanded = 'false';
  }

  /** All tokens are one stop for the tab key; the arrow keys move from token to token. */
  #onKey(event: KeyboardEvent): void {
    const at = this.#tokens.findIndex(({ button }) => button === document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === 'Escape' && this.#choices) {
      this.#tokens.find(({ button }) => button.ariaExpanded === 'true')?.button.focus();
      this.#close();
    } else if (step !== undefined && at >= 0) {
      this.#close();
      this.#focus(Math.max(0, Math.min(this.#tokens.length - 1, at + step)));
    } else if (['Enter', ' '].includes(event.key) && at >= 0) {
      this.#open(at);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #focus(index: number): void {
    for (const [i, { button }] of this.#tokens.entries()) button.tabIndex = i === index ? 0 : -1;
    this.#tokens[index]?.button.focus();
  }
}

/** The most probable tokens, and the written token if it is not among them. */
function rows({ token, text, logprob = -Infinity, top = [] }: Piece): Row[] {
  const isAmong = top.some((candidate) => candidate.token === token);
  return isAmong ? top : [...top, { token, text, logprob }];
}

/** The text with symbols for characters that cannot be seen. */
export function spelled(text: string): string {
  if (text === '') return '∅';
  return text
    .replaceAll('\n', '↵')
    .replaceAll('\t', '⇥')
    .replace(/^ +$/, (s) => '␣'.repeat(s.length));
}
