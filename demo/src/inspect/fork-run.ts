// Sessions that continue one text in different ways, and share its pages of keys and values.
import type { GenerateOptions, KvPages, Piece, Session } from 'kinglet';
import { exchanges, latest, promptTokens, unread } from '../talk/conversation.ts';
import type { WritingModel } from '../workspace.ts';

/** The pages of all sessions. */
export interface Pages {
  start: KvPages;
  /** Undefined for closed forks. */
  forks: (KvPages | undefined)[];
}

/** The text to fork from if the page has no text yet. */
const opening = 'Once upon a time';
/** Tokens of the pages that a fork may begin but not fill. */
const slack = 64;
const nEndingTokens = 20;

export class ForkRun {
  /** The tokens that a fork will have read and written at its end. */
  readonly nTokens: number;
  /** The last words of the text that the forks share. */
  readonly ending: string;
  readonly #start: Session;
  readonly #forks: (Session | undefined)[] = [];

  private constructor(start: Session, nTokens: number, ending: string) {
    this.#start = start;
    this.nTokens = nTokens;
    this.ending = ending;
  }

  /** Reads the last text up to the given share of its answer, and makes the forks there. */
  static async begin(
    model: WritingModel,
    share: number,
    nForks: number,
    nTokens: number,
    signal: AbortSignal,
  ): Promise<ForkRun> {
    const tokens = await textSoFar(model, share);
    const { nCtx, kv } = model.session.info;
    const kvPool = Math.max(nCtx, tokens.length + nForks * (nTokens + slack));
    const last = tokens.slice(-nEndingTokens).filter((token) => token >= 0); // no pictures
    const words = (await model.kinglet.detokenize(last)).trim();
    const ending = tokens.length > nEndingTokens ? `… ${words}` : words;
    const start = await model.kinglet.newSession({ nCtx, kv, kvPool });
    const run = new ForkRun(start, Math.min(nCtx, tokens.length + nTokens), ending);
    try {
      // Tokens that the page's session has read need not be read again.
      await start.restore(await model.session.save());
      await start.decode(await unread(start, tokens), { signal });
      for (let i = 0; i < nForks; ++i) run.#forks.push(await start.fork());
      signal.throwIfAborted();
      return run;
    } catch (error) {
      run.dispose();
      throw error;
    }
  }

  /** Lets all forks write at the same time, and calls `onPiece` with each token. */
  async write(
    options: GenerateOptions,
    onPiece: (fork: number, piece: Piece) => void,
  ): Promise<void> {
    const { seed = Math.floor(Math.random() * 1e6) } = options;
    await Promise.all(
      this.#forks.map(async (fork, i) => {
        const generation = fork?.generate('', { ...options, seed: seed + i });
        for await (const piece of generation ?? []) onPiece(i, piece);
      }),
    );
  }

  async pages(): Promise<Pages> {
    const [start, ...forks] = await Promise.all([
      this.#start.kvPages(),
      ...this.#forks.map((fork) => fork?.kvPages()),
    ]);
    return { start, forks };
  }

  close(fork: number): void {
    this.#forks[fork]?.dispose();
    this.#forks[fork] = undefined;
  }

  dispose(): void {
    for (const session of [this.#start, ...this.#forks]) session?.dispose();
  }
}

async function textSoFar(model: WritingModel, share: number): Promise<number[]> {
  const exchange = latest.value;
  if (!exchange || !exchanges.value.includes(exchange)) return model.kinglet.tokenize(opening);
  const before = exchanges.value.slice(0, exchanges.value.indexOf(exchange));
  const kept = exchange.pieces.slice(0, Math.round(share * exchange.pieces.length));
  return [
    ...(await promptTokens(model, exchange, before)),
    ...kept.map(({ token }) => token).filter((token) => token >= 0),
  ];
}
