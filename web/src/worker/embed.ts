import type { EngineModel, EngineSession } from '#engine';
import { KingletError } from '../errors.ts';
import type { Pooling } from '../types.ts';
import { appendTokens } from './append-tokens.ts';
import type { Work } from './append-tokens.ts';
import { unwrap } from './engine-error.ts';

/**
 * A vector of length 1 for each text, from the model's final states of its tokens. Runs in a session
 * of its own, as long as the longest text.
 */
export async function embedTexts(
  model: EngineModel,
  texts: readonly (string | Int32Array)[],
  pooling: Pooling,
  work: Work,
): Promise<Float32Array[]> {
  const prompts = texts.map((text) =>
    typeof text === 'string' ? model.encode([text], true, false) : text,
  );
  const nCtx = Math.max(...prompts.map((tokens) => tokens.length));
  const { contextLength } = model.info();
  const empty = prompts.findIndex((tokens) => tokens.length === 0);
  if (empty >= 0) {
    throw new KingletError('invalid_argument', `text ${String(empty)} has no tokens`);
  }
  if (nCtx > contextLength) {
    throw new KingletError(
      'prompt_too_long',
      `a text has ${String(nCtx)} tokens, the model was trained for ${String(contextLength)}`,
    );
  }
  const session = unwrap(model.newSession({ nCtx, nBatch: 0, kKind: 'f32', vKind: 'f32', kvPool: 0 }));
  try {
    const embeddings = [];
    for (const tokens of prompts) {
      unwrap(session.truncate(0));
      embeddings.push(await embedTokens(session, tokens, pooling, work));
    }
    return embeddings;
  } finally {
    session.delete();
  }
}

async function embedTokens(
  session: EngineSession,
  tokens: Int32Array,
  pooling: Pooling,
  work: Work,
): Promise<Float32Array> {
  let pooled = new Float32Array();
  await appendTokens(session, tokens, 2, work, (states, nRows) => {
    const width = states.length / nRows;
    if (pooling === 'last' || pooled.length === 0) pooled = new Float32Array(width);
    for (let row = pooling === 'last' ? nRows - 1 : 0; row < nRows; ++row) {
      const state = states.subarray(row * width, (row + 1) * width);
      pooled = pooled.map((sum, i) => sum + (state[i] ?? 0));
    }
  });
  // The mean's divisor is lost in the length.
  const length = Math.hypot(...pooled);
  return length > 0 ? pooled.map((x) => x / length) : pooled;
}
