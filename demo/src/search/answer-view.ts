// An answer that the page's chat model makes from the passages, with links to those it cites.
import { generateOptions, settings } from '../settings.ts';
import { stop } from '../talk/conversation.ts';
import { MarkdownView } from 'kinglet/markdown';
import { button, h, oncePerFrame } from '../ui/dom.ts';
import { count, errorText } from '../ui/format.ts';
import { canWrite, opened, sessionOptions } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';
import { answerPrompt, fittingSources } from './answer-prompt.ts';
import type { Source } from './answer-prompt.ts';
import { linkCitations, sourceLink } from './citation-links.ts';

/** Above this, small models make up things that no passage says. */
const highestTemperature = 0.3;

export class AnswerView {
  readonly element: HTMLElement;
  readonly #onSource: (number: number) => void;
  readonly #button: HTMLButtonElement;
  readonly #hint = h('p', { class: 'soft', role: 'status' });
  #output = h('div', { class: 'answer markdown' });
  readonly #sources = h('p', { class: 'soft answer-sources' });
  #query = '';
  #offered: readonly Source[] = [];
  #controller: AbortController | undefined;

  /** `onSource` is called with the number of a source to show. */
  constructor(onSource: (number: number) => void) {
    this.#onSource = onSource;
    this.#button = button('', () => {
      if (this.#controller) this.#controller.abort();
      else void this.#answer();
    });
    this.#button.id = 'search-answer-button';
    const head = h('div', { class: 'row' }, this.#button, this.#hint);
    this.element = h('div', { id: 'search-answer' }, head, this.#output, this.#sources);
    opened.subscribe(() => {
      this.#showButton();
    });
    this.offer('', []);
  }

  /** Sets the query and the passages to answer from, and removes the present answer. */
  offer(query: string, sources: readonly Source[]): void {
    this.#controller?.abort();
    this.#controller = undefined;
    this.#query = query;
    this.#offered = sources;
    this.#clear();
    this.#hint.textContent = '';
    this.element.hidden = sources.length === 0;
    this.#showButton();
  }

  #clear(): void {
    // A new element, because a scheduled paint may still draw into the old one.
    const empty = h('div', { class: 'answer markdown', hidden: true });
    this.#output.replaceWith(empty);
    this.#output = empty;
    this.#sources.replaceChildren();
  }

  #showButton(): void {
    const model = opened.value;
    const canAnswer = canWrite(model) && model.kinglet.info.chatTemplate !== undefined;
    this.#button.disabled = !canAnswer;
    if (this.#controller) this.#button.textContent = 'Stop';
    else this.#button.textContent = canAnswer ? `Answer with ${model.name}` : 'Answer';
    if (canAnswer || this.#controller) return;
    this.#hint.textContent =
      'A chat model can answer from these: load one with the button at the top.';
  }

  async #answer(): Promise<void> {
    const model = opened.value;
    if (!canWrite(model)) return;
    const controller = (this.#controller = new AbortController());
    const { signal } = controller;
    this.#clear();
    this.#showButton();
    this.#hint.textContent = 'Reading the passages …';
    try {
      await stop();
      await this.#write(model, signal);
      this.#tell(signal, '');
    } catch (error) {
      this.#tell(signal, signal.aborted ? 'Stopped' : errorText(error));
    } finally {
      if (this.#controller === controller) {
        this.#controller = undefined;
        this.#showButton();
      }
    }
  }

  async #write(model: WritingModel, signal: AbortSignal): Promise<void> {
    const { kinglet } = model;
    const session = await kinglet.newSession(sessionOptions(settings.value, kinglet.info));
    try {
      const { nCtx } = session.info;
      const options = generateOptions(settings.value);
      const tokensOf = (prompt: string) =>
        kinglet.chatTokens([{ role: 'user', content: prompt }], withoutThinking);
      // Of a short context, at least half is for the passages.
      const maxTokens = Math.min(options.maxTokens ?? nCtx, Math.floor(nCtx / 2));
      const sources = await fittingSources(
        this.#query,
        this.#offered,
        nCtx - maxTokens,
        async (prompt) => (await tokensOf(prompt)).length,
      );
      if (sources.length === 0) {
        throw new Error(`no passage fits the ${count(nCtx)} tokens of context`);
      }
      const temperature = Math.min(options.temperature ?? 0, highestTemperature);
      const prompt = await tokensOf(answerPrompt(this.#query, sources));
      signal.throwIfAborted(); // by now, there may be other passages
      this.#showSources(sources);
      const generation = session.generate(prompt, { ...options, maxTokens, temperature, signal });
      await this.#stream(generation, sources.length, signal);
    } finally {
      session.dispose();
    }
  }

  async #stream(
    pieces: AsyncIterable<{ text: string }>,
    nSources: number,
    signal: AbortSignal,
  ): Promise<void> {
    const output = this.#output;
    const view = new MarkdownView(output);
    let text = '';
    const paint = oncePerFrame(() => {
      output.hidden = text === '';
      view.update(text);
      linkCitations(output, nSources, this.#onSource);
    });
    for await (const piece of pieces) {
      this.#tell(signal, '');
      text += piece.text;
      paint();
    }
  }

  /** Shows a hint, unless another answer or query has replaced the answer of this signal. */
  #tell(signal: AbortSignal, text: string): void {
    if (this.#controller?.signal === signal) this.#hint.textContent = text;
  }

  #showSources(sources: readonly Source[]): void {
    const links = sources.flatMap(({ name }, i) => [
      ' ',
      sourceLink(i + 1, `[${String(i + 1)}] ${name}`, this.#onSource),
    ]);
    this.#sources.replaceChildren('Made of:', ...links);
  }
}

/** A model with optional thinking would spend its few tokens on that. */
const withoutThinking = { variables: { enable_thinking: false } };
