// The texts that are searched: adding them, the progress of embedding them, deleting them.
import { button, h } from '../ui/dom.ts';
import { keepPainted } from '../ui/drawn.ts';
import { bytes, count } from '../ui/format.ts';
import { addFiles, addPasted, embedTexts } from './desk.ts';
import { library } from './library.ts';
import type { LibraryText } from './library.ts';
import { rememberedChoice, searchModel } from './search-model.ts';

export function textsView(): HTMLElement {
  const progress = new ProgressLine();
  const summary = h('summary', {});
  const list = h('ul', { class: 'cards', id: 'search-texts' });
  const clear = button('Delete all texts', () => library.clear());
  const kept = h('details', {}, summary, h('div', { class: 'search-kept' }, list, clear));
  let wasUnfolded = false;
  const paint = () => {
    progress.update();
    const { texts } = library;
    kept.hidden = texts.length === 0;
    summary.textContent = describe(texts);
    // Without a model, the list shows what has become of a dropped text.
    const hasModel = searchModel.value ?? rememberedChoice.value;
    if (texts.length > 0 && !hasModel && !wasUnfolded) kept.open = wasUnfolded = true;
    if (kept.open) showRows(list, texts);
  };
  kept.addEventListener('toggle', keepPainted(paint, [library.updates, searchModel]));
  return h('section', {}, h('h3', {}, 'Texts'), picker(), pasteForm(), progress.element, kept);
}

/** "3 texts, 120 passages · about 410 kB, kept in this browser" */
function describe({ length: n }: readonly LibraryText[]): string {
  const { total } = library.passages;
  const texts = n === 1 ? '1 text' : `${count(n)} texts`;
  const where = library.isKept ? 'kept in this browser' : 'for as long as this page is open';
  const parts = total > 0 ? `${texts}, ${passages(total)}` : texts;
  return `${parts} · about ${bytes(library.bytes)}, ${where}`;
}

function passages(n: number): string {
  return n === 1 ? '1 passage' : `${count(n)} passages`;
}

/** Keeps existing rows in place, so that a button in them keeps the focus. */
function showRows(list: HTMLElement, texts: readonly LibraryText[]): void {
  const rows = new Map(
    [...list.children].map((row) => [(row as HTMLElement).dataset.name, row as HTMLElement]),
  );
  const wanted = texts.map((text) => {
    const found = rows.get(text.id) ?? row(text.id);
    const facts = found.querySelector('p');
    if (facts) facts.textContent = factsOf(text);
    return found;
  });
  for (const found of rows.values()) if (!wanted.includes(found)) found.remove();
  for (const [i, found] of wanted.entries()) {
    if (list.children[i] !== found) list.insertBefore(found, list.children[i] ?? null);
  }
}

function row(name: string): HTMLElement {
  const made = h(
    'li',
    { class: 'card' },
    h('div', {}, h('strong', {}, name), h('p', { class: 'soft' })),
    button('Delete', () => library.remove(name), { 'aria-label': `Delete ${name}` }),
  );
  made.dataset.name = name;
  return made;
}

function factsOf({ nCharacters, nPassages, nPending, isWaiting }: LibraryText): string {
  const size = nCharacters === 1 ? '1 character' : `${count(nCharacters)} characters`;
  if (isWaiting) return `${size} · not embedded yet`;
  if (nPending === 0) return `${size} · ${passages(nPassages)}`;
  return `${size} · ${count(nPassages - nPending)} of ${passages(nPassages)} embedded`;
}

/** The progress of embedding, or a note about passages that are not embedded yet. */
class ProgressLine {
  readonly element: HTMLElement;
  readonly #bar = h('progress', { max: '1', 'aria-label': 'Embedding passages' });
  readonly #text = h('span', { role: 'status' });
  readonly #button: HTMLButtonElement;

  constructor() {
    this.#button = button('Cancel', () => {
      if (library.isEmbedding) library.cancel();
      else void embedTexts();
    });
    const parts = [this.#bar, this.#text, this.#button];
    this.element = h('div', { id: 'search-progress', class: 'line' }, ...parts);
  }

  update(): void {
    const { isEmbedding, passages } = library;
    const { done, total } = passages;
    const isIncomplete = done < total || library.texts.some(({ isWaiting }) => isWaiting);
    this.element.hidden = !isEmbedding && !(searchModel.value && isIncomplete);
    this.#bar.hidden = !isEmbedding;
    this.#button.textContent = isEmbedding ? 'Cancel' : 'Go on';
    if (!isEmbedding) {
      this.#text.textContent = 'Some passages are not embedded yet, and not searched.';
      return;
    }
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
