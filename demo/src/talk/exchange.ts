import type { GenerationResult, ImageProgress, Piece } from 'kinglet';
import type { Picture } from '../pictures/picture.ts';
import { errorText } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';
import type { ExchangeRecord, Mode } from './conversation-store.ts';

export type ExchangeState = 'reading' | 'writing' | 'done' | 'stopped' | 'failed';

/** What the page tells of an answer that has ended. */
export interface Ending extends Pick<GenerationResult, 'finishReason' | 'dropped'> {
  usage: Pick<GenerationResult['usage'], 'completionTokens'>;
  timings: Partial<Pick<GenerationResult['timings'], 'promptTokensPerSecond'>> &
    Pick<GenerationResult['timings'], 'tokensPerSecond'>;
}

/** A prompt and what the model made of it. */
export class Exchange {
  readonly mode: Mode;
  prompt: string;
  readonly pictures: readonly Picture[];
  /** Heard of at every token and change of state. */
  readonly updates = new Observable<Exchange>(this);

  state: ExchangeState = 'reading';
  /** How far the pictures are read, in words; empty when none is being read. */
  looking = '';
  text = '';
  /** What the model thought before it answered. */
  reasoning = '';
  /** The answer, token by token. */
  pieces: Piece[] = [];
  /** Milliseconds from the start of work to each of the pieces that came since then. */
  arrivals: number[] = [];
  result: Ending | undefined;
  error = '';
  /** The beginning of the text was no longer in view. */
  isCut = false;
  /** What the page says by itself, to show what it does. */
  isSample = false;
  #startedAt = 0;

  constructor(mode: Mode, prompt: string, pictures: readonly Picture[] = []) {
    this.mode = mode;
    this.prompt = prompt;
    this.pictures = pictures;
  }

  /** As an earlier visit left it: the text, without its tokens. */
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

  /** Whether what it was made of is known, and not the text only. */
  get hasTokens(): boolean {
    return this.pieces.some(({ token }) => token >= 0);
  }

  /** A new answer, which begins with these pieces. */
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

  /** Of so many pictures of the conversation one is being read. */
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

  /** As if an earlier visit had left it. */
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
