// Runs a generation in the worker: steps of the engine, pieces for the page, and measured times.
import type {
  EngineAnswer,
  EngineDelta,
  EngineModel,
  EngineModule,
  EngineSession,
  EngineStep,
} from '#engine';
import { emptyResult } from '../empty-result.ts';
import { KingletError } from '../errors.ts';
import { ownEnd } from '../protocol.ts';
import type { ChatText, Conversation, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { FinishReason, GenerationResult, ImageProgress, Piece } from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { fitConversation, systemTokens } from './fit-conversation.ts';
import type { ChatLayout } from './lay-out.ts';
import type { PictureReading } from './picture-reading.ts';
import { concatenated, promptTokens } from './prompt-tokens.ts';
import type { PromptTokens } from './prompt-tokens.ts';
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
  const answer = newAnswer(run, read);
  try {
    return await generate({ ...run, startedAt, read, answer });
  } finally {
    answer.delete();
  }
}

/** Handles the error of a call that was cancelled while pictures were read; throws all others. */
function undefinedIfCancelled(error: unknown): undefined {
  if (!(error instanceof KingletError) || error.code !== 'cancelled') throw error;
}

interface LaidOutRun extends GenerationRun {
  startedAt: number;
  read: ReadPrompt;
  answer: EngineAnswer;
}

async function generate(run: LaidOutRun): Promise<GenerationResult> {
  const { id, model, session, prompt, options, startedAt, read, answer } = run;
  const result = emptyResult(options.seed);
  if (!run.isWanted()) return result;
  const { usage, timings } = result;
  const pace = new BatchPace(session.nBatch());
  const { replacesContext } = prompt;
  const { tokens, images, dropped, nKept } = read;
  const engineOptions = { ...options, replacesContext, nKept: nKept ?? -1, id };
  for (const image of images) session.giveImage(image);
  usage.cachedTokens = unwrap(session.start(tokens, answer, engineOptions));
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
    const said = saidBy(step);
    if (step.token >= 0 || isSomething(said)) {
      addTo(result, said);
      run.onPiece({ ...said, ...drawn(model, step, options.logprobs) });
    }
    if (finish === 'none') await yieldToMessages();
    else result.finishReason = finish;
  }
  const held = finish === 'none' ? unwrap(session.cancel()) : null;
  if (held) {
    const said = saidBy(held);
    addTo(result, said);
    if (isSomething(said)) run.onPiece({ ...said, token: -1 });
  }
  timings.promptTokensPerSecond = rate(nRead, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return result;
}

type Said = Pick<Piece, 'text' | 'reasoning' | 'toolCalls'>;

/** Returns what a step adds to the answer, without what is empty. */
function saidBy({ text, reasoning, toolCalls }: EngineDelta): Said {
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
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

/** Returns the template's own text at the end of a prompt, or "" if there is none. */
function templateEnd(content: ReadPrompt['content']): string {
  return typeof content === 'object' && 'texts' in content ? ownEnd(content) : '';
}

function textOfPrefix(model: EngineModel, prefix: PostedPrompt['prefix'] = ''): string {
  return typeof prefix === 'string' ? prefix : unwrap(model.decode(prefix, true));
}

function newAnswer(
  { model, chat, prompt: { tools, maxThinkingTokens = -1, prefix }, options }: GenerationRun,
  { content }: ReadPrompt,
): EngineAnswer {
  const { grammar, jsonSchema: schema, indent } = options;
  return unwrap(
    model.newAnswer({
      ...{ tools: tools ?? '', grammar, schema, indent, maxThinkingTokens },
      chatTemplate: tools === undefined ? '' : chat.template(tools !== '[]'),
      prompt: templateEnd(content),
      prefix: textOfPrefix(model, prefix),
      isDivided: tools !== undefined,
    }),
  );
}

function addTo(result: GenerationResult, { text, reasoning, toolCalls = [] }: Said): void {
  result.text += text;
  if (reasoning !== undefined) result.reasoning = (result.reasoning ?? '') + reasoning;
  for (const { index, name, arguments: more } of toolCalls) {
    const calls = (result.toolCalls ??= []);
    const call = (calls[index] ??= { name: name ?? '', arguments: '' });
    call.arguments += more;
  }
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
