import type { GenerationResult, ImageProgress, Piece } from 'kinglet';
import type { Picture } from '../pictures/picture.ts';
import { errorText } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';
import type { ExchangeRecord, Mode } from './conversation-store.ts';

export type ExchangeState = 'reading' | 'writing' | 'done' | 'stopped' | 'failed';

/** The facts about a finished answer that the page shows. */
export interface Ending extends Pick<GenerationResult, 'finishReason' | 'dropped'> {
  usage: Pick<GenerationResult['usage'], 'completionTokens'>;
  timings: Partial<Pick<GenerationResult['timings'], 'promptTokensPerSecond'>> &
    Pick<GenerationResult['timings'], 'tokensPerSecond'>;
}

/** A prompt and the model's answer. */
export class Exchange {
  readonly mode: Mode;
  prompt: string;
  readonly pictures: readonly Picture[];
  /** Notified at every token and change of state. */
  readonly updates = new Observable<Exchange>(this);

  state: ExchangeState = 'reading';
  /** The progress of reading the pictures, in words; empty if none is being read. */
  looking = '';
  text = '';
  /** What the model thought before it answered. */
  reasoning = '';
  /** The answer, token by token. */
  pieces: Piece[] = [];
  /** Milliseconds from the start of work to each piece that came after it (not those kept). */
  arrivals: number[] = [];
  result: Ending | undefined;
  error = '';
  /** Whether the beginning of the text no longer fitted the context. */
  isCut = false;
  /** Whether the page itself sent the prompt, to show what it does. */
  isSample = false;
  #startedAt = 0;

  constructor(mode: Mode, prompt: string, pictures: readonly Picture[] = []) {
    this.mode = mode;
    this.prompt = prompt;
    this.pictures = pictures;
  }

  /** Makes an exchange from an earlier visit's record: it has the text, but no tokens. */
  static restore({ mode, prompt, pictures, reasoning, text }: ExchangeRecord): Exchange {
    const exchange = new Exchange(mode, prompt, pictures);
    exchange.reasoning = reasoning;
    exchange.text = text;
    exchange.state = 'done';
    return exchange;
  }

  get isRunning(): boolean {
    return this.state === 'reading' || this.state === 'writing';
  }

  /** Whether the answer's tokens are known, not just its text. */
  get hasTokens(): boolean {
    return this.pieces.some(({ token }) => token >= 0);
  }

  /** Starts a new answer, which begins with these pieces. */
  begin(kept: readonly Piece[]): void {
    this.state = 'reading';
    this.looking = '';
    this.pieces = [...kept];
    this.text = kept.map(({ text }) => text).join('');
    this.reasoning = kept.map(({ reasoning = '' }) => reasoning).join('');
    this.arrivals = [];
    this.isCut = false;
    this.result = undefined;
    this.error = '';
    this.#startedAt = performance.now();
    this.updates.notify();
  }

  /** Shows which of the conversation's `nPictures` pictures is being read, and how far. */
  look({ image, done, total }: ImageProgress, nPictures: number): void {
    const which =
      nPictures === 1 ? 'the picture' : `picture ${String(image + 1)} of ${String(nPictures)}`;
    this.looking = `Reading ${which}: ${String(done)} of ${String(total)}`;
    this.updates.notify();
  }

  add(piece: Piece): void {
    this.state = 'writing';
    this.looking = '';
    this.pieces.push(piece);
    this.text += piece.text;
    this.reasoning += piece.reasoning ?? '';
    this.arrivals.push(performance.now() - this.#startedAt);
    this.updates.notify();
  }

  end(result: Ending): void {
    this.looking = '';
    this.result = result;
    this.state = 'done';
    this.updates.notify();
  }

  /** Removes the tokens and keeps the text, as in an exchange from an earlier visit. */
  forgetTokens(): void {
    this.pieces = [];
    this.arrivals = [];
    this.updates.notify();
  }

  stop(): void {
    this.looking = '';
    this.state = 'stopped';
    this.updates.notify();
  }

  fail(error: unknown): void {
    this.looking = '';
    this.error = errorText(error);
    this.state = 'failed';
    this.updates.notify();
  }
}
