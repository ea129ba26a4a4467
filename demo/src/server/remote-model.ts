// A writer that uses a model on a server with OpenAI's API.
import { settings } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Ending } from '../talk/exchange.ts';
import { countPictures, messagesOf, textBefore } from '../talk/messages.ts';
import type { Task, Writer } from '../talk/writer.ts';
import { chunksOf } from './events.ts';

/** The server needs an API key, or refuses the given one. */
export class KeyNeeded extends Error {}

interface ListedModel {
  id: string;
  context_length: number;
  can_chat: boolean;
}

export class RemoteModel implements Writer {
  readonly name: string;
  /** In tokens. */
  readonly contextLength: number;
  readonly canChat: boolean;
  // A server takes an assistant's message as complete.
  readonly canGoOnInChats = false;
  readonly #address: URL;
  readonly #key: string | undefined;
  /** Called if the server refuses the key later; the answer fails with the same error. */
  onKeyNeeded: (error: KeyNeeded) => void = () => undefined;

  private constructor(address: URL, key: string | undefined, model: ListedModel) {
    this.name = model.id;
    this.contextLength = model.context_length;
    this.canChat = model.can_chat;
    this.#address = address;
    this.#key = key;
  }

  /**
   * Returns the first model of the server at `address`, a URL that ends in `/v1/`.
   *
   * @throws KeyNeeded
   * @throws Error if the server does not answer, or refuses
   */
  static async connect(address: URL, key: string | undefined): Promise<RemoteModel> {
    const response = await ask(new URL('models', address), key, {});
    const { data } = (await response.json()) as { data: ListedModel[] };
    const [model] = data;
    if (!model) throw new Error('The server does not name a model');
    return new RemoteModel(address, key, model);
  }

  async answer({ exchange, before, kept, signal }: Task): Promise<Ending> {
    const isChat = exchange.mode === 'chat';
    if (isChat && countPictures([...before, exchange]) > 0) {
      throw new Error(
        'This conversation contains pictures, and this page sends the server text only',
      );
    }
    const said = isChat
      ? { messages: messagesOf(exchange, before) }
      : { prompt: exchange.prompt + textBefore(kept) };
    const body = JSON.stringify({ model: this.name, ...said, ...fieldsOf(settings.value) });
    const path = isChat ? 'chat/completions' : 'completions';
    const headers = { 'Content-Type': 'application/json' };
    const request = { ...{ method: 'POST', headers, body }, signal };
    const response = await ask(new URL(path, this.#address), this.#key, request).catch(
      (error: unknown) => {
        if (error instanceof KeyNeeded) this.onKeyNeeded(error);
        throw error;
      },
    );
    if (!response.body) throw new Error('The server sent an empty answer');
    return read(response.body, exchange);
  }
}

function fieldsOf(chosen: Settings): object {
  return {
    temperature: chosen.temperature,
    top_k: chosen.topK,
    top_p: chosen.topP,
    min_p: chosen.minP,
    repeat_penalty: chosen.repeatPenalty,
    max_tokens: chosen.maxTokens,
    seed: chosen.seed, // undefined is left out
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Reads an answer. The page does not know the server's tokens, so the pieces have none. */
async function read(body: ReadableStream<Uint8Array>, exchange: Task['exchange']): Promise<Ending> {
  let completionTokens = 0;
  let finishReason: Ending['finishReason'] = 'stop';
  let first: number | undefined;
  for await (const { choices, usage } of chunksOf(body)) {
    const [choice] = choices;
    const text = choice?.text ?? choice?.delta?.content ?? '';
    const reasoning = choice?.delta?.reasoning_content ?? '';
    if (text + reasoning !== '') {
      first ??= performance.now();
      exchange.add({ token: -1, text, reasoning });
    }
    if (choice?.finish_reason === 'length') finishReason = 'length';
    if (usage) completionTokens = usage.completion_tokens;
  }
  const seconds = (performance.now() - (first ?? performance.now())) / 1000;
  // The time since the first token, as for a model in the page; a single token has no speed.
  const tokensPerSecond = seconds > 0 ? Math.max(0, completionTokens - 1) / seconds : 0;
  return { finishReason, usage: { completionTokens }, timings: { tokensPerSecond } };
}

async function ask(url: URL, key: string | undefined, request: RequestInit): Promise<Response> {
  const headers = new Headers(request.headers);
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`);
  const response = await fetch(url, { ...request, headers }).catch((error: unknown) => {
    if (request.signal?.aborted) throw error;
    throw new Error('The server does not respond', { cause: error });
  });
  if (response.ok) return response;
  const message = await errorOf(response);
  throw response.status === 401 ? new KeyNeeded(message) : new Error(message);
}

/** The server's error message if it sent one; else the status. */
async function errorOf(response: Response): Promise<string> {
  const status = `The server answered with status ${String(response.status)}`;
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return `The server reports: ${error.message}`;
  } catch {
    return status;
  }
}
