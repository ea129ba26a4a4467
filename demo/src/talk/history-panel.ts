// The list of conversations, where they are opened, renamed, exported and deleted.
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { showAlert } from '../alert.ts';
import { closePanel } from '../panels/panels.ts';
import type { Panel } from '../panels/panels.ts';
import { h } from '../ui/dom.ts';
import { drawn } from '../ui/drawn.ts';
import { Observable } from '../ui/observable.ts';
import { focusPrompt } from './composer.ts';
import { conversationId, startOver } from './conversation.ts';
import {
  areKept,
  conversations,
  deleteConversation,
  openConversation,
  renameConversation,
} from './conversation-list.ts';
import type { ConversationRecord } from './conversation-store.ts';
import { asJson, asMarkdown, saveFile } from './export.ts';

export const historyPanel: Panel = {
  title: 'Conversations',
  create: () =>
    drawn(h('div', { class: 'history' }), list, [
      ...[conversations, conversationId, areKept, renaming, deleted],
    ]),
};

/** The conversation whose name is being changed. */
const renaming = new Observable<string | undefined>(undefined);

interface Deleted {
  title: string;
  restore: () => Promise<void>;
}

const deleted = new Observable<Deleted | undefined>(undefined);

function list(): TemplateResult {
  const where = areKept.value
    ? 'Kept in this browser, and nowhere else.'
    : 'This browser keeps nothing for this page: they are here as long as the page is open.';
  const rows = conversations.value.map((record) => row(record));
  return html`
    <div class="row">
      <button type="button" class="button" @click=${begin}>New conversation</button>
    </div>
    <p class="soft">${rows.length > 0 ? where : 'What you say and write will be listed here.'}</p>
    <p class="line" role="status">${deleted.value ? undo(deleted.value) : nothing}</p>
    <ul class="cards">
      ${rows}
    </ul>
  `;
}

function row(record: ConversationRecord): TemplateResult {
  const { id, title, model, changedAt } = record;
  const date = new Date(changedAt).toLocaleDateString();
  const action = (text: string, label: string, run: () => unknown) =>
    html`<button type="button" class="button quiet action" aria-label=${label} @click=${run}>
      ${text}
    </button>`;
  return html`<li class="conversation" id=${`conversation-${id}`}>
    ${
      renaming.value === id
        ? renameForm(record)
        : html`<button
            type="button"
            class="conversation-title"
            aria-current=${conversationId.value === id ? 'true' : nothing}
            @click=${() => open(id)}
          >
            ${title}
          </button>`
    }
    <p class="soft">${model} · ${date}</p>
    <div class="actions">
      ${action('Rename', `Rename ${title}`, () => {
        rename(id);
      })}
      ${action('Markdown', `Save ${title} as Markdown`, () => {
        void save(record, 'md', asMarkdown);
      })}
      ${action('JSON', `Save ${title} as JSON`, () => {
        void save(record, 'json', asJson);
      })}
      ${action('Delete', `Delete ${title}`, () => remove(record))}
    </div>
  </li>`;
}

function rename(id: string): void {
  renaming.value = id;
  focusDrawn('.rename input');
}

/** Focuses an element in the next frame, after it is drawn. */
function focusDrawn(selector: string): void {
  requestAnimationFrame(() => {
    const found = document.querySelector<HTMLElement>(selector);
    found?.focus();
    if (found instanceof HTMLInputElement) found.select();
  });
}

function renameForm({ id, title }: ConversationRecord): TemplateResult {
  const close = () => {
    renaming.value = undefined;
    focusDrawn(`#conversation-${id} .conversation-title`);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const input = (event.target as HTMLElement).querySelector('input');
    close();
    void renameConversation(id, input?.value ?? '');
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation(); // otherwise Escape would also close the panel
    close();
  };
  return html`<form class="rename" @submit=${submit} @keydown=${onKey}>
    <input type="text" name="name" aria-label="Name" required .value=${title} />
    <button class="button">Rename</button>
    <button type="button" class="button quiet" @click=${close}>Cancel</button>
  </form>`;
}

function undo({ title, restore }: Deleted): TemplateResult {
  return html`<span>Deleted “${title}”.</span>
    <button
      type="button"
      class="button quiet"
      @click=${() => {
        deleted.value = undefined;
        void restore();
      }}
    >
      Undo
    </button>`;
}

async function begin(): Promise<void> {
  await startOver();
  closePanel();
  focusPrompt();
}

async function open(id: string): Promise<void> {
  await openConversation(id);
  closePanel();
  focusPrompt();
}

async function save(
  record: ConversationRecord,
  extension: string,
  write: (record: ConversationRecord) => Promise<string>,
): Promise<void> {
  try {
    saveFile(record, extension, await write(record));
  } catch (error) {
    showAlert('The conversation could not be saved', error);
  }
}

async function remove({ id, title }: ConversationRecord): Promise<void> {
  const restore = await deleteConversation(id);
  if (restore) deleted.value = { title, restore };
}
