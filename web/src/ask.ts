import type { PostedRequest } from './protocol.ts';
import { whenAborted } from './when-aborted.ts';
import type { Client } from './worker-client.ts';

/** A whole answer in JSON, or the server-sent events of a stream: each text has whole ones. */
export type ApiAnswer =
  { status: number; body: string; events?: undefined } | { events: ReadableStream<string> };

/**
 * Answers a request of OpenAI's API in a session. Cancelling the stream ends the work. Rejects, or
 * ends the stream, with the signal's reason or a KingletError that is not the request's fault.
 */
export function ask(
  client: Client,
  session: number,
  request: PostedRequest,
  signal: AbortSignal | undefined,
): Promise<ApiAnswer> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    let stream: ReadableStreamDefaultController<string> | undefined;
    let isOver = false;
    const stopWaiting = whenAborted(signal, () => {
      client.cancel(id);
      fail(signal?.reason);
    });
    const end = () => {
      isOver = true;
      stopWaiting();
    };
    const fail = (reason: unknown) => {
      if (isOver) return;
      end();
      if (stream) stream.error(reason);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- of a signal
      else reject(reason);
    };
    const open = () => {
      const events = new ReadableStream<string>({
        start: (controller) => {
          stream = controller;
        },
        cancel: () => {
          end();
          client.cancel(id);
        },
      });
      resolve({ events });
    };
    let id = 0;
    id = client.call(
      'ask',
      { session, request },
      {
        onNotice: (events) => {
          if (isOver) return;
          if (!stream) open();
          stream?.enqueue(events);
        },
        onAnswer: (answer) => {
          if (isOver) return;
          end();
          if (stream) stream.close();
          else resolve(answer);
        },
        onError: fail,
      },
    );
  });
}
