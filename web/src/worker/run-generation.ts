// One generation in the worker: steps of the engine, pieces for the page, and what it all took.
import type { EngineModel, EngineSession, EngineStep } from '#engine';
import type { PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { FinishReason, GenerationResult, Piece } from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { encoded } from './lay-out.ts';
import { yieldToMessages } from './yield.ts';

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
      ...{ promptTokensPerSecond: 0, tokensPerSecond: 0, guessedTokens: 0, keptTokens: 0 },
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
  let nRead = 0;
  while (finish === 'none' && run.isWanted()) {
    const stepAt = performance.now();
    const step = unwrap(session.step(pace.size));
    const now = performance.now();
    usage.promptTokens = step.nPromptDone;
    timings.guessedTokens = step.nGuessed;
    timings.keptTokens = step.nKept;
    finish = step.finishReason;
    if (step.token < 0 && finish === 'none') {
      timings.promptMs += now - stepAt;
      nRead += step.nComputed;
      pace.took(step.nComputed, now - stepAt);
    } else {
      timings.decodeMs += now - stepAt;
    }
    if (step.token >= 0 && ++usage.completionTokens === 1) timings.firstTokenMs = now - startedAt;
    if (step.token >= 0 || step.text !== '') {
      result.text += step.text;
      run.onPiece(pieceOf(model, step, options.logprobs));
    }
    if (finish === 'none') await yieldToMessages();
    else result.finishReason = finish;
  }
  if (finish === 'none') unwrap(session.cancel());
  timings.promptTokensPerSecond = rate(nRead, timings.promptMs);
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
