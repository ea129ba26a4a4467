// Answers HTTP requests of OpenAI's API, without a network.
import { KingletError, messageOf } from '../errors.ts';
import type { KingletErrorCode } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import { AnswerStream } from './answers.ts';
import { ChatCompletions } from './chat-completions.ts';
import { Embeddings } from './embeddings.ts';
import { rerank } from './rerank.ts';
import { Responses } from './responses.ts';
import { TextCompletions } from './text-completions.ts';
import type { OpenAIOptions } from './types.ts';

/** Answers a request's body, either at once or in parts. */
type Answer = (params: never, options: { signal: AbortSignal | undefined }) => Promise<object>;

/**
 * Returns a `fetch` that a model in the page answers, for clients of OpenAI's API that accept one:
 *
 * ```js
 * const fetch = createFetch(await Kinglet.load(url));
 * const client = new OpenAI({ fetch, baseURL: 'http://kinglet/v1', apiKey: 'none' });
 * ```
 *
 * Any address works that ends in `/chat/completions`, `/completions`, `/responses`, `/embeddings`,
 * `/rerank` or `/models`. Nothing is sent to a server. Aborting the request, or cancelling its
 * stream, ends the work. Errors are responses with a status and OpenAI's JSON, and with the header
 * `x-should-retry: false`.
 */
export function createFetch(
  model: Kinglet,
  options: OpenAIOptions = {},
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  const [chats, texts] = [new ChatCompletions(model, options), new TextCompletions(model)];
  const [responses, embeddings] = [new Responses(model, options), new Embeddings(model)];
  const answers: Record<string, Answer> = {
    'chat/completions': (params, { signal }) => chats.create(params, { signal }),
    completions: (params, { signal }) => texts.create(params, { signal }),
    responses: (params, { signal }) => responses.create(params, { signal }),
    embeddings: (params, { signal }) => embeddings.create(params, { signal }),
    rerank: (params, { signal }) => rerank(model, params, { signal }),
  };
  return async (input, init) => {
    // The signal of a Request made from `init` follows this signal only while the Request is held.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    signal?.throwIfAborted();
    try {
      return await respond(new Request(input, init), answers, model, signal);
    } catch (error) {
      signal?.throwIfAborted();
      return errorResponse(error);
    }
  };
}

const places = /\/(chat\/completions|completions|responses|embeddings|rerank|models)(?:\/(.+))?$/;

async function respond(
  request: Request,
  answers: Record<string, Answer>,
  model: Kinglet,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, place = '', name] = places.exec(pathname.replace(/\/$/, '')) ?? [];
  const answer = answers[place];
  if (place === 'models') {
    if (request.method !== 'GET') throw new RequestError(405, 'models are asked for by GET');
    return Response.json(modelsAnswer(model, name));
  }
  if (!answer || name !== undefined) {
    throw new RequestError(404, `there is nothing at ${pathname}`);
  }
  if (request.method !== 'POST') throw new RequestError(405, `${pathname} is asked by POST`);
  const answered = await answer((await bodyOf(request)) as never, { signal });
  if (!(answered instanceof AnswerStream)) return Response.json(answered);
  const events = await eventStream(answered as AnswerStream<object>, place === 'responses', signal);
  return new Response(events, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  });
}

/** There is only one model: it answers under any name. */
function modelsAnswer({ info }: Kinglet, name: string | undefined): object {
  const model = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'kinglet' });
  return name === undefined
    ? { object: 'list', data: [model(info.name)] }
    : model(decodeURIComponent(name));
}

async function bodyOf(request: Request): Promise<object> {
  const text = await request.text();
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  } catch {
    // Thrown below.
  }
  throw new RequestError(400, 'the body must be a JSON object');
}

/**
 * Returns the parts of a stream as server-sent events. With `isTyped`, each event names its type.
 * Rejects if already the first part fails.
 */
async function eventStream(
  parts: AnswerStream<object>,
  isTyped: boolean,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const iterator = parts[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const event = (part: object) => {
    const head = isTyped && 'type' in part ? `event: ${String(part.type)}\n` : '';
    return encoder.encode(`${head}data: ${JSON.stringify(part)}\n\n`);
  };
  let first: IteratorResult<object, void> | undefined = await iterator.next();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = first ?? (await iterator.next());
        first = undefined;
        if (!done) {
          controller.enqueue(event(value));
          return;
        }
        if (!isTyped) controller.enqueue(encoder.encode('data: [DONE]\n\n'));
      } catch (error) {
        signal?.throwIfAborted();
        controller.enqueue(event({ type: 'error', ...errorBody(error) }));
      }
      controller.close();
    },
    cancel(reason) {
      parts.controller.abort(reason);
    },
  });
}

/** A request that is refused before the model is asked. */
class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Codes that are not listed get 500: the engine failed, not the request. */
const statuses: Partial<Record<KingletErrorCode, number>> = {
  ...{ invalid_argument: 400, invalid_grammar: 400, prompt_too_long: 400, context_full: 400 },
  ...{ unsupported_feature: 400, missing_tensor: 400, disposed: 503, worker_crashed: 503 },
};

function statusOf(error: unknown): number {
  if (error instanceof RequestError) return error.status;
  return (error instanceof KingletError ? statuses[error.code] : undefined) ?? 500;
}

function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  return Response.json(errorBody(error), { status, headers: { 'x-should-retry': 'false' } });
}

function errorBody(error: unknown): object {
  const isCallers = statusOf(error) < 500;
  const code = error instanceof KingletError ? error.code : null;
  return {
    error: {
      message: messageOf(error),
      type: isCallers ? 'invalid_request_error' : 'server_error',
      param: null,
      code: code === 'prompt_too_long' ? 'context_length_exceeded' : code,
    },
  };
}
