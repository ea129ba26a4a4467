// Choosing a model: known ones, an address, a file.
import { ModelCache } from 'kinglet';
import type { CachedFile } from 'kinglet';
import { showAlert, useModel } from '../actions.ts';
import { hubPage, knownModels } from '../catalogue.ts';
import type { KnownModel } from '../catalogue.ts';
import { button, h } from '../ui/dom.ts';
import { bytes } from '../ui/format.ts';
import { embedded, loading } from '../workspace.ts';
import { closePanel } from './panels.ts';
import type { Panel } from './panels.ts';

export const modelsPanel: Panel = {
  title: 'Models',
  create: () =>
    h(
      'div',
      { class: 'models' },
      fileSection(),
      addressSection(),
      keptSection(),
      h('h3', {}, 'Small models'),
      h('ul', { class: 'cards' }, embeddedCard(), ...knownModels.map(knownCard)),
    ),
};

function open(name: string, source: string | URL | File): void {
  closePanel();
  void useModel({ name, source });
}

function embeddedCard(): HTMLElement {
  return card(embedded.name, 'Very short stories; comes with this page', '3.1 MB · MIT', () => {
    open(embedded.name, embedded.source);
  });
}

function knownCard(model: KnownModel): HTMLElement {
  const { name, about, licence, address } = model;
  const made = card(name, about, `${bytes(model.bytes)} · ${licence}`, () => {
    open(name, address);
  });
  made.append(
    h('a', { href: hubPage(model), target: '_blank', rel: 'noopener', class: 'address' }, address),
  );
  return made;
}

function card(name: string, about: string, facts: string, onOpen: () => void): HTMLElement {
  return h(
    'li',
    { class: 'card' },
    h(
      'div',
      {},
      h('strong', {}, name),
      about && h('p', {}, about),
      h('p', { class: 'soft' }, facts),
    ),
    button('Load', onOpen, { 'aria-label': `Load ${name}` }),
  );
}

/** The models that earlier downloads left on this device, where there are any. */
function keptSection(): HTMLElement {
  const list = h('ul', { class: 'cards' });
  const title = h('h3', {});
  const section = h('div', { id: 'kept', hidden: true }, title, list);
  const cache = new ModelCache();

  async function update(): Promise<void> {
    const files = await cache.list();
    const total = files.reduce((sum, file) => sum + file.bytes, 0);
    title.textContent = `On this device, ${bytes(total)}`;
    list.replaceChildren(...files.map((file) => keptCard(file, remove)));
    section.hidden = files.length === 0;
  }

  async function remove({ url }: CachedFile): Promise<void> {
    try {
      await cache.delete(url);
    } catch (error) {
      showAlert('The model could not be deleted', error);
    }
    await update();
  }

  loading.subscribe((state) => {
    if (!state) void update();
  });
  return section;
}

function keptCard(file: CachedFile, remove: (file: CachedFile) => Promise<void>): HTMLElement {
  const { url, isComplete, savedAt } = file;
  const name = fileName(url);
  const known = knownModels.find(({ address }) => address.endsWith(`/${name}`))?.name ?? name;
  const state = isComplete ? savedAt.toLocaleDateString() : 'begun';
  const made = card(known, '', `${bytes(file.bytes)} · ${state}`, () => {
    open(known, url);
  });
  made.append(button('Delete', () => remove(file), { 'aria-label': `Delete ${known}` }));
  return made;
}

function fileName(url: string): string {
  const name = new URL(url).pathname.split('/').at(-1) ?? url;
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a "%" that encodes nothing
  }
}

function fileSection(): HTMLElement {
  const input = h('input', {
    type: 'file',
    id: 'file',
    accept: '.gguf',
    class: 'visually-hidden',
    onchange: () => {
      const file = input.files?.[0];
      input.value = ''; // so that the same file can be picked again
      if (file) open(file.name, file);
    },
  });
  return h(
    'p',
    { class: 'pick' },
    input,
    h('label', { for: 'file', class: 'button' }, 'Open a .gguf file'),
    h('span', { class: 'soft' }, 'or drop one anywhere on the page'),
  );
}

function addressSection(): HTMLElement {
  const input = h('input', {
    ...{ type: 'text', id: 'address', required: true, spellcheck: 'false' },
    placeholder: 'https://… or hf:owner/repo/file',
  });
  return h(
    'form',
    {
      class: 'address-form',
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        const address = input.value.trim();
        open(address.split('/').at(-1) ?? address, address);
      },
    },
    h('label', { for: 'address' }, 'Address'),
    h('div', { class: 'row' }, input, h('button', { class: 'button quiet' }, 'Load')),
  );
}
