// The texts that are searched: adding them, the progress of embedding them, deleting them.
import { button, h } from '../ui/dom.ts';
import { keepPainted } from '../ui/drawn.ts';
import { bytes, count } from '../ui/format.ts';
import { addFiles, addPasted, embedTexts } from './desk.ts';
import { isComplete, passagesOf } from './library.ts';
import type { Entry, Library } from './library.ts';
import { rememberedChoice, searchModel } from './search-model.ts';

export function textsView(library: Library): HTMLElement {
  const progress = new ProgressLine(library);
  const summary = h('summary', {});
  const list = h('ul', { class: 'cards', id: 'search-texts' });
  const clear = button('Delete all texts', () => library.clear());
  const kept = h('details', {}, summary, h('div', { class: 'search-kept' }, list, clear));
  let wasUnfolded = false;
  const paint = () => {
    progress.update();
    const { entries } = library;
    kept.hidden = entries.length === 0;
    summary.textContent = describe(library);
    // Without a model, the list shows what has become of a dropped text.
    const hasModel = searchModel.value ?? rememberedChoice.value;
    if (entries.length > 0 && !hasModel && !wasUnfolded) kept.open = wasUnfolded = true;
    if (kept.open) showRows(list, entries, library);
  };
  kept.addEventListener('toggle', keepPainted(paint, [library.updates, searchModel]));
  return h('section', {}, h('h3', {}, 'Texts'), picker(), pasteForm(), progress.element, kept);
}

/** "3 texts, 120 passages · 410 kB kept in this browser" */
function describe({ entries, bytes: size, isKept }: Library): string {
  const nPassages = entries.reduce((sum, entry) => sum + passagesOf(entry).total, 0);
  const texts = entries.length === 1 ? '1 text' : `${count(entries.length)} texts`;
  const passages = nPassages === 1 ? '1 passage' : `${count(nPassages)} passages`;
  const where = isKept ? 'kept in this browser' : 'for as long as this page is open';
  return `${nPassages > 0 ? `${texts}, ${passages}` : texts} · ${bytes(size)} ${where}`;
}

/** Keeps existing rows in place, so that a button in them keeps the focus. */
function showRows(list: HTMLElement, entries: readonly Entry[], library: Library): void {
  const rows = new Map(
    [...list.children].map((row) => [(row as HTMLElement).dataset.checksum, row as HTMLElement]),
  );
  const wanted = entries.map((entry) => {
    const found = rows.get(entry.text.checksum) ?? row(entry, library);
    const facts = found.querySelector('p');
    if (facts) facts.textContent = factsOf(entry);
    return found;
  });
  for (const found of rows.values()) if (!wanted.includes(found)) found.remove();
  for (const found of wanted) if (!found.isConnected) list.append(found);
}

function row({ text: { name, checksum } }: Entry, library: Library): HTMLElement {
  const made = h(
    'li',
    { class: 'card' },
    h('div', {}, h('strong', {}, name), h('p', { class: 'soft' })),
    button('Delete', () => library.remove(checksum), { 'aria-label': `Delete ${name}` }),
  );
  made.dataset.checksum = checksum;
  return made;
}

function factsOf(entry: Entry): string {
  const { done, total } = passagesOf(entry);
  const size = bytes(entry.text.bytes);
  if (isComplete(entry)) return `${size} · ${count(total)} ${total === 1 ? 'passage' : 'passages'}`;
  if (total > 0) return `${size} · ${count(done)} of ${count(total)} passages embedded`;
  return `${size} · not embedded yet`;
}

/** The progress of embedding, or a note about passages that are not embedded yet. */
class ProgressLine {
  readonly element: HTMLElement;
  readonly #library: Library;
  readonly #bar = h('progress', { max: '1', 'aria-label': 'Embedding passages' });
  readonly #text = h('span', { role: 'status' });
  readonly #button: HTMLButtonElement;

  constructor(library: Library) {
    this.#library = library;
    this.#button = button('Cancel', () => {
      if (library.progress) library.progress.cancel();
      else void embedTexts();
    });
    const parts = [this.#bar, this.#text, this.#button];
    this.element = h('div', { id: 'search-progress', class: 'line' }, ...parts);
  }

  update(): void {
    const { progress, entries } = this.#library;
    const isWaiting = searchModel.value !== undefined && !entries.every(isComplete);
    this.element.hidden = !progress && !isWaiting;
    this.#bar.hidden = !progress;
    this.#button.textContent = progress ? 'Cancel' : 'Go on';
    if (!progress) {
      this.#text.textContent = 'Some passages are not embedded yet, and not searched.';
      return;
    }
    const { done, total } = progress;
    this.#bar.value = total > 0 ? done / total : 0;
    this.#text.textContent = `${count(done)} of ${count(total)} passages embedded`;
  }
}

function picker(): HTMLElement {
  const input = h('input', {
    ...{ type: 'file', id: 'search-files', multiple: true, class: 'visually-hidden' },
    onchange: () => {
      const files = [...(input.files ?? [])];
      input.value = '';
      void addFiles(files);
    },
  });
  return h(
    'p',
    { class: 'pick' },
    input,
    h('label', { for: 'search-files', class: 'button' }, 'Add text files'),
    h('span', { class: 'soft' }, 'or drop some anywhere on the page'),
  );
}

function pasteForm(): HTMLElement {
  const area = h('textarea', { id: 'search-paste', rows: '4', required: true });
  const form = h(
    'form',
    {
      class: 'search-paste',
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        const text = area.value;
        if (text.trim() === '') return;
        area.value = '';
        void addPasted(text);
      },
    },
    h('label', { class: 'visually-hidden', for: 'search-paste' }, 'Text'),
    area,
    h('button', { class: 'button quiet' }, 'Add this text'),
  );
  return h('details', {}, h('summary', {}, 'Paste a text'), form);
}
