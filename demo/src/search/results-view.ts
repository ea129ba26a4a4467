// The query, and the passages nearest to it, updated while the visitor types.
import { h } from '../ui/dom.ts';
import { errorText } from '../ui/format.ts';
import { AnswerView } from './answer-view.ts';
import { passagesOf } from './library.ts';
import type { Hit, Library } from './library.ts';
import { segmentsOf } from './marks.ts';
import { sentencesOf, unwrapped } from './passages.ts';
import type { Span } from './passages.ts';
import { nearest } from './ranking.ts';
import { searchModel } from './search-model.ts';

const nShown = 6;
/** A search begins this long after the last key; milliseconds. */
const pauseMs = 200;
/** The most passages whose sentence vectors are remembered. */
const maxRemembered = 200;

export class ResultsView {
  readonly element: HTMLElement;
  readonly #library: Library;
  readonly #input = h('input', {
    ...{ type: 'text', id: 'search-query', autocomplete: 'off', spellcheck: 'false' },
    placeholder: 'What are you looking for?',
    oninput: () => {
      this.#onInput();
    },
  });
  readonly #status = h('p', { id: 'search-status', class: 'soft', role: 'status' }, '\u00a0');
  readonly #list = h('ol', { id: 'search-results', class: 'passages', 'aria-label': 'Passages' });
  readonly #answer: AnswerView;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Cancels the work for the previous query. */
  #controller = new AbortController();
  #hits: readonly Hit[] = [];
  /** The vectors of a passage's sentences. The next query often finds the same passages. */
  readonly #sentenceVectors = new Map<string, Float32Array[]>();

  constructor(library: Library) {
    this.#library = library;
    this.#answer = new AnswerView((number) => {
      this.#goTo(number);
    });
    this.element = h(
      'section',
      { class: 'search-results' },
      h('label', { for: 'search-query', class: 'search-label' }, 'Search'),
      this.#input,
      this.#status,
      this.#answer.element,
      this.#list,
    );
    searchModel.subscribe(() => {
      this.#sentenceVectors.clear();
      this.#onInput();
    });
    let nFindable = 0;
    library.updates.subscribe(({ entries, progress }) => {
      const n = entries.reduce((sum, entry) => sum + passagesOf(entry).done, 0);
      // While passages are embedded, the list does not change: a reader would lose the line.
      if (progress ?? n === nFindable) return;
      nFindable = n;
      this.#onInput();
    });
  }

  #onInput(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    this.#list.ariaBusy = 'true';
    this.#timer = setTimeout(() => void this.#search(signal), pauseMs);
  }

  async #search(signal: AbortSignal): Promise<void> {
    const query = this.#input.value.trim();
    const why = this.#whyNot(query);
    if (why !== undefined) {
      this.#show([], '');
      this.#status.textContent = why;
      return;
    }
    const startedAt = performance.now();
    try {
      const vector = await this.#library.queryVector(query, signal);
      this.#show(this.#library.best(vector, nShown), query);
      const took = Math.round(performance.now() - startedAt);
      this.#status.textContent = this.#summary(took);
      await this.#markSentences(vector, query, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#list.ariaBusy = 'false';
      this.#status.textContent = errorText(error);
    }
  }

  /** Why a search is not possible; a blank line if only the query is missing. */
  #whyNot(query: string): string | undefined {
    const nPassages = this.#nPassages();
    if (!searchModel.value) return 'Load an embedding model first.';
    if (this.#library.entries.length === 0) return 'Add a text first.';
    if (query === '') return '\u00a0';
    return nPassages === 0 ? 'No passage is embedded yet.' : undefined;
  }

  #nPassages(): number {
    return this.#library.entries.reduce((sum, entry) => sum + passagesOf(entry).done, 0);
  }

  #summary(ms: number): string {
    const n = this.#nPassages();
    const among = n === 1 ? 'one passage' : `${n.toLocaleString('en')} passages`;
    return `The nearest of ${among}, in ${String(ms)} ms`;
  }

  #show(hits: readonly Hit[], query: string): void {
    this.#hits = hits;
    this.#list.ariaBusy = 'false';
    this.#list.replaceChildren(...hits.map((hit, i) => passageView(hit, i, query)));
    const sources = hits.map((hit) => ({ name: hit.text.name, text: passageText(hit) }));
    this.#answer.offer(query, sources);
  }

  /** Marks the best sentence of each passage, one passage after the other. */
  async #markSentences(vector: Float32Array, query: string, signal: AbortSignal): Promise<void> {
    for (const [i, hit] of this.#hits.entries()) {
      const text = passageText(hit);
      const sentences = sentencesOf(text);
      if (sentences.length < 2) continue;
      const texts = sentences.map(({ start, end }) => text.slice(start, end));
      const vectors = await this.#vectorsOf(hit, texts, signal);
      const best = sentences[nearest(vector, vectors) ?? 0];
      const place = this.#list.children[i]?.querySelector('.passage-text');
      place?.replaceChildren(...marked(text, best, query));
    }
  }

  async #vectorsOf(
    { text: { checksum }, span }: Hit,
    sentences: readonly string[],
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const key = `${checksum} ${String(span.start)}`;
    const known = this.#sentenceVectors.get(key);
    if (known) return known;
    const vectors = await this.#library.vectorsOf(sentences, signal);
    signal.throwIfAborted();
    if (this.#sentenceVectors.size >= maxRemembered) this.#sentenceVectors.clear();
    this.#sentenceVectors.set(key, vectors);
    return vectors;
  }

  #goTo(number: number): void {
    const item = this.#list.children[number - 1];
    if (!(item instanceof HTMLElement)) return;
    item.scrollIntoView({ block: 'nearest' });
    item.focus();
  }
}

function passageText({ text, span }: Hit): string {
  return text.text.slice(span.start, span.end);
}

function passageView(hit: Hit, index: number, query: string): HTMLElement {
  const bar = h('span', { class: 'share', 'aria-hidden': 'true' });
  bar.style.setProperty('--share', Math.max(0, hit.score).toFixed(3));
  return h(
    'li',
    { id: `passage-${String(index + 1)}`, class: 'passage', tabindex: '-1' },
    h(
      'div',
      { class: 'passage-head' },
      h('span', { class: 'passage-number', 'aria-hidden': 'true' }, String(index + 1)),
      h('strong', {}, hit.text.name),
      bar,
      h(
        'span',
        {
          class: 'passage-score',
          title: 'Cosine of the angle to the query: 1 is the same direction',
        },
        hit.score.toFixed(2),
      ),
    ),
    h('p', { class: 'passage-text' }, ...marked(passageText(hit), undefined, query)),
  );
}

/** Puts the best sentence into a `mark`, and the words of the query into `b`. */
function marked(text: string, sentence: Span | undefined, query: string): (Node | string)[] {
  const made: (Node | string)[] = [];
  let mark: HTMLElement | undefined;
  for (const { text: piece, isInSentence, isWord } of segmentsOf(
    unwrapped(text),
    sentence,
    query,
  )) {
    const node = isWord ? h('b', {}, piece) : piece;
    if (!isInSentence) {
      made.push(node);
      continue;
    }
    if (!mark) made.push((mark = h('mark', {})));
    mark.append(node);
  }
  return made;
}
