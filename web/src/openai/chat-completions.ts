import type { Kinglet } from '../kinglet.ts';
import { answerHead, AnswerStream, controllerOf, usageOf } from './answers.ts';
import type { CountedResult } from './answers.ts';
import { answerEvents, prepareChat } from './chat-answers.ts';
import type { ChatRequest } from './chat-answers.ts';
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
  Streaming,
  TokenLogprob,
  ToolCallDelta,
} from './types.ts';

export class ChatCompletions {
  readonly #model: Kinglet;
  readonly #options: OpenAIOptions;

  /** @internal */
  constructor(model: Kinglet, options: OpenAIOptions) {
    this.#model = model;
    this.#options = options;
  }

  /** Answers a conversation: at once, or in chunks with `stream`. */
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
    const request = await prepareChat(this.#model, params, this.#options, controller.signal);
    const head = answerHead('chatcmpl', params, this.#model.info);
    if (params.stream) return new AnswerStream(controller, streamChunks(request, params, head));
    const choices: ChatCompletion['choices'] = [];
    const results: CountedResult[] = [];
    for (let index = 0; index < request.nChoices; ++index) {
      choices.push(await wholeChoice(request, index, results));
    }
    return { ...head, object: 'chat.completion', choices, usage: usageOf(results) };
  }
}

async function wholeChoice(
  request: ChatRequest,
  index: number,
  results: CountedResult[],
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
  const results: CountedResult[] = [];
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
    const events = answerEvents(request, index, results);
    try {
      // A request that cannot be answered fails before the first chunk.
      let next = await events.next();
      yield chunk(index, { role: 'assistant', content: '' });
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
      // If the reader leaves the loop, this ends the generation.
      await events.return('stop');
    }
  }
  if (streamOptions?.include_usage === true) {
    yield { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(results) };
  }
}
