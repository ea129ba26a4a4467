// Reads the answer to a conversation while it is generated. All chat APIs of the package use this.
import { KingletError } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import { checkedThinking } from '../options.ts';
import type { ChatText } from '../protocol.ts';
import type { GenerateOptions, ToolCallPiece } from '../types.ts';
import { finishReasonOf, randomName } from './answers.ts';
import type { CountedResult } from './answers.ts';
import { tokenLogprob } from './logprobs.ts';
import { templateMessages } from './messages.ts';
import { chatShape, checked, reading } from './request.ts';
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
  'max_thinking_tokens',
];

export interface ChatRequest {
  model: Kinglet;
  prompt: ChatText;
  options: GenerateOptions;
  nChoices: number;
  withLogprobs: boolean;
  tools: ChosenTools;
  nCallsAtMost: number;
  maxThinkingTokens: number | undefined;
}

/** Lays out a conversation. Rejects if the request asks for something unsupported. */
export async function prepareChat(
  model: Kinglet,
  given: ChatCompletionParams,
  { trustContent }: OpenAIOptions,
  signal: AbortSignal,
): Promise<ChatRequest> {
  const { knowsTools } = model.info;
  const { params, tools, messages, schema, sampling } = reading(() => {
    refuseUnknown(given, known);
    const params = checked(given, chatShape);
    const tools = chosenTools(params);
    return {
      ...{ params, tools, sampling: samplingOptions(params, { signal }) },
      messages: templateMessages(params.messages, tools.tools, knowsTools),
      schema: responseSchema(params.response_format),
    };
  });
  const prompt = await model.layOut(messages, {
    tools: tools.tools.length > 0 && knowsTools ? tools.tools : undefined,
    variables: {
      ...(params.reasoning_effort === 'none' && { enable_thinking: false }),
      ...params.chat_template_kwargs,
    },
    trustContent,
  });
  // A named function is called once, unless parallel calls are asked for.
  const isParallel = params.parallel_tool_calls ?? !tools.isNamed;
  const nCallsAtMost = isParallel ? Infinity : 1;
  const options: GenerateOptions = {
    ...sampling,
    ...present({
      jsonSchema: schema,
      logprobs: params.logprobs === true ? (params.top_logprobs ?? 0) : undefined,
    }),
    maxTokens: params.max_completion_tokens ?? params.max_tokens ?? model.info.nCtx,
  };
  return {
    ...{ model, prompt, options, tools },
    nChoices: numberOfChoices(params),
    withLogprobs: params.logprobs === true,
    nCallsAtMost,
    maxThinkingTokens: checkedThinking(params.max_thinking_tokens ?? undefined),
  };
}

function responseSchema(format: ResponseFormat | null | undefined): object | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return format.schema ?? { type: 'object' };
    case 'json_schema':
      return (format as Partial<typeof format>).json_schema?.schema ?? {};
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
  const { model, prompt, options, tools, withLogprobs, nCallsAtMost, maxThinkingTokens } = request;
  const mustCall = tools.isForced ? (nCallsAtMost > 1 ? 'several' : 'one') : undefined;
  const answerOptions = optionsOfChoice(options, choice);
  const demands = { tools: tools.tools, mustCall, maxThinkingTokens } as const;
  const generation = model.answer(prompt, demands, answerOptions);
  const given: string[] = []; // the arguments of each call
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
    for (const { index, function: more } of calls) {
      given[index] = (given[index] ?? '') + more.arguments;
    }
    yield { text, reasoning, calls, logprobs };
    logprobs = [];
  }
  const result = await generation.result;
  results.push({ ...result, reasoningTokens });
  if (logprobs.length > 0) yield { text: '', reasoning: '', calls: [], logprobs };
  if (given.length === 0) return finishReasonOf(result);
  // A call that is not whole was cut, whatever ended the answer.
  return given.every(isJson) ? 'tool_calls' : 'length';
}

/** Whether the arguments of a call are whole. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function toolCallDelta({ index, name, arguments: given }: ToolCallPiece): ToolCallDelta {
  return name === undefined
    ? { index, function: { arguments: given } }
    : { index, id: randomName(9), type: 'function', function: { name, arguments: given } };
}
