// Continues the same tokens with a given way of computing.
import type { GenerateOptions, KvKind, Piece } from 'kinglet';
import { continueFrom } from '../talk/conversation.ts';
import { loadKinglet } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';

export interface Way {
  kv: KvKind;
  kernels: string;
}

export interface Outcome {
  tokensPerSecond: number;
  kvBytes: number;
}

/** Calls `onPiece` with each token that follows the prompt. */
export async function runWay(
  model: WritingModel,
  way: Way,
  prompt: readonly number[],
  options: GenerateOptions,
  onPiece: (piece: Piece) => void,
): Promise<Outcome> {
  const { session, close } = await openWay(model, way, options.signal);
  try {
    const generation = await continueFrom(session, prompt, options);
    for await (const piece of generation) onPiece(piece);
    const { timings } = await generation.result;
    const { kvBytes } = session.info.memory;
    return { tokensPerSecond: timings.tokensPerSecond, kvBytes };
  } finally {
    close();
  }
}

/**
 * Returns a session that computes in the given way: a fork of the page's session if that already
 * does, so that nothing is read twice; a new session for other kinds of keys and values; a session
 * of a second copy of the model for other kernels.
 */
async function openWay(model: WritingModel, { kv, kernels }: Way, signal: AbortSignal | undefined) {
  const { nCtx, kv: kvNow } = model.session.info;
  if (kernels !== model.kinglet.info.runtime.kernels) {
    const kinglet = await loadKinglet(model.choice, kernels, { signal });
    const close = () => {
      kinglet.dispose();
    };
    try {
      return { session: await kinglet.newSession({ nCtx, kv }), close };
    } catch (error) {
      close();
      throw error;
    }
  }
  const isAsNow = kvNow.k === kv && kvNow.v === kv;
  const session = await (isAsNow ? model.session.fork() : model.kinglet.newSession({ nCtx, kv }));
  return {
    session,
    close: () => {
      session.dispose();
    },
  };
}

/** The index of the first token that differs; undefined if one text begins with the other. */
export function firstDifference(
  left: readonly Piece[],
  right: readonly Piece[],
): number | undefined {
  const index = left.findIndex(({ token }, i) => right[i] && right[i].token !== token);
  return index < 0 ? undefined : index;
}
