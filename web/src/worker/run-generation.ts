// One generation in the worker: steps of the engine, pieces for the page, and what it all took.
import type { EngineModel, EngineSession, EngineStep } from '#engine';
import type {
  ChatText,
  PostedEncoding,
  PostedGenerateOptions,
  PostedPrompt,
} from '../protocol.ts';
import type { FinishReason, GenerationResult, Piece } from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { yieldToMessages } from './yield.ts';

/** No work has this id: what is done under it cannot be cancelled. */
const noWork = 2 ** 32 - 1;

export interface GenerationRun {
  id: number;
  model: EngineModel;
  session: EngineSession;
  prompt: PostedPrompt;
  options: PostedGenerateOptions;
  /** Whether to go on, asked before each step. May throw. */
  isWanted(): boolean;
  onPiece(piece: Piece): void;
}

export async function runGeneration(run: GenerationRun): Promise<GenerationResult> {
  const { id, model, session, prompt, options } = run;
  const result: GenerationResult = {
    text: '',
    finishReason: 'cancelled',
    seed: options.seed,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    timings: {
      ...{ promptMs: 0, firstTokenMs: 0, decodeMs: 0 },
      ...{ promptTokensPerSecond: 0, tokensPerSecond: 0 },
    },
  };
  if (!run.isWanted()) return result;
  const { usage, timings } = result;
  const startedAt = performance.now();
  const pace = new BatchPace(session.nBatch());
  const tokens = promptTokens(model, session, prompt);
  const { replacesContext } = prompt;
  usage.cachedTokens = unwrap(session.start(tokens, { ...options, replacesContext, id }));
  usage.promptTokens = usage.cachedTokens;

  let finish: FinishReason | 'none' = 'none';
  let last = -1;
  while (finish === 'none' && run.isWanted()) {
    const stepAt = performance.now();
    const step = unwrap(session.step(pace.size));
    const now = performance.now();
    if (step.nPromptDone > usage.promptTokens) {
      timings.promptMs += now - stepAt;
      pace.took(step.nPromptDone - usage.promptTokens, now - stepAt);
      usage.promptTokens = step.nPromptDone;
    } else {
      timings.decodeMs += now - stepAt;
    }
    if (step.token >= 0 && ++usage.completionTokens === 1) timings.firstTokenMs = now - startedAt;
    if (step.token >= 0) last = step.token;
    if (step.token >= 0 || step.text !== '') {
      result.text += step.text;
      run.onPiece(pieceOf(model, step, options.logprobs));
    }
    finish = step.finishReason;
    if (finish === 'none') await yieldToMessages();
    else result.finishReason = finish;
  }
  if (finish === 'none') unwrap(session.cancel());
  // Of a prompt that is the whole context the engine leaves the last token out, as the next one may
  // be another.
  const nTold = tokens.length + usage.completionTokens;
  if (prompt.keepsAnswer && session.nPositions() === nTold - 1 && nTold <= session.nCtx()) {
    unwrap(session.append(Int32Array.of(last), 0, noWork));
  }
  timings.promptTokensPerSecond = rate(usage.promptTokens - usage.cachedTokens, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return result;
}

function promptTokens(
  model: EngineModel,
  session: EngineSession,
  { content, replacesContext, addBos, parseSpecial }: PostedPrompt,
): Int32Array {
  if (content instanceof Int32Array) return content;
  const atStart = replacesContext || session.nPositions() === 0;
  return encoded(model, content, { addBos: addBos ?? atStart, parseSpecial });
}

export function encoded(
  model: EngineModel,
  text: string | ChatText,
  { addBos, parseSpecial }: PostedEncoding,
): Int32Array {
  return typeof text === 'string'
    ? model.encode([text], addBos, parseSpecial)
    : model.encode(text.texts, addBos, true);
}

function pieceOf(model: EngineModel, step: EngineStep, logprobs: number): Piece {
  const { text, token, logprob, topTokens, topLogprobs } = step;
  if (logprobs < 0 || token < 0) return { text, token };
  const top = Array.from(topTokens, (alternative, i) => ({
    token: alternative,
    text: model.piece(alternative),
    logprob: topLogprobs[i] ?? 0,
  }));
  return { text, token, logprob, top };
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens * 1000) / ms : 0;
}
