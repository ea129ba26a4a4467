// Runs a generation in the worker: steps of the engine, pieces for the page, and measured times.
import type {
  EngineAnswer,
  EngineApi,
  EngineDelta,
  EngineImageRows,
  EngineModel,
  EngineModule,
  EngineSession,
  EngineStep,
} from '#engine';
import { emptyResult } from '../empty-result.ts';
import { KingletError } from '../errors.ts';
import type { Conversation, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import { newCallId } from '../random-digits.ts';
import type {
  ChatMessage,
  FinishReason,
  GenerationResult,
  ImageProgress,
  Piece,
  ToolCallPiece,
} from '../types.ts';
import { BatchPace } from './batch-pace.ts';
import { conversationPrompt } from './conversation-prompt.ts';
import { unwrap } from './engine-error.ts';
import type { PictureReading } from './picture-reading.ts';
import { yieldToMessages } from './yield.ts';

/** A prompt with its tokens. */
interface ReadPrompt {
  tokens: Int32Array;
  /** The pictures that must be given to the session. */
  images: EngineImageRows[];
  /** The chat template's own text at the end. */
  end: string;
  /** The number of messages that were left out. */
  nDropped: number;
  /** How many first tokens a full context keeps; -1: a full context ends the answer. */
  nKept: number;
}

/** A loaded model, and what it needs to answer. */
export interface LoadedModel {
  engine: EngineModule;
  model: EngineModel;
  /** Made when it is first needed, because it reads the chat templates. */
  api: () => EngineApi;
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
  const read = await unlessCancelled(() => readPrompt(run));
  if (!read) return emptyResult(run.options.seed);
  const answer = await unlessCancelled(() => newAnswer(run, read));
  if (!answer) return emptyResult(run.options.seed);
  try {
    return await generate({ ...run, startedAt, read, answer });
  } finally {
    answer.delete();
  }
}

/** Returns undefined if the call was cancelled meanwhile. */
async function unlessCancelled<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KingletError) || error.code !== 'cancelled') throw error;
    return undefined;
  }
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
  const warnings = answer.warnings();
  if (warnings.length > 0) result.warnings = warnings;
  const pace = new BatchPace(session.nBatch());
  const { replacesContext } = prompt;
  const { tokens, images, nDropped, nKept } = read;
  const engineOptions = { ...options, replacesContext, nKept, id };
  for (const image of images) session.giveImage(image);
  usage.cachedTokens = unwrap(session.start(tokens, answer, engineOptions));
  usage.promptTokens = usage.cachedTokens;
  if (isConversation(prompt) && prompt.onFull !== 'error') result.dropped = nDropped;

  let finish: FinishReason | 'none' = 'none';
  let nRead = 0;
  let decodedAt = performance.now();
  while (finish === 'none' && run.isWanted()) {
    const stepAt = performance.now();
    const step = unwrap(session.step(pace.size));
    const now = performance.now();
    usage.promptTokens = step.nPromptDone;
    timings.guessedTokens = step.nGuessed;
    timings.keptTokens = step.nAccepted;
    if (nKept >= 0) result.droppedTokens = step.nDropped;
    finish = step.finishReason;
    if (step.token < 0 && finish === 'none') {
      timings.promptMs += now - stepAt;
      nRead += step.nComputed;
      pace.took(step.nComputed, now - stepAt);
    } else {
      timings.decodeMs += now - decodedAt; // a step of another session may have computed this token
    }
    decodedAt = now;
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
  if (prompt.tools !== undefined) result.message = assistantMessage(result, prefixText(run));
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
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(withId) }),
  };
}

/** The first piece of a call has its name, and gets its id. */
function withId(piece: ToolCallPiece): ToolCallPiece {
  return piece.name === undefined ? piece : { ...piece, id: newCallId() };
}

type ConversationContent = PostedPrompt & { content: Conversation };

function isConversation(prompt: PostedPrompt): prompt is ConversationContent {
  return typeof prompt.content === 'object' && 'variables' in prompt.content;
}

async function readPrompt(run: GenerationRun): Promise<ReadPrompt> {
  const { engine, session, options, prompt } = run;
  const { onFull, parseSpecial, replacesContext } = prompt;
  const nCtx = session.nCtx();
  // A prompt at the start of a context begins with BOS, if the vocabulary asks for it.
  const addBos = prompt.addBos ?? (replacesContext || session.nPositions() === 0);
  const prefix = tokensOf(run, prompt.prefix ?? '', false, false);
  if (isConversation(prompt)) {
    const plan = { onFull, nCtx, maxTokens: options.maxTokens, addBos, prefix };
    return conversationPrompt(prompt.content, plan, { ...run, api: run.api() });
  }
  const text = tokensOf(run, prompt.content as string | Int32Array, addBos, parseSpecial);
  const tokens = Int32Array.from([...text, ...prefix]);
  const nKept = onFull === 'shift' ? engine.countKept(tokens, nCtx) : -1;
  return { tokens, images: [], end: '', nDropped: 0, nKept };
}

function tokensOf(
  { model, id }: GenerationRun,
  content: string | Int32Array,
  addBos: boolean,
  parseSpecial: boolean,
): Int32Array {
  return typeof content === 'string' ? model.encode(content, addBos, parseSpecial, id) : content;
}

/** Returns the text with which the answer begins, as if the model had written it. */
function prefixText({ model, prompt: { prefix = '' } }: GenerationRun): string {
  return typeof prefix === 'string' ? prefix : unwrap(model.decode(prefix, true));
}

function newAnswer(run: GenerationRun, read: ReadPrompt): EngineAnswer {
  const { model, api, prompt, options } = run;
  const { tools, maxThinkingTokens = -1 } = prompt;
  const { grammar, jsonSchema: schema, indent, openObjects } = options;
  const request = {
    ...{ tools: tools ?? '', grammar, schema, indent, openObjects },
    ...{ maxThinkingTokens, prompt: read.end },
    prefix: prefixText(run),
    isDivided: tools !== undefined,
    id: run.id,
  };
  if (tools === undefined) return unwrap(model.newAnswer(request));
  return unwrap(api().newAnswer(request, tools !== '[]'));
}

function addTo(result: GenerationResult, { text, reasoning, toolCalls = [] }: Said): void {
  result.text += text;
  if (reasoning !== undefined) result.reasoning = (result.reasoning ?? '') + reasoning;
  for (const { index, id = '', name = '', arguments: more } of toolCalls) {
    const calls = (result.toolCalls ??= []);
    const call = (calls[index] ??= { id, name, arguments: '' });
    call.arguments += more;
  }
}

/** Returns the answer as a message of the conversation. */
function assistantMessage(
  { text, reasoning, toolCalls }: GenerationResult,
  prefix: string,
): ChatMessage {
  const calls = toolCalls?.map(({ id, ...call }) => ({ id, type: 'function', function: call }));
  return {
    ...{ role: 'assistant', content: prefix + text },
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls && { tool_calls: calls }),
  };
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
