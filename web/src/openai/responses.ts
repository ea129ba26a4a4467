import type { Kinglet } from '../kinglet.ts';
import { AnswerStream, controllerOf, randomName, usageOf } from './answers.ts';
import type { CountedResult } from './answers.ts';
import { answerEvents, prepareChat } from './chat-answers.ts';
import type { ChatRequest } from './chat-answers.ts';
import { chatParams, isFunction } from './response-input.ts';
import { checked, reading, responseShape } from './request.ts';
import { ResponseOutput } from './response-output.ts';
import type {
  ModelResponse,
  ResponseParams,
  ResponseStreamEvent,
  ResponseToolChoice,
  ResponseUsage,
  ResponseEvent,
} from './responses-types.ts';
import type { NonStreaming, OpenAIOptions, RequestOptions, Streaming } from './types.ts';

export class Responses {
  readonly #model: Kinglet;
  readonly #options: OpenAIOptions;

  /** @internal */
  constructor(model: Kinglet, options: OpenAIOptions) {
    this.#model = model;
    this.#options = options;
  }

  /** Answers a text or a conversation: at once, or in events with `stream`. */
  create(params: ResponseParams & NonStreaming, options?: RequestOptions): Promise<ModelResponse>;
  create(
    params: ResponseParams & Streaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<ResponseStreamEvent>>;
  create(
    params: ResponseParams & (NonStreaming | Streaming),
    options?: RequestOptions,
  ): Promise<ModelResponse | AnswerStream<ResponseStreamEvent>>;
  async create(
    given: ResponseParams & (NonStreaming | Streaming),
    options: RequestOptions = {},
  ): Promise<ModelResponse | AnswerStream<ResponseStreamEvent>> {
    const controller = controllerOf(options);
    const [params, chat] = reading(() => {
      const params = checked(given, responseShape);
      return [params, chatParams(params)] as const;
    });
    const request = await prepareChat(this.#model, chat, this.#options, controller.signal);
    const begun = begunResponse(params, this.#model);
    const events = counted(responseEvents(request, begun));
    if (params.stream) return new AnswerStream(controller, events);
    let response = begun;
    for await (const event of events) if ('response' in event) response = event.response;
    return response;
  }
}

async function* counted(
  events: AsyncIterable<ResponseEvent>,
): AsyncGenerator<ResponseStreamEvent, void, void> {
  let sequence = 0;
  for await (const event of events) yield { ...event, sequence_number: sequence++ };
}

async function* responseEvents(
  request: ChatRequest,
  begun: ModelResponse,
): AsyncGenerator<ResponseEvent, void, void> {
  const results: CountedResult[] = [];
  const output = new ResponseOutput();
  const answer = answerEvents(request, 0, results);
  try {
    // A request that cannot be answered fails before the first event.
    let next = await answer.next();
    yield { type: 'response.created', response: begun };
    yield { type: 'response.in_progress', response: begun };
    for (; !next.done; next = await answer.next()) yield* output.add(next.value);
    const status = next.value === 'length' ? 'incomplete' : 'completed';
    yield* output.end(status);
    yield { type: `response.${status}`, response: endedResponse(begun, status, output, results) };
  } finally {
    // If the reader leaves the loop, this ends the generation.
    await answer.return('stop');
  }
}

/** The response before it has any output. */
function begunResponse(params: ResponseParams, { info }: Kinglet): ModelResponse {
  return {
    ...{ id: `resp_${randomName(24)}`, object: 'response', status: 'in_progress' },
    created_at: Math.floor(Date.now() / 1000),
    ...{ error: null, incomplete_details: null, output: [], output_text: '' },
    model: params.model ?? info.name,
    instructions: params.instructions ?? null,
    max_output_tokens: params.max_output_tokens ?? null,
    metadata: params.metadata ?? null,
    parallel_tool_calls: params.parallel_tool_calls ?? true,
    previous_response_id: null,
    temperature: params.temperature ?? null,
    top_p: params.top_p ?? null,
    text: { format: params.text?.format ?? { type: 'text' } },
    tools: (params.tools ?? []).filter(isFunction),
    // Other kinds were refused by chatParams().
    tool_choice: (params.tool_choice ?? 'auto') as ResponseToolChoice,
    truncation: 'disabled',
  };
}

function endedResponse(
  begun: ModelResponse,
  status: 'completed' | 'incomplete',
  { done: output }: ResponseOutput,
  results: readonly CountedResult[],
): ModelResponse {
  const texts = output.flatMap((item) =>
    item.type === 'message' ? item.content.map(({ text }) => text) : [],
  );
  return {
    ...{ ...begun, status, output, output_text: texts.join(''), usage: responseUsage(results) },
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
  };
}

function responseUsage(results: readonly CountedResult[]): ResponseUsage {
  const usage = usageOf(results);
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details.cached_tokens,
      cache_write_tokens: 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details.reasoning_tokens },
    total_tokens: usage.total_tokens,
  };
}
