// Reads answers that a server sends as events, in OpenAI's format.

/** The fields of a chunk that the page reads, for a chat or a text. */
export interface Chunk {
  choices: {
    text?: string;
    delta?: { content?: string | null; reasoning_content?: string | null };
    finish_reason?: string | null;
  }[];
  usage?: { completion_tokens: number } | null;
  error?: { message: string };
}

/**
 * Yields the chunks before `[DONE]`.
 *
 * @throws Error if the answer ends without `[DONE]`, or reports an error
 */
export async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  for await (const data of eventsOf(body)) {
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) throw new Error(`The server reports: ${chunk.error.message}`);
    yield chunk;
  }
  throw new Error('The server stopped in the middle of its answer');
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader(); // not all browsers can iterate over a stream
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (text + decoder.decode(value, { stream: true })).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
