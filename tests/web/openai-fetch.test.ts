// Existing clients for OpenAI's API, with a fetch() that a model in the page answers.
import { readFileSync } from 'node:fs';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { embedMany, generateText, Output, streamText } from 'ai';
import { Kinglet } from 'kinglet';
import { createFetch } from 'kinglet/openai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { collect, scriptedModel } from './scripted-model.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const baseURL = 'http://kinglet/v1';
const opening = 'Once upon a time';
const greedy = { temperature: 0, max_tokens: 20 };
const spelled = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const oslo = { city: 'Oslo' };
const parameters = {
  ...{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  additionalProperties: false,
};
const messages = [{ role: 'user', content: opening } as const];

let kinglet: Kinglet;
let expected: string;
beforeAll(async () => {
  const bytes = new Uint8Array(readFileSync(storyModel));
  const template = '{% for m in messages %}{{ m.content }}{% endfor %}';
  kinglet = await Kinglet.load(withChatTemplate(bytes, template), { nThreads: 1 });
  ({ text: expected } = await kinglet.generate(opening, { temperature: 0, maxTokens: 20 }).result);
});
afterAll(() => {
  kinglet.dispose();
});

function clientOf(model: Kinglet): OpenAI {
  const fetch = createFetch(model);
  return new OpenAI({ baseURL, apiKey: 'none', fetch, dangerouslyAllowBrowser: true });
}

/** Returns a model that thinks, speaks and calls a tool, and in its next answer uses the result. */
function caller() {
  const said = `<think>\nHm.\n</think>\n\nI look.\n${spelled}`;
  return scriptedModel('marks', (i) => (i % 2 === 0 ? said : 'It rains.'));
}

/** A request whose answer does not end: control tokens are banned, and old tokens make room. */
const endless = {
  ...{ model: 'any', messages, temperature: 0, max_tokens: 1_000_000 },
  ...{ logit_bias: { 1: -100, 2: -100 }, on_full: 'shift' },
};

/** Aborts work after 50 ms and returns its answer or error. The engine must then be free. */
async function whileWorking(ask: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const controller = new AbortController();
  const asked = ask(controller.signal).then(
    () => 'an answer',
    (error: unknown) => error,
  );
  setTimeout(() => {
    controller.abort();
  }, 50);
  const ended = await asked;
  await kinglet.generate('a', { maxTokens: 1 }).result; // it would wait for an endless answer
  return ended;
}

describe("OpenAI's client", () => {
  it('chats, at once and in a stream', async () => {
    const client = clientOf(kinglet);
    const answer = await client.chat.completions.create({ model: 'any', messages, ...greedy });
    expect(answer.choices[0]!.message.content).toBe(expected);
    const stream = await client.chat.completions.create({
      ...{ model: 'any', messages, ...greedy, stream: true },
      stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe(expected);
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks.at(-1)!.usage!.completion_tokens).toBe(20);
  });

  it('continues texts, makes vectors and lists models', async () => {
    const client = clientOf(kinglet);
    const answer = await client.completions.create({ model: 'any', prompt: opening, ...greedy });
    expect(answer.choices[0]!.text).toBe(expected);
    const [vector] = await kinglet.embed(['A dog.']);
    const list = await client.embeddings.create({ model: 'any', input: 'A dog.' });
    expect(list.data[0]!.embedding).toEqual([...vector]);
    const models = await collect(client.models.list());
    expect(models).toMatchObject([{ id: kinglet.info.name, object: 'model' }]);
    expect((await client.models.retrieve('a/b')).id).toBe('a/b');
  });

  it('asks for responses, and reads their events', async () => {
    const client = clientOf(kinglet);
    const ask = { model: 'any', input: opening, temperature: 0, max_output_tokens: 20 };
    expect((await client.responses.create(ask)).output_text).toBe(expected);
    const stream = client.responses.stream(ask);
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => (text += delta));
    const response = await stream.finalResponse();
    expect([text, response.output_text]).toEqual([expected, expected]);
  });

  it('streams thoughts and the arguments of calls, and gives their results back', async () => {
    const { model, requests } = await caller();
    const client = clientOf(model);
    const deltas: string[] = [];
    const thoughts: unknown[] = [];
    const runner = client.chat.completions
      .runTools({
        ...{ model: 'any', messages, stream: true },
        tools: [
          {
            type: 'function',
            function: {
              ...{ name: 'get_weather', description: 'The weather', parameters },
              parse: JSON.parse as (text: string) => typeof oslo,
              function: ({ city }: typeof oslo) => `Rain in ${city}`,
            },
          },
        ],
      })
      .on('chunk', ({ choices }) => {
        const delta = choices[0]?.delta;
        deltas.push(...(delta?.tool_calls ?? []).map((call) => call.function?.arguments ?? ''));
        thoughts.push((delta as { reasoning_content?: string }).reasoning_content ?? '');
      });
    expect(await runner.finalContent()).toBe('It rains.');
    expect(deltas.filter((delta) => delta !== '').length).toBeGreaterThan(2);
    expect(JSON.parse(deltas.join(''))).toEqual(oslo);
    expect(thoughts.join('')).toBe('Hm.');
    const { messages: told } = requests[1] as { messages: object[] };
    expect(told.at(-1)).toMatchObject({ role: 'tool', content: 'Rain in Oslo' });

    const events = await collect(
      await client.responses.create({
        ...{ model: 'any', input: 'Weather?', stream: true },
        tools: [{ type: 'function', name: 'get_weather', parameters, strict: true }],
      }),
    );
    const types = new Set(events.map(({ type }) => type));
    expect(types).toContain('response.reasoning_text.delta');
    const given = events.filter((event) => event.type === 'response.function_call_arguments.delta');
    expect(JSON.parse(given.map(({ delta }) => delta).join(''))).toEqual(oslo);
  });

  it('hears of errors as the service tells them, and asks once', async () => {
    const client = clientOf(kinglet);
    const ask = { model: 'any', messages };
    await expect(client.chat.completions.create({ ...ask, n: 0 })).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_argument', type: 'invalid_request_error' },
      message: expect.stringMatching(/n is 0/) as string,
    });
    const long = [{ role: 'user', content: 'dog '.repeat(5000) } as const];
    for (const stream of [false, true]) {
      const asked = client.chat.completions.create({ ...ask, messages: long, stream });
      await expect(asked).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    }
    await expect(client.responses.create({ model: 'any' })).rejects.toBeInstanceOf(
      OpenAI.BadRequestError,
    );
    await expect(client.images.generate({ prompt: 'A dog' })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    const gone = await Kinglet.load(new Blob([readFileSync(storyModel)]), { nThreads: 1 });
    gone.dispose();
    let nAsked = 0;
    const counted: typeof fetch = (input, init) => {
      ++nAsked;
      return createFetch(gone)(input, init);
    };
    const late = new OpenAI({ baseURL, apiKey: 'none', fetch: counted });
    await expect(late.completions.create({ model: 'any', prompt: 'A' })).rejects.toMatchObject({
      ...{ status: 503, code: 'disposed' },
    });
    expect(nAsked).toBe(1);
  });

  it('ends the work when it aborts, or leaves the loop', async () => {
    const client = clientOf(kinglet);
    const aborted = await whileWorking((signal) =>
      client.chat.completions.create(endless, { signal }),
    );
    expect(aborted).toBeInstanceOf(OpenAI.APIUserAbortError);
    await whileWorking(async (signal) => {
      const stream = await client.chat.completions.create({ ...endless, stream: true }, { signal });
      for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    });
  });
});

