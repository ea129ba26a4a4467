// The query, and the passages nearest to it, updated while the visitor types.
import { similarity } from 'kinglet';
import type { SearchHit } from 'kinglet/search';
import { h } from '../ui/dom.ts';
import { count, errorText } from '../ui/format.ts';
import { AnswerView } from './answer-view.ts';
import { library } from './library.ts';
import { segmentsOf } from './marks.ts';
import { searchModel, vectorsOf } from './search-model.ts';
import { sentencesOf, unwrapped } from './sentences.ts';
import type { Span } from './sentences.ts';

const nShown = 6;
/** A search begins this long after the last key; milliseconds. */
const pauseMs = 200;
/** The most passages whose sentence vectors are remembered. */
const maxRemembered = 200;

export class ResultsView {
  readonly element: HTMLElement;
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
  /** By passage, the vectors of its sentences. The next query often finds the same passages. */
  readonly #sentenceVectors = new Map<string, Float32Array[]>();

  constructor() {
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
    let searched = '';
    library.updates.subscribe(({ texts, isEmbedding }) => {
      const findable = texts.filter(({ nPassages, nPending }) => nPassages > nPending);
      const now = JSON.stringify([texts.length > 0, findable]);
      // While passages are embedded, the list does not change: a reader would lose the line.
      if (isEmbedding || now === searched) return;
      searched = now;
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
    const why = whyNot(query);
    if (why !== undefined) {
      this.#show([], '');
      this.#status.textContent = why;
      return;
    }
    const startedAt = performance.now();
    try {
      const hits = await library.search(query, nShown, signal);
      signal.throwIfAborted();
      this.#show(hits, query);
      const took = Math.round(performance.now() - startedAt);
      this.#status.textContent = summary(took);
      await this.#markSentences(hits, query, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#list.ariaBusy = 'false';
      this.#status.textContent = errorText(error);
    }
  }

  #show(hits: readonly SearchHit[], query: string): void {
    this.#list.ariaBusy = 'false';
    this.#list.replaceChildren(...hits.map((hit, i) => passageView(hit, i, query)));
    const sources = hits.map(({ id, text }) => ({ name: id, text }));
    this.#answer.offer(query, sources);
  }

  /** Marks the best sentence of each passage, one passage after the other. */
  async #markSentences(
    hits: readonly SearchHit[],
    query: string,
    signal: AbortSignal,
  ): Promise<void> {
    const [wanted] = await vectorsOf([query], 'query', signal);
    for (const [i, { text }] of hits.entries()) {
      const sentences = sentencesOf(text);
      if (!wanted || sentences.length < 2) continue;
      const texts = sentences.map(({ start, end }) => text.slice(start, end));
      const scores = (await this.#vectorsOf(text, texts, signal)).map((vector) =>
        similarity(wanted, vector),
      );
      const best = sentences[scores.indexOf(Math.max(...scores))];
      const place = this.#list.children[i]?.querySelector('.passage-text');
      place?.replaceChildren(...marked(text, best, query));
    }
  }

  async #vectorsOf(
    passage: string,
    sentences: readonly string[],
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const known = this.#sentenceVectors.get(passage);
    if (known) return known;
    const vectors = await vectorsOf(sentences, 'passage', signal);
    signal.throwIfAborted();
    if (this.#sentenceVectors.size >= maxRemembered) this.#sentenceVectors.clear();
    this.#sentenceVectors.set(passage, vectors);
    return vectors;
  }

  #goTo(number: number): void {
    const item = this.#list.children[number - 1];
    if (!(item instanceof HTMLElement)) return;
    item.scrollIntoView({ block: 'nearest' });
    item.focus();
  }
}

/** Why a search is not possible; a blank line if only the query is missing. */
function whyNot(query: string): string | undefined {
  if (!searchModel.value) return 'Load an embedding model first.';
  if (library.texts.length === 0) return 'Add a text first.';
  if (query === '') return '\u00a0';
  return library.passages.done === 0 ? 'No passage is embedded yet.' : undefined;
}

function summary(ms: number): string {
  const { done } = library.passages;
  const among = done === 1 ? 'one passage' : `${count(done)} passages`;
  return `The nearest of ${among}, in ${String(ms)} ms`;
}

function passageView({ id, text, score }: SearchHit, index: number, query: string): HTMLElement {
  const bar = h('span', { class: 'share', 'aria-hidden': 'true' });
  bar.style.setProperty('--share', Math.max(0, score).toFixed(3));
  return h(
    'li',
    { id: `passage-${String(index + 1)}`, class: 'passage', tabindex: '-1' },
    h(
      'div',
      { class: 'passage-head' },
      h('span', { class: 'passage-number', 'aria-hidden': 'true' }, String(index + 1)),
      h('strong', {}, id),
      bar,
      h(
        'span',
        {
          class: 'passage-score',
          title: 'Cosine of the angle to the query: 1 is the same direction',
        },
        score.toFixed(2),
      ),
    ),
    h('p', { class: 'passage-text' }, ...marked(text, undefined, query)),
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
