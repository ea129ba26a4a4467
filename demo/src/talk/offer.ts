// What the page offers to load: the model of the last visit, or for new visitors a chat model.
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { useModel } from '../actions.ts';
import { firstChatModels } from '../catalogue.ts';
import { keptModel } from '../models/kept.ts';
import { firstFor, memoryNeeded, thisMachine } from '../models/machine.ts';
import { openPanel } from '../panels/panels.ts';
import { server } from '../server/server.ts';
import type { RememberedModel } from '../storage/remembered.ts';
import { h } from '../ui/dom.ts';
import { drawn } from '../ui/drawn.ts';
import { bytes } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';
import { embedded, loading, opened } from '../workspace.ts';
import { exchanges, running } from './conversation.ts';

interface Last extends RememberedModel {
  /** The size of the model on this device; undefined if it must be downloaded again. */
  keptBytes: number | undefined;
}

const last = new Observable<Last | undefined>(undefined);

/** Offers to load the model again. It may be large, so the page does not load it by itself. */
export async function offerAgain(model: RememberedModel): Promise<void> {
  const kept = model.source === undefined ? undefined : await keptModel(model.source);
  last.value = { ...model, keptBytes: kept?.bytes };
}

export const offerView = drawn(h('div', { class: 'offer' }), offer, [
  ...[last, opened, server, loading, exchanges, running],
]);

function offer(): TemplateResult {
  if (loading.value || running.value || server.value) return html``;
  if (!opened.value) return last.value ? again(last.value) : html``;
  const isNew = exchanges.value.every(({ isSample }) => isSample);
  return isNew && opened.value.choice.source === embedded.source ? toChat() : html``;
}

function again({ name, source, keptBytes }: Last): TemplateResult {
  const where =
    source === undefined
      ? 'It was a file of yours, which this page cannot open by itself.'
      : keptBytes === undefined
        ? 'It has to be downloaded again.'
        : `It is still on this device, ${bytes(keptBytes)}.`;
  return html`<p>Last time you used <strong>${name}</strong>. ${where}</p>
    <div class="row">
      ${
        source === undefined
          ? html`<button type="button" class="button" @click=${showModels}>Open the file</button>`
          : loadButton(name, source)
      }
      <button type="button" class="button quiet" @click=${() => useModel(embedded)}>
        The small story model
      </button>
      <button type="button" class="button quiet" @click=${showModels}>Other models</button>
    </div>`;
}

/** Offers a chat model, and says how large its download is and how much memory it needs. */
function toChat(): TemplateResult {
  const model = firstFor(firstChatModels, thisMachine());
  if (!model) return html``;
  const { name, address, bytes: size } = model;
  return html`<p>
      This small model only tells stories. To <strong>chat</strong>, load ${name}: a download of
      ${bytes(size)}, once, and about ${bytes(memoryNeeded(model))} of memory while you use it.
    </p>
    <div class="row">
      ${loadButton(name, address)}
      <button type="button" class="button quiet" @click=${showModels}>Other models</button>
    </div>`;
}

function loadButton(name: string, source: string): TemplateResult {
  return html`<button type="button" class="button" @click=${() => useModel({ name, source })}>
    Load ${name}
  </button>`;
}

function showModels(): void {
  openPanel('models');
}