describe('the fetch alone', () => {
  it('ranks documents', async () => {
    const file = readFileSync(`${root}tests/fixtures/encoder/jina-bert-v2-rerank.gguf`);
    const ranker = await Kinglet.load(new Blob([file]), { nThreads: 1 });
    const fetch = createFetch(ranker);
    const documents = ['A dog ran.', { text: 'Rain fell.' }, 'It was late.'];
    const ask = (body: object) =>
      fetch('https://anywhere/v2/rerank/', { method: 'POST', body: JSON.stringify(body) });
    const answer = await ask({ query: 'rain', documents, top_n: 2, return_documents: true });
    const { results } = (await answer.json()) as {
      results: { index: number; relevance_score: number; document: { text: string } }[];
    };
    const texts = documents.map((given) => (typeof given === 'string' ? given : given.text));
    const ranked = await ranker.rerank('rain', texts, { topN: 2 });
    expect(results).toEqual(
      ranked.map(({ index, score }) => ({
        ...{ index, relevance_score: score, document: { text: texts[index] } },
      })),
    );
    for (const wrong of [{ documents: [] }, { documents: [null] }, { warmth: 1 }]) {
      expect((await ask({ query: 'rain', documents, ...wrong })).status).toBe(400);
    }
    ranker.dispose();
  });

  it.each([
    ['/v1/chat/completions', { method: 'POST', body: '{' }, 400],
    ['/v1/chat/completions', { method: 'POST', body: '[]' }, 400],
    ['/v1/chat/completions', {}, 404],
    ['/v1/models', { method: 'POST', body: '{}' }, 404],
    ['/v1/chat/completions/x', { method: 'POST', body: '{}' }, 404],
    ['/v1/audio/speech', { method: 'POST', body: '{}' }, 404],
    ['/', {}, 404],
  ])('answers %s %j by %d', async (path, init, status) => {
    const answer = await createFetch(kinglet)(new Request(`http://kinglet${path}`, init));
    expect(answer.status).toBe(status);
    expect((await createFetch(kinglet)(path, init)).status).toBe(status);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringMatching(/./) as string, type: 'invalid_request_error' },
    });
  });

  it('tells within the stream what goes wrong there, and ends where its reader leaves', async () => {
    const body = JSON.stringify({ ...endless, stream: true });
    const other = await Kinglet.load(
      withChatTemplate(new Uint8Array(readFileSync(storyModel)), '{{ messages[0].content }}'),
      { nThreads: 1 },
    );
    const broken = await createFetch(other)(`${baseURL}/chat/completions`, {
      ...{ method: 'POST', body },
    });
    other.dispose();
    const text = await broken.text();
    expect(text).toMatch(/^data: \{.*\}\n\n/);
    expect(text).toMatch(/"code":"disposed"\}\}\n\n$/);
    await whileWorking(async () => {
      const answer = await createFetch(kinglet)(`${baseURL}/chat/completions`, {
        ...{ method: 'POST', body },
      });
      const reader = answer.body!.getReader();
      await reader.read();
      await reader.cancel();
    });
    await expect(
      createFetch(kinglet)(`${baseURL}/models`, { signal: AbortSignal.abort('no') }),
    ).rejects.toBe('no');
  });
});

