// Several continuations of one text, and the pages of keys and values that they share.
import type { GenerateOptions } from 'kinglet';
import { generateOptions, presets, settings } from '../settings.ts';
import { stop } from '../talk/conversation.ts';
import { button, h } from '../ui/dom.ts';
import { errorText } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';
import { ForkRun } from './fork-run.ts';
import { drawStrip, forkNames, PageMap } from './page-map.ts';

/** How often the view of the pages is updated while the forks write. */
const refreshMs = 100;

export function forks(): HTMLElement {
  return new ForksView().element;
}

class ForksView {
  readonly element: HTMLElement;
  readonly #where = h(
    'select',
    { id: 'fork-where' },
    h('option', { value: '0' }, 'before the last answer'),
    h('option', { value: '0.5', selected: true }, 'in the last answer’s middle'),
    h('option', { value: '1' }, 'after the last answer'),
  );
  readonly #count = numberInput('fork-count', forkNames.length, 4);
  readonly #length = numberInput('fork-length', 4096, 48);
  readonly #button = h('button', { class: 'button', id: 'fork-run', type: 'submit' }, 'Fork');
  readonly #status = h('p', { class: 'soft', role: 'status' });
  readonly #rows = h('ol', { class: 'fork-rows' });
  readonly #map = new PageMap();
  readonly #result = h('div', { id: 'fork-result', hidden: true }, this.#rows, this.#map.element);
  #start = new Row('Start');
  #forks: Row[] = [];
  #run: ForkRun | undefined;
  #running: AbortController | undefined;

  constructor() {
    this.element = h(
      'section',
      { id: 'forks' },
      h('h3', {}, 'Forks'),
      h(
        'p',
        { class: 'soft' },
        'Other ways on from the last text. They share its keys and values in pages of 32 tokens: ' +
          'only the page that a fork writes into is copied for it.',
      ),
      h(
        'form',
        {
          class: 'fork-form',
          onsubmit: (event: SubmitEvent) => {
            event.preventDefault();
            if (this.#running) this.#running.abort();
            else if (canWrite(opened.value)) void this.#fork(opened.value);
          },
        },
        field('Fork', this.#where),
        field('Forks', this.#count),
        field('Tokens each', this.#length),
        this.#button,
      ),
      this.#status,
      this.#result,
    );
    // With another model or session, the forks are gone or no longer belong to it.
    opened.subscribe((model) => {
      this.#clear();
      this.#button.disabled = !canWrite(model);
    });
  }

  async #fork(model: WritingModel): Promise<void> {
    await stop();
    this.#clear();
    const { signal } = (this.#running = new AbortController());
    const nTokens = this.#length.valueAsNumber;
    this.#button.textContent = 'Stop';
    this.#status.textContent = 'Reading …';
    this.#showRows(this.#count.valueAsNumber);
    try {
      const share = Number(this.#where.value);
      const run = await ForkRun.begin(model, share, this.#forks.length, nTokens, signal);
      this.#run = run;
      this.#start.append(run.ending);
      await this.#write(run, { ...drawn(), maxTokens: nTokens, signal });
      for (const fork of this.#forks) fork.sayIfEmpty();
      this.#status.textContent = 'Close a fork, and its pages become free.';
    } catch (error) {
      this.#status.textContent = signal.aborted ? 'Stopped' : errorText(error);
    } finally {
      this.#running = undefined;
      this.#button.textContent = 'Fork';
      for (const fork of this.#forks) fork.closer.disabled = false;
    }
  }

  async #write(run: ForkRun, options: GenerateOptions): Promise<void> {
    this.#status.textContent = 'Writing …';
    await this.#draw(run);
    const timer = setInterval(() => void this.#draw(run), refreshMs);
    try {
      await run.write(options, (fork, { text }) => {
        this.#forks[fork]?.append(text);
      });
    } finally {
      clearInterval(timer);
      await this.#draw(run);
    }
  }

  async #draw(run: ForkRun): Promise<void> {
    const pages = await run.pages().catch(() => undefined); // if the sessions are disposed
    if (!pages || run !== this.#run) return;
    const nColumns = Math.ceil(run.nTokens / pages.start.pageTokens);
    drawStrip(this.#start.strip, 'Start', pages.start, pages.start, nColumns);
    for (const [i, { name, strip }] of this.#forks.entries()) {
      drawStrip(strip, `Fork ${name}`, pages.forks[i], pages.start, nColumns);
    }
    this.#map.draw(pages);
  }

  #showRows(nForks: number): void {
    this.#start = new Row('Start');
    this.#forks = forkNames.slice(0, nForks).map((name, i) => new Row(name, () => this.#close(i)));
    this.#rows.replaceChildren(...[this.#start, ...this.#forks].map(({ element }) => element));
    this.#map.clear();
    this.#result.hidden = false;
  }

  async #close(fork: number): Promise<void> {
    const row = this.#forks[fork];
    if (!this.#run || !row) return;
    row.closer.disabled = true;
    row.element.classList.add('closed');
    this.#run.close(fork);
    await this.#draw(this.#run);
  }

  #clear(): void {
    this.#running?.abort();
    this.#run?.dispose();
    this.#run = undefined;
    this.#result.hidden = true;
    this.#status.textContent = '';
  }
}

/** The row of one session: its pages, and its text. */
class Row {
  readonly name: string;
  readonly element: HTMLElement;
  readonly strip = h('div', { class: 'page-strip', role: 'img', 'aria-label': 'No pages' });
  readonly closer: HTMLButtonElement;
  readonly #text: HTMLElement;

  /** Without `onClose` (for the start), there is no close button. */
  constructor(name: string, onClose?: () => unknown) {
    this.name = name;
    this.closer = button('Close', () => onClose?.(), {
      ...{ class: 'button quiet action', 'aria-label': `Close fork ${name}`, disabled: true },
    });
    const text = { class: 'fork-text', tabindex: '0', role: 'group', 'aria-label': `Fork ${name}` };
    this.#text = h('p', text);
    this.element = h(
      'li',
      {},
      h('strong', { class: 'fork-name' }, name),
      this.strip,
      onClose && this.closer,
      this.#text,
    );
  }

  append(text: string): void {
    this.#text.textContent += text;
  }

  sayIfEmpty(): void {
    if (this.#text.textContent === '') this.#text.append(h('span', { class: 'soft' }, 'Ends here'));
  }
}

/** The page's settings; but greedy ones are replaced, as all forks would write the same text. */
function drawn(): GenerateOptions {
  const isGreedy = settings.value.temperature === 0;
  return { ...generateOptions(settings.value), ...(isGreedy ? presets.Balanced : {}) };
}

function numberInput(id: string, max: number, value: number): HTMLInputElement {
  return h('input', {
    ...{ type: 'number', id, min: '1', max: String(max), value: String(value), required: true },
  });
}

function field(name: string, control: HTMLElement): HTMLElement {
  return h('div', {}, h('label', { for: control.id }, name), control);
}
