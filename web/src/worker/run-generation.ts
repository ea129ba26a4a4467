// Runs a generation in the worker: steps of the engine, pieces for the page, and measured times.
import type { EngineModel, EngineModule, EngineSession, EngineStep } from '#engine';
import { emptyResult } from '../empty-result.ts';
import { KingletError } from '../errors.ts';
import { beginsThought, ownEnd } from '../protocol.ts';
import type { ChatText, Conversation, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { FinishReason, GenerationResult, ImageProgress, Piece } from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { fitConversation, systemTokens } from './fit-conversation.ts';
import type { ChatLayout } from './lay-out.ts';
import type { PictureReading } from './picture-reading.ts';
import { concatenated, promptTokens } from './prompt-tokens.ts';
import type { PromptTokens } from './prompt-tokens.ts';
import { AnswerReading } from './read-answer.ts';
import type { Said } from './read-answer.ts';
import { yieldToMessages } from './yield.ts';

/** A shift keeps the first tokens: models attend to them whatever they are (StreamingLLM, 2023). */
const nSinks = 4;

/** A prompt with its tokens. */
interface ReadPrompt extends PromptTokens {
  content: string | Int32Array | ChatText;
  /** The number of messages that were left out; undefined if none may be. */
  dropped?: number;
  /** How many first tokens a full context keeps; undefined if a full context ends the answer. */
  nKept?: number;
}

/** A loaded model, and what it needs to answer. */
export interface LoadedModel {
  engine: EngineModule;
  model: EngineModel;
  chat: ChatLayout;
  pictures: PictureReading;
}

export interface GenerationRun extends LoadedModel {
  id: number;
  session: EngineSession;
  prompt: PostedPrompt;
  options: PostedGenerateOptions;
  /** Returns whether to continue. Called before each step; may throw. */
  isWanted(): boolean;
  onPiece(piece: Piece): void;
  onImage(progress: ImageProgress): void;
}

export async function runGeneration(run: GenerationRun): Promise<GenerationResult> {
  const startedAt = performance.now();
  if (!run.isWanted()) return emptyResult(run.options.seed);
  const read = await readPrompt(run).catch(undefinedIfCancelled);
  if (!read) return emptyResult(run.options.seed);
  const afterThought = grammarAfterThought(run, read);
  const answer = answerReading(run, read, afterThought !== undefined);
  const options = { ...run.options, grammar: afterThought ?? run.options.grammar };
  try {
    return await generate({ ...run, options, startedAt, read, answer });
  } finally {
    answer?.delete();
  }
}

/** Handles the error of a call that was cancelled while pictures were read; throws all others. */
function undefinedIfCancelled(error: unknown): undefined {
  if (!(error instanceof KingletError) || error.code !== 'cancelled') throw error;
}

interface LaidOutRun extends GenerationRun {
  startedAt: number;
  read: ReadPrompt;
  answer: AnswerReading | undefined;
}

async function generate(run: LaidOutRun): Promise<GenerationResult> {
  const { id, model, session, prompt, options, startedAt, read, answer } = run;
  const result = emptyResult(options.seed);
  if (!run.isWanted()) return result;
  const { usage, timings } = result;
  const pace = new BatchPace(session.nBatch());
  const { replacesContext } = prompt;
  const { tokens, images, dropped, nKept } = read;
  const marks = answer?.marks() ?? [];
  const engineOptions = { ...options, replacesContext, nKept: nKept ?? -1, marks, id };
  for (const image of images) session.giveImage(image);
  usage.cachedTokens = unwrap(session.start(tokens, engineOptions));
  usage.promptTokens = usage.cachedTokens;
  if (dropped !== undefined) result.dropped = dropped;

  let finish: FinishReason | 'none' = 'none';
  let nRead = 0;
  while (finish === 'none' && run.isWanted()) {
    const stepAt = performance.now();
    const step = unwrap(session.step(pace.size));
    const now = performance.now();
    usage.promptTokens = step.nPromptDone;
    timings.guessedTokens = step.nGuessed;
    timings.keptTokens = step.nKept;
    if (nKept !== undefined) result.droppedTokens = step.nDropped;
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
  if (finish === 'none') tell(unwrap(session.cancel()), run, result);
  if (answer) end(answer, result, run);
  timings.promptTokensPerSecond = rate(nRead, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return result;
}

/** Reports the text of a cancelled answer that the engine held back. */
function tell(text: string, run: LaidOutRun, result: GenerationResult): void {
  const said = run.answer ? run.answer.push(text) : { text };
  addTo(result, said);
  if (isSomething(said)) run.onPiece({ ...said, token: -1 });
}

/** Reports the text that the answer's reader held back. */
function end(answer: AnswerReading, result: GenerationResult, run: GenerationRun): void {
  const said = answer.end();
  addTo(result, said);
  if (isSomething(said)) run.onPiece({ ...said, token: -1 });
  if (answer.calls.length > 0) result.toolCalls = answer.calls;
}

async function readPrompt(run: GenerationRun): Promise<ReadPrompt> {
  const { chat, session, options, prompt } = run;
  const { content, onFull } = prompt;
  const most = session.nCtx() - 1;
  if (typeof content === 'string' || !('variables' in content)) {
    const read = { content, ...(await promptOf(run, content)) };
    return onFull === 'shift' ? { ...read, nKept: Math.min(nSinks, most) } : read;
  }
  const layOut = async (conversation: Conversation) => {
    const laidOut = chat.layOut(conversation);
    return { content: laidOut, ...(await promptOf(run, laidOut)) };
  };
  if (onFull === 'error') return layOut(content);
  // Leave room for the answer, but at most half of the context.
  const nMost = session.nCtx() - Math.min(options.maxTokens, Math.floor(session.nCtx() / 2));
  const fitted = await fitConversation({ conversation: content, session, nMost, layOut });
  if (onFull === 'dropOldest') return fitted;
  const nSystem = await systemTokens(content, fitted.tokens, layOut);
  return { ...fitted, nKept: Math.min(Math.max(nSinks, nSystem), most) };
}

async function promptOf(run: GenerationRun, content: ReadPrompt['content']): Promise<PromptTokens> {
  const { model, session, prompt } = run;
  const { replacesContext, addBos, parseSpecial } = prompt;
  if (content instanceof Int32Array) {
    return withPrefix(model, { tokens: content, images: [] }, prompt);
  }
  const atStart = replacesContext || session.nPositions() === 0;
  const read = await promptTokens(content, { addBos: addBos ?? atStart, parseSpecial }, run);
  return withPrefix(model, read, prompt);
}

function withPrefix(
  model: EngineModel,
  { tokens, images }: PromptTokens,
  { prefix }: PostedPrompt,
): PromptTokens {
  if (prefix === undefined) return { tokens, images };
  const more = typeof prefix === 'string' ? model.encode([prefix], false, false) : prefix;
  return { tokens: concatenated([tokens, more]), images };
}

/**
 * Returns the grammar of an answer that begins inside a thought; undefined if it does not, or if any
 * text is an answer. The prompt begins the thought, and the prefix may end it.
 */
function grammarAfterThought(
  { model, prompt: { prefix }, options: { thinking } }: GenerationRun,
  { content }: ReadPrompt,
): string | undefined {
  if (!thinking || !beginsThought(templateEnd(content), thinking.begin)) return undefined;
  return textOfPrefix(model, prefix).includes(thinking.end) ? undefined : thinking.grammar;
}

/** Returns the template's own text at the end of a prompt, or "" if there is none. */
function templateEnd(content: ReadPrompt['content']): string {
  return typeof content === 'object' && 'texts' in content ? ownEnd(content) : '';
}

function textOfPrefix(model: EngineModel, prefix: PostedPrompt['prefix'] = ''): string {
  return typeof prefix === 'string' ? prefix : unwrap(model.decode(prefix, true));
}

/**
 * Returns the reader of a conversation's answer. The end of the prompt may have begun a thought.
 * `mayThink`: the grammar allows the rest of the thought.
 */
function answerReading(
  { engine, model, chat, prompt: { tools, mustCall, prefix }, options }: GenerationRun,
  { content }: ReadPrompt,
  mayThink: boolean,
): AnswerReading | undefined {
  if (!tools) return undefined;
  const reading = new AnswerReading(engine, {
    chatTemplate: chat.template(tools.length > 0),
    tools,
    prompt: templateEnd(content),
    isConstrained: options.grammar !== undefined && mustCall !== true && !mayThink,
  });
  if (prefix !== undefined) reading.skip(textOfPrefix(model, prefix));
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
    bytes: model.pieceBytes(alternative),
    logprob: topLogprobs[i] ?? 0,
  }));
  return {
    ...{ token, logprob, top },
    ...{ tokenText: model.piece(token), tokenBytes: model.pieceBytes(token) },
  };
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens * 1000) / ms : 0;
}
