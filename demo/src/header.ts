// The line at the top: the model in use, and the progress of a load.
import type { Loading } from './loading.ts';
import type { RemoteModel } from './server/remote-model.ts';
import { server } from './server/server.ts';
import { button, byId, h } from './ui/dom.ts';
import { bytes, compact, count, seconds } from './ui/format.ts';
import { loading, opened } from './workspace.ts';
import type { OpenModel } from './workspace.ts';

const name = byId('model-name', HTMLElement);
const facts = byId('model-facts', HTMLElement);
const strip = byId('loading', HTMLElement);

export function showHeader(): void {
  opened.subscribe((model) => {
    if (model) showModel(model);
  });
  server.subscribe((model) => {
    if (model) showRemote(model);
    else if (!opened.value) showNone();
  });
  const bar = h('progress', { max: '1', 'aria-label': 'Loading the model' });
  const text = h('span', { class: 'loading-text' });
  strip.append(
    bar,
    text,
    button('Cancel', () => {
      loading.value?.cancel();
    }),
  );
  loading.subscribe((state) => {
    strip.hidden = !state;
    if (!opened.value && !server.value) showNone();
    if (!state) return;
    const { loaded, total } = state.progress ?? {};
    if (loaded !== undefined && total) bar.value = loaded / total;
    else bar.removeAttribute('value');
    text.textContent = describe(state);
  });
}

function showNone(): void {
  name.textContent = loading.value ? 'Loading …' : 'No model loaded';
  facts.textContent = '\u00a0'; // keeps the height of the line
}

/** "SmolLM2 135M · 12.0 MB of 145 MB · 3.1 MB/s · 43 s left" */
function describe({ name: model, progress, bytesPerSecond }: Loading): string {
  if (!progress) return model;
  const { loaded, total, phase } = progress;
  if (phase === 'cache') return `${model} · from this device`;
  if (phase === 'prepare') return `${model} · getting ready`;
  const parts = [model, total ? `${bytes(loaded)} of ${bytes(total)}` : bytes(loaded)];
  if (bytesPerSecond) {
    parts.push(`${bytes(bytesPerSecond)}/s`);
    if (total) parts.push(`${seconds((total - loaded) / bytesPerSecond)} left`);
  }
  return parts.join(' · ');
}

function showModel({ name: model, kinglet, session }: OpenModel): void {
  const { info } = kinglet;
  name.textContent = model;
  facts.textContent = session
    ? [
        `${compact(info.nParameters)} parameters`,
        bytes(info.memory.weightBytes),
        `${count(session.info.nCtx)} tokens of context`,
        ...(info.images ? ['reads pictures'] : []),
      ].join(' · ')
    : `A vocabulary of ${count(info.nTokens)} tokens, without weights`;
}

function showRemote({ name: model, contextLength }: RemoteModel): void {
  name.textContent = model;
  facts.textContent = `on the server · ${count(contextLength)} tokens of context`;
}
