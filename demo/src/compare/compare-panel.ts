// One prompt, computed in two ways, side by side.
import type { KvKind, Piece } from 'kinglet';
import type { Panel } from '../panels/panels.ts';
import {
  generateOptions,
  kernelSets,
  kvKindNames,
  kvKinds,
  presets,
  settings,
} from '../settings.ts';
import { exchanges, latest, promptTokens, stop } from '../talk/conversation.ts';
import { Exchange } from '../talk/exchange.ts';
import { h, oncePerFrame } from '../ui/dom.ts';
import { bytes, count, errorText, rate } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';
import { firstDifference, runWay } from './run.ts';
import type { Way } from './run.ts';

export const comparePanel: Panel = {
  title: 'Compare',
  isWide: true,
  create: () => new Comparison().element,
};

const defaultPrompt = 'Once upon a time';

class Comparison {
  readonly element: HTMLElement;
  readonly #left = new Side('left', 'Left');
  readonly #right = new Side('right', 'Right');
  readonly #prompt = h('textarea', { id: 'compare-prompt', rows: '2' });
  readonly #goesOn = h('input', { type: 'checkbox', id: 'compare-context' });
  readonly #length = h('input', {
    ...{ type: 'number', id: 'compare-length', min: '1', max: '4096', value: '96' },
    required: true,
  });
  readonly #run = h('button', { class: 'button', id: 'compare-run', type: 'submit' }, 'Compare');
  readonly #verdict = h('p', { class: 'verdict', role: 'status' });
  #running: AbortController | undefined;

  constructor() {
    this.#prompt.value = latest.value?.prompt ?? defaultPrompt;
    opened.subscribe((model) => {
      this.#run.disabled = !canWrite(model);
      if (canWrite(model)) this.#offer(model);
    });
    this.element = h(
      'form',
      {
        class: 'compare',
        onsubmit: (event: SubmitEvent) => {
          event.preventDefault();
          if (this.#running) this.#running.abort();
          else void this.#compare();
        },
      },
      h(
        'p',
        { class: 'soft' },
        'The same prompt, answered twice: so you see what less memory, or other arithmetic, does to ' +
          'a text. Keys and values are what the model keeps of a text; kernels are the routines that ' +
          'multiply. Both sides take the likeliest token each time, so that nothing else differs.',
      ),
      h('div', { class: 'field' }, h('label', { for: 'compare-prompt' }, 'Prompt'), this.#prompt),
      h(
        'div',
        { class: 'row compare-options' },
        h('label', { class: 'check' }, this.#goesOn, 'Go on from the text so far'),
        h('label', { class: 'check' }, 'Tokens', this.#length),
        this.#run,
      ),
      this.#verdict,
      h('div', { class: 'sides' }, this.#left.element, this.#right.element),
    );
  }

  #offer({ kinglet, session }: WritingModel): void {
    const { kernels } = kinglet.info.runtime;
    this.#left.choose({ kv: session.info.kv.k, kernels });
    this.#right.choose({ kv: 'q4', kernels });
  }

  async #compare(): Promise<void> {
    const model = opened.value;
    if (!canWrite(model) || !this.#length.reportValidity()) return;
    await stop();
    const { signal } = (this.#running = new AbortController());
    this.#run.textContent = 'Stop';
    this.#verdict.textContent = 'Comparing …';
    const sides = [this.#left, this.#right];
    for (const side of sides) side.clear();
    try {
      const prompt = await this.#tokens(model);
      const options = {
        ...{ ...generateOptions(settings.value), ...presets.Greedy, signal },
        maxTokens: this.#length.valueAsNumber,
      };
      // One after the other, so that each has the machine to itself.
      for (const side of sides) await side.run(model, prompt, options);
      this.#judge();
    } catch (error) {
      this.#verdict.textContent = signal.aborted ? 'Stopped' : errorText(error);
    } finally {
      this.#running = undefined;
      this.#run.textContent = 'Compare';
    }
  }

  /** Asks in a chat if the model chats, unless the conversation is a text that it continues. */
  async #tokens(model: WritingModel): Promise<number[]> {
    const { kinglet, session } = model;
    const isChat =
      kinglet.info.chatTemplate !== undefined && exchanges.value.at(-1)?.mode !== 'write';
    if (isChat) {
      const before = this.#goesOn.checked ? exchanges.value : [];
      return promptTokens(model, new Exchange('chat', this.#prompt.value), before);
    }
    const held = this.#goesOn.checked ? await session.tokens() : [];
    const addBos = held.length === 0;
    return [...held, ...(await kinglet.tokenize(this.#prompt.value, { addBos }))];
  }

  #judge(): void {
    const index = firstDifference(this.#left.pieces, this.#right.pieces);
    this.#left.mark(index);
    this.#right.mark(index);
    const n = this.#left.pieces.length;
    if (n === 0 && index === undefined) {
      this.#verdict.textContent = 'Both sides end the text at once.';
      return;
    }
    this.#verdict.textContent =
      index === undefined
        ? `No difference in ${count(n)} ${n === 1 ? 'token' : 'tokens'}.`
        : `The same for ${count(index)} ${index === 1 ? 'token' : 'tokens'}; the first difference is marked.`;
  }
}

type RunOptions = Parameters<typeof runWay>[3];

/** One of the two sides: how it computes, and its text. */
class Side {
  readonly element: HTMLElement;
  pieces: Piece[] = [];
  readonly #kv: HTMLSelectElement;
  readonly #kernels: HTMLSelectElement;
  readonly #about = h('p', { class: 'soft' });
  readonly #text = h('p', { class: 'written side-text' }, noText());
  readonly #facts = h('p', { class: 'soft side-facts' }, '\u00a0');
  readonly #paint = oncePerFrame(() => {
    this.#show();
  });

  constructor(id: string, name: string) {
    this.#kv = choice(kvKinds, `${name}: keys and values`, (kind) => kvKindNames[kind].name);
    this.#kernels = choice(kernelSets, `${name}: kernels`, (set) => set);
    this.#kv.addEventListener('change', () => {
      this.#explain();
    });
    this.element = h(
      'section',
      { id: `compare-${id}`, 'aria-label': name },
      h(
        'div',
        { class: 'side-way' },
        labelled('Keys and values', this.#kv),
        labelled('Kernels', this.#kernels),
      ),
      this.#about,
      this.#facts,
      this.#text,
    );
  }

  choose({ kv, kernels }: Way): void {
    this.#kv.value = kv;
    this.#kernels.value = kernels;
    this.#explain();
  }

  /** Shows a description of the chosen kind of keys and values. */
  #explain(): void {
    this.#about.textContent = kvKindNames[this.#kv.value as KvKind].about;
  }

  clear(): void {
    this.pieces = [];
    this.#facts.textContent = '\u00a0';
    this.#paint();
  }

  async run(model: WritingModel, prompt: readonly number[], options: RunOptions): Promise<void> {
    const way = { kv: this.#kv.value as KvKind, kernels: this.#kernels.value };
    const { tokensPerSecond, kvBytes } = await runWay(model, way, prompt, options, (piece) => {
      this.pieces.push(piece);
      this.#paint();
    });
    this.#show(); // whole before the verdict, not a frame after it
    this.#facts.textContent = `${rate(tokensPerSecond)} tokens/s · ${bytes(kvBytes)} of keys and values`;
  }

  #show(): void {
    if (this.pieces.length === 0) this.#text.replaceChildren(noText());
    else this.#text.textContent = this.#spell(0);
  }

  /** Marks the token with this index. */
  mark(index: number | undefined): void {
    if (index === undefined) return;
    const marked = h('mark', {}, this.pieces[index]?.text);
    // In the next frame, after a paint that is already scheduled.
    requestAnimationFrame(() => {
      this.#text.replaceChildren(this.#spell(0, index), marked, this.#spell(index + 1));
    });
  }

  #spell(from: number, to?: number): string {
    return this.pieces
      .slice(from, to)
      .map(({ text }) => text)
      .join('');
  }
}

/** The placeholder until there is a text. */
function noText(): HTMLElement {
  return h('span', { class: 'soft' }, 'What it writes will stand here.');
}

function choice<T extends string>(
  values: readonly T[],
  name: string,
  textOf: (value: T) => string,
): HTMLSelectElement {
  return h(
    'select',
    { 'aria-label': name },
    ...values.map((value) => h('option', { value }, textOf(value))),
  );
}

/** Shows a text above a control. Screen readers read the control's own `aria-label` instead. */
function labelled(text: string, control: HTMLElement): HTMLElement {
  return h('div', {}, h('span', { class: 'control-name', 'aria-hidden': 'true' }, text), control);
}