describe("the AI SDK's provider for compatible services", () => {
  const providerOf = (model: Kinglet) =>
    createOpenAICompatible({
      ...{ name: 'kinglet', baseURL, fetch: createFetch(model), includeUsage: true },
      supportsStructuredOutputs: true,
    });

  it('makes text, streams it and embeds', async () => {
    const provider = providerOf(kinglet);
    const ask = { model: provider('any'), prompt: opening, temperature: 0, maxOutputTokens: 20 };
    const { text, usage } = await generateText(ask);
    expect([text, usage.outputTokens]).toEqual([expected, 20]);
    const pieces = await collect(streamText(ask).textStream);
    expect(pieces.join('')).toBe(expected);
    const values = ['A dog.', 'Rain.'];
    const { embeddings } = await embedMany({ model: provider.embeddingModel('any'), values });
    expect(embeddings).toEqual((await kinglet.embed(values)).map((vector) => [...vector]));
  });

  it('makes objects of a schema', async () => {
    const { output } = await generateText({
      ...{ model: providerOf(kinglet)('any'), prompt: opening, temperature: 1, seed: 2 },
      output: Output.object({ schema: z.object({ age: z.int(), isTired: z.boolean() }) }),
    });
    expect(output).toEqual({
      age: expect.any(Number) as number,
      isTired: expect.any(Boolean) as boolean,
    });
  });

  it('reads thoughts', async () => {
    const { model } = await caller();
    const answer = await generateText({ model: providerOf(model)('any'), prompt: 'Weather?' });
    expect(answer.reasoningText).toBe('Hm.');
  });
});

describe("LangChain's ChatOpenAI", () => {
  const chatOf = (model: Kinglet, maxTokens: number) =>
    new ChatOpenAI({
      ...{ model: 'any', apiKey: 'none', temperature: 0, maxTokens, maxRetries: 0 },
      configuration: { baseURL, fetch: createFetch(model) },
    });

  it('makes text, streams it and embeds', async () => {
    const chat = chatOf(kinglet, 20);
    const answer = await chat.invoke([new HumanMessage(opening)]);
    expect(answer.content).toBe(expected);
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: 20 } });
    const chunks = await collect(await chat.stream(opening));
    expect(chunks.map(({ text }) => text).join('')).toBe(expected);
    const embedder = new OpenAIEmbeddings({
      ...{ model: 'any', apiKey: 'none' },
      configuration: { baseURL, fetch: createFetch(kinglet) },
    });
    const [vector] = await kinglet.embed(['A dog.']);
    expect(await embedder.embedQuery('A dog.')).toEqual([...vector]);
  });

  it('calls tools, and makes objects of a schema', async () => {
    const schema = z.object({ city: z.string() });
    const weather = tool(({ city }) => `Rain in ${city}`, {
      ...{ name: 'get_weather', description: 'The weather', schema },
    });
    const answer = await chatOf((await caller()).model, 200)
      .bindTools([weather])
      .invoke('Weather?');
    expect(answer.tool_calls).toMatchObject([{ name: 'get_weather', args: oslo }]);
    const place = z.object({ place: z.enum(['garden', 'sea']) });
    const structured = chatOf(kinglet, 100).withStructuredOutput(place, { method: 'jsonSchema' });
    const made = await structured.invoke(opening);
    expect(['garden', 'sea']).toContain(made.place);
  });
});
