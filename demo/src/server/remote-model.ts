// A model of a server that speaks OpenAI's API, as what answers prompts.
import { settings } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Ending } from '../talk/exchange.ts';
import { countPictures, messagesOf, textBefore } from '../talk/messages.ts';
import type { Task, Writer } from '../talk/writer.ts';
import { chunksOf } from './events.ts';

/** The server wants an API key, or another one. */
export class KeyNeeded extends Error {}

interface ListedModel {
  id: string;
  context_length: number;
  can_chat: boolean;
}

export class RemoteModel implements Writer {
  readonly name: string;
  /** Tokens. */
  readonly contextLength: number;
  readonly canChat: boolean;
  // A server takes what an assistant said as whole.
  readonly canGoOnInChats = false;
  readonly #address: URL;
  readonly #key: string | undefined;
  /** Hears of a key that is refused later on; the answer fails with that, too. */
  onKeyNeeded: (error: KeyNeeded) => void = () => undefined;

  private constructor(address: URL, key: string | undefined, model: ListedModel) {
    this.name = model.id;
    this.contextLength = model.context_length;
    this.canChat = model.can_chat;
    this.#address = address;
    this.#key = key;
  }

  /**
   * The first model of the server at `address`, a URL that ends in `/v1/`.
   *
   * @throws KeyNeeded
   * @throws Error of a server that does not answer, or refuses
   */
  static async connect(address: URL, key: string | undefined): Promise<RemoteModel> {
    const response = await ask(new URL('models', address), key, {});
    const { data } = (await response.json()) as { data: ListedModel[] };
    const [model] = data;
    if (!model) throw new Error('The server has no model');
    return new RemoteModel(address, key, model);
  }

  async answer({ exchange, before, kept, signal }: Task): Promise<Ending> {
    const isChat = exchange.mode === 'chat';
    if (isChat && countPictures([...before, exchange]) > 0) {
      throw new Error('There are pictures in this conversation, and the server takes text only');
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
    if (!response.body) throw new Error('The server sent no answer');
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

/** Tokens are the server's own, so pieces have none. */
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
  // From the first on, as of a model in the page; one alone has no speed.
  const tokensPerSecond = seconds > 0 ? Math.max(0, completionTokens - 1) / seconds : 0;
  return { finishReason, usage: { completionTokens }, timings: { tokensPerSecond } };
}

async function ask(url: URL, key: string | undefined, request: RequestInit): Promise<Response> {
  const headers = new Headers(request.headers);
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`);
  const response = await fetch(url, { ...request, headers }).catch((error: unknown) => {
    if (request.signal?.aborted) throw error;
    throw new Error('The server does not answer', { cause: error });
  });
  if (response.ok) return response;
  const message = await errorOf(response);
  throw response.status === 401 ? new KeyNeeded(message) : new Error(message);
}

/** In its own words where it has some. */
async function errorOf(response: Response): Promise<string> {
  const status = `The server answers with status ${String(response.status)}`;
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return `The server says: ${error.message}`;
  } catch {
    return status;
  }
}
