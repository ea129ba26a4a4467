// Runs a generation in the worker: the engine's events, pieces for the page, and measured times.
import type {
  EngineAnswer,
  EngineAnswerEvent,
  EngineConversation,
  EngineModel,
  EngineModule,
  EngineResult,
  EngineSession,
} from '#engine';
import { isConversation } from '../conversation.ts';
import { emptyResult } from '../empty-result.ts';
import { KingletError } from '../errors.ts';
import type { Conversation, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { ChatMessage, GenerationResult, ImageProgress, Piece } from '../types.ts';
import { closeBitmaps, giveRows, partsOf } from './conversation-pictures.ts';
import type { PictureUse } from './conversation-pictures.ts';
import { unwrap } from './engine-error.ts';
import type { EngineLoop } from './engine-loop.ts';
import type { PictureReading } from './picture-reading.ts';
import type { PromptStore, PromptUse } from './prompt-store.ts';
import { checkWanted } from './work.ts';

/** A loaded model, and what it needs to answer. */
export interface LoadedModel {
  engine: EngineModule;
  model: EngineModel;
  pictures: PictureReading;
  prompts: PromptStore;
  loop: EngineLoop;
}

export interface GenerationRun extends LoadedModel {
  id: number;
  session: EngineSession;
  prompt: PostedPrompt;
  options: PostedGenerateOptions;
  /** Returns whether to continue; may throw. */
  isWanted(): boolean;
  onPiece(piece: Piece): void;
  onImage(progress: ImageProgress): void;
}

export async function runGeneration(run: GenerationRun): Promise<GenerationResult> {
  const startedAt = performance.now();
  const answer = await unlessCancelled(() => newAnswer(run)).finally(() => {
    closeBitmaps(run.prompt.content);
  });
  if (!answer) return emptyResult(run.prompt, run.options.seed);
  try {
    const restored = await restorePrompt(run, answer);
    return await generate(run, answer, startedAt, restored);
  } finally {
    answer.delete();
  }
}

/** Returns undefined if the call was cancelled meanwhile. */
async function unlessCancelled<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KingletError) || error.code !== 'cancelled') throw error;
    return undefined;
  }
}

/** Makes the prompt, and gives the session its pictures. */
async function newAnswer(run: GenerationRun): Promise<EngineAnswer> {
  checkWanted(run);
  const { id, model, session, prompt, options } = run;
  const { content, maxThinkingTokens = -1 } = prompt;
  // A prompt at the start of a context begins with BOS, if the vocabulary asks for it.
  const addBos = prompt.addBos ?? (prompt.replacesContext || session.nPositions() === 0);
  const answer = unwrap(
    model.newAnswer({
      ...{ ...options, maxThinkingTokens },
      prompt: {
        ...prompt,
        content: isConversation(content) ? await engineConversation(content, run) : content,
        ...{ addBos, nCtx: session.nCtx(), maxTokens: options.maxTokens, id },
      },
    }),
  );
  try {
    if (isConversation(content) && content.pictures) {
      await giveRows(session, content.pictures.images, session.missingPictures(answer), run);
    }
    checkWanted(run);
    return answer;
  } catch (error) {
    answer.delete();
    throw error;
  }
}

const notRestored: PromptUse = { tokens: 0, bytes: 0, warnings: [] };

/** Restores what is stored of the prompt's beginning, unless the prompt continues a context. */
async function restorePrompt(
  { session, prompt, prompts }: GenerationRun,
  answer: EngineAnswer,
): Promise<PromptUse> {
  if (!prompt.replacesContext && session.nPositions() > 0) return notRestored;
  return prompts.restore(session, () => session.storedPrompt(answer));
}

/** Returns the conversation as the engine takes it, with the parts of its pictures. */
export async function engineConversation(
  { pictures, saidLast = '', ...conversation }: Conversation,
  use: PictureUse,
): Promise<EngineConversation> {
  const { mark = '', images = [] } = pictures ?? {};
  const parts = await partsOf(images, use);
  return { ...conversation, saidLast, pictures: pictures && { mark, parts }, id: use.id };
}

async function generate(
  run: GenerationRun,
  answer: EngineAnswer,
  startedAt: number,
  restored: PromptUse,
): Promise<GenerationResult> {
  const { id, model, session, prompt, options } = run;
  const result = emptyResult(prompt, options.seed);
  const { usage, timings } = result;
  timings.restoredTokens = restored.tokens;
  timings.restoredBytes = restored.bytes;
  const warnings = [...answer.warnings(), ...restored.warnings];
  if (warnings.length > 0) result.warnings = warnings;
  const isChat = isConversation(prompt.content);
  if (isChat && prompt.onFull !== 'error') result.dropped = answer.nDropped();

  const add = (event: EngineAnswerEvent) => {
    usage.promptTokens = event.nPromptDone;
    usage.cachedTokens = event.nCached;
    usage.completionTokens = event.nGenerated;
    timings.promptMs = event.promptMs;
    timings.decodeMs = event.decodeMs;
    timings.guessedTokens = event.nGuessed;
    timings.keptTokens = event.nAccepted;
    if (prompt.onFull === 'shift') result.droppedTokens = event.nDropped;
    if (event.nGenerated === 1 && event.token >= 0) {
      timings.firstTokenMs = performance.now() - startedAt;
    }
    const said = saidBy(event);
    if (event.token >= 0 || isSomething(said)) {
      result.text += said.text;
      run.onPiece({ ...said, ...drawn(model, event, options.logprobs) });
    }
    if (event.finishReason !== 'none') result.finishReason = event.finishReason;
    return event.isLast;
  };
  await run.loop.run<EngineResult<EngineAnswerEvent>>({
    isWanted: () => run.isWanted(),
    begin: (onEvent) => {
      const replacesContext = prompt.replacesContext || restored.tokens > 0;
      session.start(answer, { ...options, replacesContext, id }, onEvent);
    },
    read: (event) => add(unwrap(event)),
    cancel: () => {
      session.cancel();
    },
  });
  timings.promptTokensPerSecond = rate(usage.promptTokens - usage.cachedTokens, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return isChat ? withMessage(result, JSON.parse(answer.message()) as AnswerMessage) : result;
}

/** The engine's message of an answer. */
interface AnswerMessage extends ChatMessage {
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
}

function withMessage(result: GenerationResult, message: AnswerMessage): GenerationResult {
  const { reasoning_content: reasoning, tool_calls: calls } = message;
  return {
    ...{ ...result, message },
    ...(reasoning !== undefined && { reasoning }),
    ...(calls && { toolCalls: calls.map(({ id, function: call }) => ({ id, ...call })) }),
  };
}

type Said = Pick<Piece, 'text' | 'reasoning' | 'toolCalls'>;

/** Returns what an event adds to the answer, without what is empty. */
function saidBy({ text, reasoning, toolCalls }: EngineAnswerEvent): Said {
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function isSomething({ text, reasoning, toolCalls }: Said): boolean {
  return text !== '' || reasoning !== undefined || toolCalls !== undefined;
}

function drawn(
  model: EngineModel,
  event: EngineAnswerEvent,
  logprobs: number,
): Omit<Piece, keyof Said> {
  const { token, logprob, topTokens, topLogprobs } = event;
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
