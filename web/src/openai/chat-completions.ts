import { KingletError } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import type { ChatText } from '../protocol.ts';
import type { GenerateOptions, GenerationResult, ToolCallPiece } from '../types.ts';
import {
  answerHead,
  AnswerStream,
  controllerOf,
  finishReasonOf,
  randomName,
  usageOf,
} from './answers.ts';
import { tokenLogprob } from './logprobs.ts';
import { templateMessages } from './messages.ts';
import {
  numberOfChoices,
  optionsOfChoice,
  present,
  refuseUnknown,
  samplingOptions,
} from './sampling.ts';
import { callSchema, chosenTools, toolStyle } from './tools.ts';
import type { ChosenTools } from './tools.ts';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionDelta,
  ChatCompletionParams,
  ChatFinishReason,
  ChoiceLogprobs,
  FunctionCall,
  NonStreaming,
  OpenAIOptions,
  RequestOptions,
  ResponseFormat,
  Streaming,
  TokenLogprob,
  ToolCallDelta,
} from './types.ts';

const known = [
  ...['messages', 'top_logprobs', 'max_completion_tokens', 'response_format', 'tools'],
  ...['tool_choice', 'parallel_tool_calls', 'reasoning_effort', 'chat_template_kwargs'],
];

export class ChatCompletions {
  readonly #model: Kinglet;
  readonly #options: OpenAIOptions;

  /** @internal */
  constructor(model: Kinglet, options: OpenAIOptions) {
    this.#model = model;
    this.#options = options;
  }

