// Draws pages of keys and values: those of one session in their order, and all pages.
import type { KvPages } from 'kinglet';
import { h } from '../ui/dom.ts';
import { bytes } from '../ui/format.ts';
import type { Pages } from './fork-run.ts';

export const forkNames = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'] as const;

/** `copied`: the session wrote into a shared page, and so got its own copy. */
type PageKind = 'shared' | 'copied' | 'own';

const kindNames: Record<PageKind, string> = {
  shared: 'shared',
  copied: 'copied to write',
  own: 'its own',
};

/** Draws a session's pages (none if it is closed) into a strip that is `nColumns` pages long. */
export function drawStrip(
  strip: HTMLElement,
  name: string,
  pages: KvPages | undefined,
  start: KvPages,
  nColumns: number,
): void {
  const kinds = pages ? kindsOf(pages, start) : [];
  const nShared = kinds.filter((kind) => kind === 'shared').length;
  strip.style.setProperty('--pages', String(Math.max(nColumns, kinds.length)));
  const shared = h('span', { class: 'page shared' }, `${String(nShared)} shared`);
  shared.style.gridColumn = `span ${String(nShared)}`;
  strip.replaceChildren(
    ...(nShared > 0 ? [shared] : []),
    ...kinds
      .filter((kind) => kind !== 'shared')
      .map((kind) => h('span', { class: `page ${kind}`, title: kindNames[kind] })),
  );
  const counts = Object.entries(kindNames).map(([kind, text]) => {
    return `${String(kinds.filter((one) => one === kind).length)} ${text}`;
  });
  strip.ariaLabel = pages ? `${name}: pages ${counts.join(', ')}` : `${name}: closed`;
}

/** The kinds of a session's pages. Shared pages come first, as only a beginning can be shared. */
function kindsOf({ table, users }: KvPages, start: KvPages): PageKind[] {
  return table.map((page, i) => {
    if ((users[page] ?? 0) > 1) return 'shared';
    return i < start.table.length && page !== start.table[i] ? 'copied' : 'own';
  });
}

/** Draws all pages with the sessions that use them, and shows the memory that sharing saves. */
export class PageMap {
  readonly element: HTMLElement;
  readonly #cells = h('div', { class: 'page-map', role: 'img', 'aria-label': 'All pages' });
  readonly #figures = {
    used: h('dd', { id: 'pages-used' }),
    copies: h('dd', { id: 'pages-copied' }),
    saved: h('dd', { id: 'bytes-saved' }),
  };
  readonly #sum = h('p', { class: 'soft page-sum' });

  constructor() {
    const { used, copies, saved } = this.#figures;
    this.element = h(
      'div',
      { class: 'pages' },
      h(
        'dl',
        { class: 'figures' },
        h('div', {}, h('dt', {}, 'Pages in use'), used),
        h('div', {}, h('dt', {}, 'Copied'), copies),
        h('div', {}, h('dt', {}, 'Saved'), saved),
      ),
      this.#sum,
      h(
        'p',
        { class: 'page-key soft' },
        ...key('shared', 'shared, by how many'),
        ...key('copied', 'copied to be written to'),
        ...key('own', 'of one fork only'),
        ...key('free', 'free'),
      ),
      this.#cells,
    );
    this.clear();
  }

  clear(): void {
    for (const figure of Object.values(this.#figures)) figure.textContent = '–';
    this.#sum.textContent = '\u00a0';
    this.#cells.replaceChildren();
  }

  draw({ start, forks }: Pages): void {
    const { nPages, nFree, nCopies, pageBytes } = start;
    const nUsed = nPages - nFree;
    const open = [start, ...forks].filter((pages) => pages !== undefined);
    const nUnshared = open.reduce((sum, { table }) => sum + table.length, 0);
    this.#figures.used.textContent = `${String(nUsed)} of ${String(nPages)}`;
    this.#figures.copies.textContent = String(nCopies);
    this.#figures.saved.textContent = bytes((nUnshared - nUsed) * pageBytes);
    this.#sum.textContent =
      `${String(open.length)} copies: ${bytes(nUnshared * pageBytes)}; ` +
      `these pages: ${bytes(nUsed * pageBytes)}`;
    this.#cells.ariaLabel = `Of ${String(nPages)} pages ${String(nFree)} are free`;
    this.#cells.replaceChildren(...start.users.map((_, page) => cell(page, { start, forks })));
  }
}

function cell(page: number, { start, forks }: Pages): HTMLElement {
  const nUsers = start.users[page] ?? 0;
  const title = (text: string) => `Page ${String(page)}: ${text}`;
  if (nUsers === 0) return h('span', { class: 'page free', title: title('free') });
  if (nUsers > 1) {
    const text = String(nUsers);
    return h('span', { class: 'page shared', title: title(`used by ${text}`) }, text);
  }
  const owner = forks.findIndex((fork) => fork?.table.includes(page));
  const own = forks[owner];
  if (!own) return h('span', { class: 'page own', title: title('of the start') }, 'S');
  const kind = kindsOf(own, start)[own.table.indexOf(page)] === 'copied' ? 'copied' : 'own';
  const name = forkNames[owner] ?? '';
  return h('span', { class: `page ${kind}`, title: title(`of fork ${name}`) }, name);
}

function key(kind: string, text: string): (HTMLElement | string)[] {
  return [h('span', { class: `page ${kind}`, 'aria-hidden': 'true' }), ` ${text} `];
}
