// Answers HTTP requests of OpenAI's API, without a network.
import { KingletError, messageOf } from '../errors.ts';
import type { ApiAnswer } from '../ask.ts';
import type { Kinglet } from '../kinglet.ts';
import { checkedFlag, checkModel } from '../options.ts';
import type { OpenAIOptions } from './types.ts';

/**
 * Returns a `fetch` that a model in the page answers, for clients of OpenAI's API that accept one:
 *
 * ```js
 * const fetch = createFetch(await Kinglet.load(url));
 * const client = new OpenAI({ fetch, baseURL: 'http://kinglet/v1', apiKey: 'none' });
 * ```
 *
 * Any address works that ends in `/chat/completions`, `/completions`, `/responses`, `/embeddings`,
 * `/rerank`, `/classify` or `/models`. Nothing is sent to a server. Aborting the request, or
 * cancelling its stream, ends the work. Errors are responses with a status and OpenAI's JSON, and
 * with the header `x-should-retry: false`.
 */
export function createFetch(
  model: Kinglet,
  { trustContent = false }: OpenAIOptions = {},
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  checkModel('the model', model);
  checkedFlag('trustContent', trustContent);
  return async (input, init) => {
    // The signal of a Request made from `init` follows this signal only while the Request is held.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    signal?.throwIfAborted();
    try {
      // Node knows no page that a path would be relative to.
      const address = input instanceof Request ? input : new URL(input, 'http://kinglet/');
      const request = new Request(address, init);
      const { method } = request;
      const path = new URL(request.url).pathname.replace(/(.)\/$/, '$1');
      const body = await request.text();
      return responseOf(await model.ask({ method, path, body, trustContent }, signal));
    } catch (error) {
      signal?.throwIfAborted();
      return errorResponse(error);
    }
  };
}

function responseOf(answer: ApiAnswer): Response {
  if (!answer.events) return jsonResponse(answer.status, answer.body);
  return new Response(bytesOf(answer.events), {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  });
}

/** The status is sent already when a stream fails: its last event reports the error. */
function bytesOf(events: ReadableStream<string>): ReadableStream<Uint8Array> {
  const reader = events.getReader();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        if (!(error instanceof KingletError)) throw error; // the signal's reason
        controller.enqueue(encoder.encode(`data: ${errorBody(error)}\n\n`));
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function jsonResponse(status: number, body: string): Response {
  const headers = { 'content-type': 'application/json' };
  const refused = status === 200 ? {} : { 'x-should-retry': 'false' };
  return new Response(body, { status, headers: { ...headers, ...refused } });
}

/** For an error outside of the engine, which answers all others: the model is gone. */
function errorResponse(error: unknown): Response {
  return jsonResponse(error instanceof KingletError ? 503 : 500, errorBody(error));
}

function errorBody(error: unknown): string {
  const code = error instanceof KingletError ? error.code : null;
  const members = { message: messageOf(error), type: 'server_error', param: null, code };
  return JSON.stringify({ error: members });
}
