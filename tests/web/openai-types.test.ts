// The facade has the types of the official client: `tsc -p .` checks this file.
import { openAI } from 'kinglet/openai';
import type { OpenAI as Facade } from 'kinglet/openai';
import type OpenAI from 'openai';
import { expect, it } from 'vitest';

type Chat = OpenAI.Chat.Completions.ChatCompletion;
type ChatChunk = OpenAI.Chat.Completions.ChatCompletionChunk;
type Events = AsyncIterable<OpenAI.Responses.ResponseStreamEvent>;

/** The part of the official client that the facade implements, as its users call it. */
interface Official {
  chat: {
    completions: {
      create(
        params: OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming,
        options?: { signal?: AbortSignal },
      ): Promise<Chat>;
      create(
        params: OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming,
        options?: { signal?: AbortSignal },
      ): Promise<AsyncIterable<ChatChunk> & { controller: AbortController }>;
    };
  };
  completions: {
    create(
      params: OpenAI.Completions.CompletionCreateParamsNonStreaming,
    ): Promise<OpenAI.Completions.Completion>;
    create(
      params: OpenAI.Completions.CompletionCreateParamsStreaming,
    ): Promise<AsyncIterable<OpenAI.Completions.Completion>>;
  };
  embeddings: {
    create(
      params: OpenAI.EmbeddingCreateParams,
      options?: { signal?: AbortSignal },
    ): Promise<OpenAI.CreateEmbeddingResponse>;
  };
  responses: {
    create(
      params: OpenAI.Responses.ResponseCreateParamsNonStreaming,
      options?: { signal?: AbortSignal },
    ): Promise<OpenAI.Responses.Response>;
    create(
      params: OpenAI.Responses.ResponseCreateParamsStreaming,
      options?: { signal?: AbortSignal },
    ): Promise<Events & { controller: AbortController }>;
  };
}

const asOfficial = (facade: Facade): Official => facade;

/** Puts an answer back into the conversation unchanged. */
async function nextTurn(facade: Facade) {
  const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  ];
  const answer = await facade.chat.completions.create({ messages });
  const message = answer.choices[0]?.message;
  if (message) messages.push(message);
  return facade.chat.completions.create({ messages, stream: true });
}

/** Puts the items of an answer back into the conversation unchanged. */
async function nextResponse(facade: Facade) {
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Hello' }];
  const answer = await facade.responses.create({
    input: [{ role: 'user', content: 'Hello' }],
    tools: [{ type: 'function', name: 'get_time', parameters: null, strict: null }],
  });
  input.push(...answer.output);
  const items = [{ role: 'user', content: 'Hello' }, ...answer.output];
  return facade.responses.create({ input: items, stream: true });
}

it('fits where the official client does', () => {
  expect([openAI, asOfficial, nextTurn, nextResponse]).toHaveLength(4);
});
