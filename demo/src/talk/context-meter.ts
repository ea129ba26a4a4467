// How much of the context the text on the page takes.
import { byId } from '../ui/dom.ts';
import { count } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import { exchanges, running } from './conversation.ts';

const place = byId('context', HTMLElement);
const bar = byId('context-bar', HTMLElement);
const text = byId('context-text', HTMLElement);

export function showContextMeter(): void {
  const changed = () => void update();
  for (const cause of [opened, running, exchanges]) cause.subscribe(changed);
}

async function update(): Promise<void> {
  const { value: model } = opened;
  place.hidden = !canWrite(model);
  if (!canWrite(model) || running.value) return;
  const { session } = model;
  const isEmpty = exchanges.value.length === 0;
  const nUsed = isEmpty ? 0 : await session.nPositions().catch(() => 0);
  if (opened.value !== model) return; // a later call shows the current state
  const { nCtx } = session.info;
  const words = `${count(nUsed)} of ${count(nCtx)} tokens of context used`;
  text.textContent = words;
  bar.style.setProperty('--share', (nUsed / nCtx).toFixed(3));
  bar.setAttribute('aria-valuenow', String(nUsed));
  bar.setAttribute('aria-valuemax', String(nCtx));
  bar.setAttribute('aria-valuetext', words);
}
