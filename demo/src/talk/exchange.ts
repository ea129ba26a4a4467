import type { GenerationResult, Piece } from 'kinglet';
import { errorText } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';

/** `chat`: messages under the file's template; `write`: plain text, to be gone on with. */
export type Mode = 'chat' | 'write';

export type ExchangeState = 'reading' | 'writing' | 'done' | 'stopped' | 'failed';

/** A prompt and what the model made of it. */
export class Exchange {
  readonly mode: Mode;
  prompt: string;
  /** Heard of at every token and change of state. */
  readonly updates = new Observable<Exchange>(this);

  state: ExchangeState = 'reading';
  text = '';
  /** What the model thought before it answered. */
  reasoning = '';
  /** The answer, token by token. */
  pieces: Piece[] = [];
  /** Milliseconds from the start of work to each of the pieces that came since then. */
  arrivals: number[] = [];
  /** Of the tokens that were read for this answer. */
  nPromptTokens = 0;
  result: GenerationResult | undefined;
  error = '';
  #startedAt = 0;

  constructor(mode: Mode, prompt: string) {
    this.mode = mode;
    this.prompt = prompt;
  }

  get isRunning(): boolean {
    return this.state === 'reading' || this.state === 'writing';
  }

  /** A new answer, which begins with these pieces. */
  begin(kept: readonly Piece[]): void {
    this.state = 'reading';
    this.pieces = [...kept];
    this.text = kept.map(({ text }) => text).join('');
    this.reasoning = kept.map(({ reasoning = '' }) => reasoning).join('');
    this.arrivals = [];
    this.nPromptTokens = 0;
    this.result = undefined;
    this.error = '';
    this.#startedAt = performance.now();
    this.updates.notify();
  }

  add(piece: Piece): void {
    this.state = 'writing';
    this.pieces.push(piece);
    this.text += piece.text;
    this.reasoning += piece.reasoning ?? '';
    this.arrivals.push(performance.now() - this.#startedAt);
    this.updates.notify();
  }

  end(result: GenerationResult): void {
    this.result = result;
    this.state = 'done';
    this.updates.notify();
  }

  stop(): void {
    this.state = 'stopped';
    this.updates.notify();
  }

  fail(error: unknown): void {
    this.error = errorText(error);
    this.state = 'failed';
    this.updates.notify();
  }
}
