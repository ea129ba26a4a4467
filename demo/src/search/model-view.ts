// The embedding model: its name and facts, the progress of its load, or the models to choose from.
import { html, render } from 'lit-html';
import { embeddingModels } from 'kinglet/catalogue';
import type { Loading } from '../loading.ts';
import { modelCard } from '../models/model-card.ts';
import { modelName } from '../models/own-files.ts';
import { button, h } from '../ui/dom.ts';
import { bytes, count } from '../ui/format.ts';
import { chooseModel, dropModel } from './desk.ts';
import { searchModel, searchModelLoading } from './search-model.ts';
import type { OpenSearchModel } from './search-model.ts';

export function modelView(): HTMLElement {
  const line = h('div', { id: 'search-model', class: 'line' });
  const loading = h('div', { id: 'search-loading', class: 'line', role: 'status' });
  const choices = choicesView();
  searchModel.subscribe((model) => {
    line.hidden = !model;
    choices.hidden = model !== undefined;
    if (model) line.replaceChildren(...describe(model));
  });
  loading.hidden = true;
  const bar = h('progress', { max: '1', 'aria-label': 'Loading the embedding model' });
  const text = h('span', {});
  const cancel = button('Cancel', () => searchModelLoading.value?.cancel());
  loading.append(bar, text, cancel);
  searchModelLoading.subscribe((state) => {
    loading.hidden = !state;
    if (state) showProgress(bar, text, state);
  });
  return h('section', {}, h('h3', {}, 'Embedding model'), line, loading, choices);
}

function describe({ name, kinglet, index }: OpenSearchModel): HTMLElement[] {
  const { dimensions, queryPrompt } = index.settings;
  const facts = [bytes(kinglet.info.memory.weightBytes), `${count(dimensions)} numbers a passage`];
  if (queryPrompt) facts.push(`queries begin with “${queryPrompt.trim().replace(/\s+/g, ' ')}”`);
  return [
    h('div', {}, h('strong', {}, name), h('p', { class: 'soft' }, facts.join(' · '))),
    button('Unload', () => dropModel(), { 'aria-label': `Unload ${name}` }),
  ];
}

function showProgress(
  bar: HTMLProgressElement,
  text: HTMLElement,
  { name, progress }: Loading,
): void {
  const { loaded = 0, total } = progress ?? {};
  if (total) bar.value = loaded / total;
  else bar.removeAttribute('value');
  text.textContent = total ? `${name} · ${bytes(loaded)} of ${bytes(total)}` : name;
}

function choicesView(): HTMLElement {
  const cards = embeddingModels.map(({ name, about, bytes: size, licence, address }) =>
    modelCard({
      ...{ name, about, address, facts: `about ${bytes(size)} · ${licence}` },
      onLoad: () => chooseModel({ name, source: address }),
    }),
  );
  const list = h('ul', { class: 'cards' });
  render(html`${cards}`, list);
  const input = h('input', {
    ...{ type: 'file', id: 'search-model-file', accept: '.gguf', class: 'visually-hidden' },
    onchange: () => {
      const file = input.files?.[0];
      input.value = ''; // so that the same file can be picked again
      if (file) void chooseModel({ name: modelName(file), source: file });
    },
  });
  return h(
    'div',
    { class: 'search-choices' },
    h(
      'p',
      {},
      'Searching by meaning needs a small model of its own, one that turns passages into numbers. It ' +
        'runs in this page, next to the model that you talk to: your texts stay on this device. When ' +
        'a model is loaded, the texts of earlier visits are listed again.',
    ),
    list,
    h(
      'p',
      { class: 'pick' },
      input,
      h('label', { for: 'search-model-file', class: 'button quiet' }, 'Open a .gguf file'),
      h('span', { class: 'soft' }, 'of any embedding model'),
    ),
  );
}