  /** Answers a conversation, at once or, with `stream`, in chunks. */
  create(
    params: ChatCompletionParams & NonStreaming,
    options?: RequestOptions,
  ): Promise<ChatCompletion>;
  create(
    params: ChatCompletionParams & Streaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<ChatCompletionChunk>>;
  create(
    params: ChatCompletionParams & (NonStreaming | Streaming),
    options?: RequestOptions,
  ): Promise<ChatCompletion | AnswerStream<ChatCompletionChunk>>;
  async create(
    params: ChatCompletionParams & (NonStreaming | Streaming),
    options: RequestOptions = {},
  ): Promise<ChatCompletion | AnswerStream<ChatCompletionChunk>> {
    const controller = controllerOf(options);
    const request = await prepare(this.#model, params, this.#options, controller.signal);
    const head = answerHead('chatcmpl', params, this.#model.info);
    if (params.stream) return new AnswerStream(controller, streamChunks(request, params, head));
    const choices: ChatCompletion['choices'] = [];
    const results: GenerationResult[] = [];
    for (let index = 0; index < request.nChoices; ++index) {
      choices.push(await wholeChoice(request, index, results));
    }
    return { ...head, object: 'chat.completion', choices, usage: usageOf(results) };
  }
}

interface ChatRequest {
  model: Kinglet;
  prompt: ChatText;
  options: GenerateOptions;
  nChoices: number;
  withLogprobs: boolean;
  tools: ChosenTools;
  nCallsAtMost: number;
}

async function prepare(
  model: Kinglet,
  params: ChatCompletionParams,
  { trustContent }: OpenAIOptions,
  signal: AbortSignal,
): Promise<ChatRequest> {
  refuseUnknown(params, known);
  const tools = chosenTools(params);
  const style = toolStyle(model.info);
  const { isForced } = tools;
  const messages = templateMessages(params.messages, tools.tools, style);
  const opening = await model.layOut(messages, {
    tools: tools.tools.length > 0 && style.isTaught ? tools.tools : undefined,
    variables: {
      ...(params.reasoning_effort === 'none' && { enable_thinking: false }),
      ...params.chat_template_kwargs,
    },
    trustContent,
  });
  const jsonSchema = isForced
    ? callSchema(tools.tools, style)
    : responseSchema(params.response_format);
  const options: GenerateOptions = {
    ...samplingOptions(params, { signal }),
    ...present({
      jsonSchema,
      logprobs: params.logprobs === true ? (params.top_logprobs ?? 0) : undefined,
    }),
    maxTokens: params.max_completion_tokens ?? params.max_tokens ?? model.info.nCtx,
  };
  return {
    ...{ model, options, tools },
    // A call that must be made is begun for the model, which then has only the JSON to write.
    prompt: isForced && style.mark !== '' ? withOwnText(opening, `${style.mark}\n`) : opening,
    nChoices: numberOfChoices(params),
    withLogprobs: params.logprobs === true,
    nCallsAtMost: params.parallel_tool_calls === false ? 1 : Infinity,
  };
}

/** Goes on with text that no message says. */
function withOwnText({ texts }: ChatText, text: string): ChatText {
  return { texts: texts.length % 2 === 1 ? [...texts, '', text] : [...texts, text] };
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

interface AnswerEvent {
  text: string;
  reasoning: string;
  calls: ToolCallDelta[];
  logprobs: TokenLogprob[];
}

/** One answer as it is written. Returns how it ended. */
async function* answerEvents(
  request: ChatRequest,
  choice: number,
  results: GenerationResult[],
): AsyncGenerator<AnswerEvent, ChatFinishReason, void> {
  const { model, prompt, options, tools, withLogprobs, nCallsAtMost } = request;
  const generation = model.answer(prompt, tools.tools, optionsOfChoice(options, choice));
  let nCalls = 0;
  let logprobs: TokenLogprob[] = []; // of the tokens read since the last event
  for await (const piece of generation) {
    const { text, reasoning = '', toolCalls = [] } = piece;
    if (withLogprobs && piece.token >= 0) logprobs.push(tokenLogprob(piece));
    const calls = toolCalls.filter(({ index }) => index < nCallsAtMost).map(toolCallDelta);
    if (text === '' && reasoning === '' && calls.length === 0) continue;
    nCalls = Math.max(nCalls, (calls.at(-1)?.index ?? -1) + 1);
    yield { text, reasoning, calls, logprobs };
    logprobs = [];
  }
  const result = await generation.result;
  results.push(result);
  if (logprobs.length > 0) yield { text: '', reasoning: '', calls: [], logprobs };
  return nCalls > 0 ? 'tool_calls' : finishReasonOf(result);
}

function toolCallDelta({ index, name, arguments: given }: ToolCallPiece): ToolCallDelta {
  return name === undefined
    ? { index, function: { arguments: given } }
    : { index, id: randomName(9), type: 'function', function: { name, arguments: given } };
}

async function wholeChoice(
  request: ChatRequest,
  index: number,
  results: GenerationResult[],
): Promise<ChatCompletion['choices'][number]> {
  const events = answerEvents(request, index, results);
  const logprobs: TokenLogprob[] = [];
  const calls: FunctionCall[] = [];
  let content = '';
  let reasoning = '';
  let next = await events.next();
  for (; !next.done; next = await events.next()) {
    const event = next.value;
    logprobs.push(...event.logprobs);
    content += event.text;
    reasoning += event.reasoning;
    event.calls.forEach((delta) => {
      addDelta(calls, delta);
    });
  }
  return {
    index,
    message: {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      refusal: null,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    finish_reason: next.value,
    logprobs: request.withLogprobs ? { content: logprobs, refusal: null } : null,
  };
}

function addDelta(calls: FunctionCall[], { index, ...delta }: ToolCallDelta): void {
  const call = calls[index];
  if (call) call.function.arguments += delta.function.arguments;
  else if ('id' in delta) calls.push({ ...delta, function: { ...delta.function } });
}

async function* streamChunks(
  request: ChatRequest,
  { stream_options: streamOptions }: ChatCompletionParams,
  head: ReturnType<typeof answerHead>,
): AsyncGenerator<ChatCompletionChunk, void, void> {
  const results: GenerationResult[] = [];
  const chunk = (
    index: number,
    delta: ChatCompletionDelta,
    finish: ChatFinishReason | null = null,
    logprobs: ChoiceLogprobs | null = null,
  ): ChatCompletionChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, finish_reason: finish, logprobs }],
  });
  for (let index = 0; index < request.nChoices; ++index) {
    yield chunk(index, { role: 'assistant', content: '' });
    const events = answerEvents(request, index, results);
    try {
      let next = await events.next();
      for (; !next.done; next = await events.next()) {
        const { text, reasoning, calls, logprobs: tokens } = next.value;
        const delta: ChatCompletionDelta = {
          ...(reasoning !== '' && { reasoning_content: reasoning }),
          ...((text !== '' || (reasoning === '' && calls.length === 0)) && { content: text }),
          ...(calls.length > 0 && { tool_calls: calls }),
        };
        const logprobs = request.withLogprobs ? { content: tokens, refusal: null } : null;
        yield chunk(index, delta, null, logprobs);
      }
      yield chunk(index, {}, next.value);
    } finally {
      // Where the reader leaves the loop, the generation ends.
      await events.return('stop');
    }
  }
  if (streamOptions?.include_usage === true) {
    yield { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(results) };
  }
}
