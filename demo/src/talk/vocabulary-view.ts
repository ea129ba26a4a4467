// The view in place of the texts if a file has only a vocabulary: what the page can do with it, and
// the tokens of the typed text.
import type { Kinglet } from 'kinglet';
import { byId, h } from '../ui/dom.ts';
import { count } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import { spelled } from './token-view.ts';

const prompt = byId('prompt', HTMLTextAreaElement);
/** More tokens would not help a reader. */
const maxShown = 500;

const total = h('p', { class: 'soft', role: 'status' });
const list = h('ol', { class: 'split' });

export const vocabularyView = h(
  'div',
  { class: 'vocabulary' },
  h(
    'p',
    {},
    'This file contains only a vocabulary and no weights, so it cannot write. Inspect shows what ' +
      'is in the file, and a text that you type below is shown here as its tokens.',
  ),
  total,
  list,
);

prompt.addEventListener('input', () => void update());
opened.subscribe(() => void update());

async function update(): Promise<void> {
  const model = opened.value;
  if (!model || canWrite(model)) return;
  const { kinglet } = model;
  const text = prompt.value;
  const tokens = await kinglet.tokenize(text, { addBos: false });
  const made = await Promise.all(tokens.slice(0, maxShown).map((token) => item(kinglet, token)));
  if (prompt.value !== text || opened.value !== model) return; // a later call shows the new state
  total.textContent = text === '' ? '' : `${count(tokens.length)} tokens`;
  list.replaceChildren(...made);
}

async function item(kinglet: Kinglet, token: number): Promise<HTMLElement> {
  const text = spelled(await kinglet.detokenize([token], { special: true }));
  // A token that is only part of a character has no text of its own.
  return h(
    'li',
    {},
    text.replace(/[\p{Cc}\ufffd]+/gu, '\ufffd'),
    h('span', { class: 'soft' }, String(token)),
  );
}
