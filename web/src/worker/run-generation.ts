// Runs a generation in the worker: the engine's events, pieces for the page, and measured times.
import type {
  EngineAnswer,
  EngineAnswerEvent,
  EngineApi,
  EngineImageRows,
  EngineModel,
  EngineModule,
  EngineResult,
  EngineSession,
} from '#engine';
import { emptyResult } from '../empty-result.ts';
import { KingletError } from '../errors.ts';
import type { Conversation, PostedGenerateOptions, PostedPrompt } from '../protocol.ts';
import type { ChatMessage, GenerationResult, ImageProgress, Piece } from '../types.ts';
import { conversationPrompt } from './conversation-prompt.ts';
import { unwrap } from './engine-error.ts';
import type { EngineLoop } from './engine-loop.ts';
import type { PictureReading } from './picture-reading.ts';

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
  const result = await answered(run);
  if (run.prompt.tools !== undefined) result.message = assistantMessage(result, prefixText(run));
  return result;
}

async function answered(run: GenerationRun): Promise<GenerationResult> {
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
  const { tokens, images, nDropped, nKept } = read;
  const engineOptions = { ...options, replacesContext: prompt.replacesContext, nKept, id };
  for (const image of images) session.giveImage(image);
  if (isConversation(prompt) && prompt.onFull !== 'error') result.dropped = nDropped;

  const add = (event: EngineAnswerEvent) => {
    usage.promptTokens = event.nPromptDone;
    usage.cachedTokens = event.nCached;
    usage.completionTokens = event.nGenerated;
    timings.promptMs = event.promptMs;
    timings.decodeMs = event.decodeMs;
    timings.guessedTokens = event.nGuessed;
    timings.keptTokens = event.nAccepted;
    if (nKept >= 0) result.droppedTokens = event.nDropped;
    if (event.nGenerated === 1 && event.token >= 0) {
      timings.firstTokenMs = performance.now() - startedAt;
    }
    const said = saidBy(event);
    if (event.token >= 0 || isSomething(said)) {
      addTo(result, said);
      run.onPiece({ ...said, ...drawn(model, event, options.logprobs) });
    }
    if (event.finishReason !== 'none') result.finishReason = event.finishReason;
    return event.isLast;
  };
  await run.loop.run<EngineResult<EngineAnswerEvent>>({
    isWanted: () => run.isWanted(),
    begin: (onEvent) => {
      session.start(tokens, answer, engineOptions, onEvent);
    },
    read: (event) => add(unwrap(event)),
    cancel: () => {
      session.cancel();
    },
  });
  timings.promptTokensPerSecond = rate(usage.promptTokens - usage.cachedTokens, timings.promptMs);
  timings.tokensPerSecond = rate(usage.completionTokens, timings.decodeMs);
  return result;
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
  if (typeof content !== 'string') return content;
  return unwrap(model.encode(content, addBos, parseSpecial, id));
}

/** Returns the text with which the answer begins, as if the model had written it. */
function prefixText({ model, prompt: { prefix = '' } }: GenerationRun): string {
  return typeof prefix === 'string' ? prefix : unwrap(model.decode(prefix, true));
}

function newAnswer(run: GenerationRun, read: ReadPrompt): EngineAnswer {
  const { model, api, prompt, options } = run;
  const { tools, maxThinkingTokens = -1 } = prompt;
  const { grammar, jsonSchema: schema, indent, openObjects } = options;
  const toolChoice = isConversation(prompt) ? prompt.content.toolChoice : '';
  const request = {
    ...{ tools: tools ?? '', toolChoice, grammar, schema, indent, openObjects },
    ...{ maxThinkingTokens, prompt: read.end },
    prefix: prefixText(run),
    id: run.id,
  };
  if (tools === undefined) return unwrap(model.newAnswer(request));
  return unwrap(api().newAnswer(request));
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
