// The list of exchanges. Its end stays in view unless the reader has scrolled up.
import { button, byId, h } from '../ui/dom.ts';
import { canWrite, opened } from '../workspace.ts';
import { exchanges, send } from './conversation.ts';
import type { Mode } from './conversation-store.ts';
import type { Exchange } from './exchange.ts';
import { ExchangeView } from './exchange-view.ts';
import { offerView } from './offer.ts';
import { vocabularyView } from './vocabulary-view.ts';
import { writer } from './writer.ts';

const list = byId('transcript', HTMLElement);
const views = new Map<Exchange, ExchangeView>();
const nearEnd = 40;
let followsEnd = true;

export function showTranscript(): void {
  list.addEventListener('scroll', () => {
    followsEnd = list.scrollHeight - list.scrollTop - list.clientHeight < nearEnd;
  });
  new ResizeObserver(scrollToEnd).observe(offerView);
  exchanges.subscribe(update);
  writer.subscribe(() => {
    update(exchanges.value);
  });
}

function update(current: readonly Exchange[]): void {
  for (const [exchange, view] of views) {
    if (current.includes(exchange)) continue;
    view.dispose();
    views.delete(exchange);
  }
  for (const exchange of current) {
    if (views.has(exchange)) continue;
    const view = new ExchangeView(exchange, scrollToEnd);
    views.set(exchange, view);
    list.append(view.element);
    followsEnd = true;
  }
  const model = opened.value;
  for (const welcome of [toWrite, toChat]) welcome.remove();
  vocabularyView.remove();
  if (model && !canWrite(model)) list.append(vocabularyView);
  else if (current.length === 0 && writer.value) {
    list.append(writer.value.canChat ? toChat : toWrite);
  }
  list.append(offerView); // at the end
}

function scrollToEnd(): void {
  if (followsEnd) list.scrollTop = list.scrollHeight;
}

const toChat = welcome('chat', 'Ask something, or begin with one of these.', [
  'Explain why the sky is blue, in three sentences.',
  'Write a haiku about a small bird.',
  'Plan a rainy Sunday, as a list.',
]);

const toWrite = welcome('write', 'Begin a text, or choose a beginning.', [
  'Once upon a time, there was a little fox',
  'One day, Tom found a shiny key',
  'Lily and her dog went to the park',
]);

/** Fills an empty conversation with prompts to begin with. */
function welcome(mode: Mode, invitation: string, prompts: readonly string[]): HTMLElement {
  const buttons = prompts.map((text) => button(text, () => void send(mode, text)));
  return h(
    'div',
    { class: 'welcome' },
    h('p', {}, invitation),
    h('div', { class: 'row' }, ...buttons),
  );
}
