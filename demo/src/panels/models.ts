// Choosing a model: known ones, an address, a file.
import { useModel } from '../actions.ts';
import { hubPage, knownModels } from '../catalogue.ts';
import type { KnownModel } from '../catalogue.ts';
import { button, h } from '../ui/dom.ts';
import { bytes } from '../ui/format.ts';
import { embedded } from '../workspace.ts';
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
    h(
      'a',
      { href: hubPage(model), target: '_blank', rel: 'noopener', class: 'address' },
      address,
    ),
  );
  return made;
}

function card(name: string, about: string, facts: string, onOpen: () => void): HTMLElement {
  return h(
    'li',
    { class: 'card' },
    h('div', {}, h('strong', {}, name), h('p', {}, about), h('p', { class: 'soft' }, facts)),
    button('Load', onOpen, { 'aria-label': `Load ${name}` }),
  );
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
    placeholder: 'https://… or hf:owner/repo/file.gguf',
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
