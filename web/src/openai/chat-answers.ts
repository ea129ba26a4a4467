// Reads the answer to a conversation while it is generated. All chat APIs of the package use this.
import { KingletError } from '../errors.ts';
import { grammarOfCalls } from '../json-schema/calls.ts';
import type { Kinglet } from '../kinglet.ts';
import { ownEnd } from '../protocol.ts';
import type { ChatText } from '../protocol.ts';
import { knownTools } from '../tools.ts';
import type { GenerateOptions, ToolCallPiece } from '../types.ts';
import { finishReasonOf, randomName } from './answers.ts';
import type { CountedResult } from './answers.ts';
import { tokenLogprob } from './logprobs.ts';
import { templateMessages } from './messages.ts';
import {
  numberOfChoices,
  optionsOfChoice,
  present,
  refuseUnknown,
  samplingOptions,
} from './sampling.ts';
import { chosenTools } from './tools.ts';
import type { ChosenTools } from './tools.ts';
import type {
  ChatCompletionParams,
  ChatFinishReason,
  OpenAIOptions,
  ResponseFormat,
  TokenLogprob,
  ToolCallDelta,
} from './types.ts';

const known = [
  ...['messages', 'top_logprobs', 'max_completion_tokens', 'response_format', 'tools'],
  ...['tool_choice', 'parallel_tool_calls', 'reasoning_effort', 'chat_template_kwargs'],
];

export interface ChatRequest {
  model: Kinglet;
  prompt: ChatText;
  options: GenerateOptions;
  nChoices: number;
  withLogprobs: boolean;
  tools: ChosenTools;
  nCallsAtMost: number;
}

/** Lays out a conversation. Rejects if the request asks for something unsupported. */
export async function prepareChat(
  model: Kinglet,
  params: ChatCompletionParams,
  { trustContent }: OpenAIOptions,
  signal: AbortSignal,
): Promise<ChatRequest> {
  refuseUnknown(params, known);
  const tools = chosenTools(params);
  const { knowsTools } = model.info;
  const messages = templateMessages(params.messages, tools.tools, knowsTools);
  const prompt = await model.layOut(messages, {
    tools: tools.tools.length > 0 && knowsTools ? tools.tools : undefined,
    variables: {
      ...(params.reasoning_effort === 'none' && { enable_thinking: false }),
      ...params.chat_template_kwargs,
    },
    trustContent,
  });
  const nCallsAtMost = params.parallel_tool_calls === false ? 1 : Infinity;
  const options: GenerateOptions = {
    ...samplingOptions(params, { signal }),
    ...present({
      ...(tools.isForced
        ? { grammar: callGrammar(model, tools, prompt, nCallsAtMost > 1) }
        : { jsonSchema: responseSchema(params.response_format) }),
      logprobs: params.logprobs === true ? (params.top_logprobs ?? 0) : undefined,
    }),
    maxTokens: params.max_completion_tokens ?? params.max_tokens ?? model.info.nCtx,
  };
  return {
    ...{ model, prompt, options, tools },
    nChoices: numberOfChoices(params),
    withLogprobs: params.logprobs === true,
    nCallsAtMost,
  };
}

function callGrammar(
  { info: { callFormat: format } }: Kinglet,
  { tools }: ChosenTools,
  prompt: ChatText,
  mayBeSeveral: boolean,
): string {
  const known = knownTools(tools);
  return grammarOfCalls({ tools, known, format, mayBeSeveral }, ownEnd(prompt));
}

function responseSchema(format: ResponseFormat | undefined): object | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'object' };
    case 'json_schema':
      return format.json_schema.schema ?? {};
    default:
      throw new KingletError(
        'invalid_argument',
        `the response_format "${String((format as { type: unknown }).type)}" is not supported`,
      );
  }
}

export interface AnswerEvent {
  text: string;
  reasoning: string;
  calls: ToolCallDelta[];
  logprobs: TokenLogprob[];
}

/** Yields one answer while it is generated. Returns how the answer ended. */
export async function* answerEvents(
  request: ChatRequest,
  choice: number,
  results: CountedResult[],
): AsyncGenerator<AnswerEvent, ChatFinishReason, void> {
  const { model, prompt, options, tools, withLogprobs, nCallsAtMost } = request;
  const generation = model.answer(prompt, tools, optionsOfChoice(options, choice));
  let nCalls = 0;
  let nTokens = 0;
  let reasoningTokens = 0;
  let logprobs: TokenLogprob[] = []; // for the tokens read since the last event
  for await (const piece of generation) {
    const { text, reasoning = '', toolCalls = [] } = piece;
    if (piece.token >= 0) ++nTokens;
    if (reasoning !== '') reasoningTokens = nTokens;
    if (withLogprobs && piece.token >= 0) logprobs.push(tokenLogprob(piece));
    const calls = toolCalls.filter(({ index }) => index < nCallsAtMost).map(toolCallDelta);
    if (text === '' && reasoning === '' && calls.length === 0) continue;
    nCalls = Math.max(nCalls, (calls.at(-1)?.index ?? -1) + 1);
    yield { text, reasoning, calls, logprobs };
    logprobs = [];
  }
  const result = await generation.result;
  results.push({ ...result, reasoningTokens });
  if (logprobs.length > 0) yield { text: '', reasoning: '', calls: [], logprobs };
  return nCalls > 0 ? 'tool_calls' : finishReasonOf(result);
}

function toolCallDelta({ index, name, arguments: given }: ToolCallPiece): ToolCallDelta {
  return name === undefined
    ? { index, function: { arguments: given } }
    : { index, id: randomName(9), type: 'function', function: { name, arguments: given } };
}
