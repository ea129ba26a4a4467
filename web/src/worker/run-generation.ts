// One generation in the worker: steps of the engine, pieces for the page, and what it all took.
import type { EngineModel, EngineModule, EngineSession, EngineStep } from '#engine';
import { KingletError } from '../errors.ts';
import type { ChatText, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { FinishReason, GenerationResult, Piece } from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { encoded } from './lay-out.ts';
import type { ChatLayout } from './lay-out.ts';
import { AnswerReading } from './read-answer.ts';
import type { Said } from './read-answer.ts';
import { yieldToMessages } from './yield.ts';

type Prompt = string | Int32Array | ChatText;

export interface GenerationRun {
  id: number;
  engine: EngineModule | undefined;
  model: EngineModel;
  chat: ChatLayout | undefined;
  session: EngineSession;
  prompt: PostedPrompt;
  options: PostedGenerateOptions;
  /** Whether to go on, asked before each step. May throw. */
  isWanted(): boolean;
  onPiece(piece: Piece): void;
}

export async function runGeneration(run: GenerationRun): Promise<GenerationResult> {
  const startedAt = performance.now();
  const content = await laidOut(run);
  const answer = answerReading(run, content);
  try {
    return await generate({ ...run, startedAt, content, answer });
  } finally {
    answer?.delete();
  }
}

interface LaidOutRun extends GenerationRun {
  startedAt: number;
  content: Prompt;
  answer: AnswerReading | undefined;
}

async function generate(run: LaidOutRun): Promise<GenerationResult> {
  const { id, model, session, prompt, options, startedAt, content, answer } = run;
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
  const pace = new BatchPace(session.nBatch());
  const tokens = withPrefix(model, promptTokens(model, session, content, prompt), prompt);
  const { replacesContext } = prompt;
  const marks = answer?.marks() ?? [];
  usage.cachedTokens = unwrap(session.start(tokens, { ...options, replacesContext, marks, id }));
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
    const said = answer ? answer.push(step.text) : { text: step.text };
    if (step.token >= 0 || isSomething(said)) {
      addTo(result, said);
      run.onPiece({ ...said, ...drawn(model, step, options.logprobs) });
    }
    if (finish === 'none') await yieldToMessages();
    else result.finishReason = finish;
  }
  if (finish === 'none') unwrap(session.cancel());
  if (answer) end(answer, result, run);
  timings.promptTokensPerSecond = rate(nRead, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return result;
}

/** Tells what the answer held back. */
function end(answer: AnswerReading, result: GenerationResult, run: GenerationRun): void {
  const said = answer.end();
  addTo(result, said);
  if (isSomething(said)) run.onPiece({ ...said, token: -1 });
  if (answer.calls.length > 0) result.toolCalls = answer.calls;
}

async function laidOut({ chat, prompt: { content } }: GenerationRun): Promise<Prompt> {
  if (typeof content === 'string' || !('variables' in content)) return content;
  if (!chat) throw new KingletError('invalid_argument', 'no model is loaded');
  return chat.layOut(content);
}

function promptTokens(
  model: EngineModel,
  session: EngineSession,
  content: Prompt,
  { replacesContext, addBos, parseSpecial }: PostedPrompt,
): Int32Array {
  if (content instanceof Int32Array) return content;
  const atStart = replacesContext || session.nPositions() === 0;
  return encoded(model, content, { addBos: addBos ?? atStart, parseSpecial });
}

function withPrefix(model: EngineModel, tokens: Int32Array, { prefix }: PostedPrompt): Int32Array {
  if (prefix === undefined) return tokens;
  const more = typeof prefix === 'string' ? model.encode([prefix], false, false) : prefix;
  return Int32Array.of(...tokens, ...more);
}

/** Of the answer to a conversation, which the end of its prompt may have begun. */
function answerReading(
  { engine, model, chat, prompt: { tools, prefix }, options }: GenerationRun,
  content: Prompt,
): AnswerReading | undefined {
  if (!engine || !chat || !tools) return undefined;
  const { chatTemplate, toolChatTemplate } = chat.templates;
  const { texts = [] } = typeof content === 'object' && 'texts' in content ? content : {};
  const reading = new AnswerReading(engine, {
    chatTemplate: (tools.length > 0 && toolChatTemplate) || chatTemplate,
    tools,
    // Every other text is a message's.
    prompt: texts.length % 2 === 1 ? (texts.at(-1) ?? '') : '',
    isConstrained: options.grammar !== undefined,
  });
  if (prefix !== undefined) {
    reading.skip(typeof prefix === 'string' ? prefix : unwrap(model.decode(prefix, true)));
  }
  return reading;
}

function addTo(result: GenerationResult, { text, reasoning }: Said): void {
  result.text += text;
  if (reasoning !== undefined) result.reasoning = (result.reasoning ?? '') + reasoning;
}

function isSomething({ text, reasoning, toolCalls }: Said): boolean {
  return text !== '' || reasoning !== undefined || toolCalls !== undefined;
}

function drawn(model: EngineModel, step: EngineStep, logprobs: number): Omit<Piece, keyof Said> {
  const { token, logprob, topTokens, topLogprobs } = step;
  if (logprobs < 0 || token < 0) return { token };
  const top = Array.from(topTokens, (alternative, i) => ({
    token: alternative,
    text: model.piece(alternative),
    logprob: topLogprobs[i] ?? 0,
  }));
  return { token, logprob, top };
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens * 1000) / ms : 0;
}
