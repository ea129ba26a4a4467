// Choosing a model: known models, downloaded models, a file, or an address.
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { useFiles, useModel } from '../actions.ts';
import { showAlert } from '../alert.ts';
import { chatModels, pictureModels, storyModels } from 'kinglet/catalogue';
import type { ChatModel, HubModel, PictureModel } from 'kinglet/catalogue';
import { writingModels } from '../catalogue.ts';
import { deleteKept, fileName, keptModels } from '../models/kept.ts';
import type { KeptModel } from '../models/kept.ts';
import { hintFor, memoryNeeded, thisMachine } from '../models/machine.ts';
import { modelCard } from '../models/model-card.ts';
import { isReaderName } from '../models/reader-file.ts';
import { h } from '../ui/dom.ts';
import { drawn } from '../ui/drawn.ts';
import { bytes } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';
import { online } from '../ui/online.ts';
import { addressOf, embedded, loading, opened } from '../workspace.ts';
import type { ModelChoice } from '../workspace.ts';
import { closePanel } from './panels.ts';
import type { Panel } from './panels.ts';

export const modelsPanel: Panel = {
  title: 'Models',
  create: () => {
    loading.subscribe((state) => {
      if (!state) void readKept();
    });
    return drawn(h('div', { class: 'models' }), models, [opened, kept, online]);
  },
};

const offlineNote = html`<p class="hint">
  This device is offline: only your own files and the models on this device will open.
</p>`;

/** The models that earlier downloads left on this device. */
const kept = new Observable<readonly KeptModel[]>([]);

function models(): TemplateResult {
  return html`
    ${online.value ? nothing : offlineNote}
    <h3>Your own</h3>
    ${fileForm()} ${addressForm()} ${kept.value.length > 0 ? keptSection(kept.value) : nothing}
    <h3>To chat with</h3>
    <ul class="cards">
      ${chatModels.map((model) => chatCard(model, bytes(model.bytes)))}
    </ul>
    <h3>To ask about pictures</h3>
    <ul class="cards">
      ${pictureModels.map(seeingCard)}
    </ul>
    <h3>To tell stories</h3>
    <ul class="cards">
      ${embeddedCard()} ${storyModels.map(storyCard)}
    </ul>
  `;
}

function open(name: string, source: ModelChoice['source']): void {
  closePanel();
  void useModel({ name, source });
}

function isOpen(source: string): boolean {
  return opened.value !== undefined && addressOf(opened.value.choice.source) === source;
}

function embeddedCard(): TemplateResult {
  const { name, source } = embedded;
  return modelCard({
    ...{ name, about: 'Very short stories; comes with this page', facts: '3.1 MB · MIT' },
    isOpen: opened.value?.choice.source === source,
    onLoad: () => {
      open(name, source);
    },
  });
}

function storyCard({ name, about, bytes: size, licence, address }: HubModel): TemplateResult {
  return modelCard({
    ...{ name, about, address, isOpen: isOpen(address) },
    facts: `${bytes(size)} · ${licence}`,
    onLoad: () => {
      open(name, address);
    },
  });
}

function seeingCard(model: PictureModel): TemplateResult {
  const { bytes: total, mmproj } = model;
  return chatCard(model, `${bytes(total)}, ${bytes(mmproj.bytes)} of it to see`);
}

function chatCard(model: ChatModel, size: string): TemplateResult {
  const { name, about, licence, address } = model;
  const memory = `about ${bytes(memoryNeeded(model))} of memory`;
  return modelCard({
    ...{ name, about, address, isOpen: isOpen(address) },
    facts: [size, memory, licence].join(' · '),
    hint: hintFor(model, thisMachine()),
    onLoad: () => {
      open(name, address);
    },
  });
}

function keptSection(found: readonly KeptModel[]): TemplateResult {
  const total = found.reduce((sum, model) => sum + model.bytes, 0);
  return html`<div id="kept">
    <h3>On this device, ${bytes(total)}</h3>
    <ul class="cards">
      ${found.map(keptCard)}
    </ul>
  </div>`;
}

function keptCard(model: KeptModel): TemplateResult {
  const { url, isComplete, savedAt } = model;
  const found = fileName(url);
  const known = writingModels.find(({ address }) => fileName(address) === found);
  const name = known?.name ?? found;
  const isModel = !isReaderName(found); // others are loaded with the model that they belong to
  const state = isComplete ? savedAt.toLocaleDateString() : 'downloaded in part';
  return modelCard({
    ...{ name, facts: `${bytes(model.bytes)} · ${isModel ? '' : 'reads pictures · '}${state}` },
    isOpen: isOpen(url) || (known !== undefined && isOpen(known.address)),
    onLoad: isModel
      ? () => {
          open(name, known?.address ?? url);
        }
      : undefined,
    onDelete: () => remove(model),
  });
}

async function readKept(): Promise<void> {
  kept.value = await keptModels().catch(() => []);
}

async function remove(model: KeptModel): Promise<void> {
  try {
    await deleteKept(model);
  } catch (error) {
    showAlert('The model could not be deleted', error);
  }
  await readKept();
}

function fileForm(): TemplateResult {
  const onChange = ({ target }: Event) => {
    const input = target as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = ''; // so that the same file can be picked again
    if (files.length === 0) return;
    closePanel();
    void useFiles(files);
  };
  return html`<p class="pick">
    <input
      type="file"
      id="file"
      accept=".gguf"
      multiple
      class="visually-hidden"
      @change=${onChange}
    />
    <label for="file" class="button">Open a .gguf file</label>
    <span class="soft">
      or drop one anywhere on the page. With its mmproj file, together or afterwards, it reads
      pictures.
    </span>
  </p>`;
}

function addressForm(): TemplateResult {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const address = (event.target as HTMLElement).querySelector('input')?.value.trim() ?? '';
    open(address.split('/').at(-1) ?? address, address);
  };
  return html`<form class="address-form" @submit=${onSubmit}>
    <label for="address">Address</label>
    <div class="row">
      <input
        type="text"
        id="address"
        required
        spellcheck="false"
        placeholder="https://… or hf:owner/repo/file"
      />
      <button class="button quiet">Load</button>
    </div>
  </form>`;
}
