// The facade with OpenAI's API. api-corpus.test.ts compares the answers themselves with the server's.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { ChatCompletionParams, EmbeddingParams, FunctionTool } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, scriptedModel } from './scripted-model.ts';
import { storyModel, withChatTemplate } from './support.ts';

const weather: FunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather somewhere',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const clock: FunctionTool = { type: 'function', function: { name: 'get_time' } };

/** Returns a facade over a model with the template of that name, which answers with `said`. */
async function scripted(template: string, said: string) {
  return openAI((await scriptedModel(template, () => said)).model);
}

const user = (content: string) => [{ role: 'user', content }] as const;

describe('chat.completions', () => {
  it('answers in the shape of the API', async () => {
    const model = await scripted('smollm2', 'Hello');
    const answer = await model.chat.completions.create({
      messages: [{ role: 'developer', content: 'Be kind.' }, ...user('Hi')],
      ...{ model: 'my-model', max_tokens: 9, seed: 4, temperature: 0, stop: 'END' },
    });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-\w{24}$/) as string,
      object: 'chat.completion',
      model: 'my-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
    });
    expect(answer.choices[0]!.message).not.toHaveProperty('tool_calls');
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
  });

  it('streams chunks, and what it cost where asked to', async () => {
    const model = await scripted('smollm2', 'Hello you');
    const chunks = await collect(
      await model.chat.completions.create({
        ...{ messages: user('Hi'), stream: true, stream_options: { include_usage: true } },
      }),
    );
    const deltas = chunks.map(({ choices }) => choices[0]?.delta);
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
    expect(deltas.map((delta) => delta?.content ?? '').join('')).toBe('Hello you');
    expect(deltas.slice(-2)).toEqual([{}, undefined]);
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('stop');
    expect(chunks.at(-1)!.usage!.completion_tokens).toBeGreaterThan(1);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it.each([
    [{ messages: [] }, /at least one/],
    [{ messages: [null] }, /expected an object/],
    [{ messages: user('Hi'), tools: 5 }, /tools is 5/],
    [{ messages: [{ role: 'user', content: 'Hi', x: 1 }] }, /"messages\[0\].x" is not supported/],
    [{ messages: user('Hi'), audio: {} }, /"audio" is not supported/],
    [{ messages: user('Hi'), n: 0 }, /n is 0/],
    [{ messages: user('Hi'), tool_choice: 'required' }, /there are no tools/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      /must begin with "https:", "http:" or "data:"/,
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      /"input_audio" is not supported/,
    ],
    [{ messages: user('Hi'), max_tokens: 5n }, /the request cannot be written as JSON/],
  ])('refuses %o in words', async (params, message) => {
    const model = await scripted('marks', '');
    await expect(
      model.chat.completions.create(params as unknown as ChatCompletionParams),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('tools', () => {
  const ask = { messages: user('Weather in Oslo?'), tools: [weather, clock] };
  const oslo = { name: 'get_weather', arguments: '{"city":"Oslo"}' };
  const spelled =
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';

  it('are called between marks', async () => {
    const said = `I look.\n\n${spelled}\n<tool_call>\n{"name": "get_time"}\n</tool_call>\n`;
    const model = await scripted('marks', said);
    const { message, finish_reason: finish } = (await model.chat.completions.create(ask))
      .choices[0]!;
    expect(finish).toBe('tool_calls');
    expect(message.content).toBe('I look.');
    expect(message.tool_calls!.map((call) => call.function)).toEqual([
      oslo,
      { name: 'get_time', arguments: '{}' },
    ]);
    expect(message.tool_calls![0]!.id).toMatch(/^[A-Za-z0-9]{9}$/);
  });

  it('that are cut are not said to be whole', async () => {
    const model = await scripted('marks', spelled);
    const finishes = new Set<string>();
    for (let n = 1; !finishes.has('tool_calls'); ++n) {
      const { choices } = await model.chat.completions.create({ ...ask, max_tokens: n });
      const { message, finish_reason: finish } = choices[0]!;
      if (finish === 'tool_calls') expect(message.tool_calls![0]!.function).toEqual(oslo);
      else expect(finish).toBe('length');
      finishes.add(finish);
    }
    expect(finishes.size).toBe(2);
    const broken = await scripted('marks', spelled.replace('"Oslo"', '?'));
    const { choices } = await broken.chat.completions.create(ask);
    expect(choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: null, tool_calls: [{ function: { arguments: '{"city":?}}' } }] },
    });
  });

  it('are streamed piece by piece, each under its index', async () => {
    const model = await scripted('marks', `Hm <b>. ${spelled}${spelled}`);
    const chunks = await collect(await model.chat.completions.create({ ...ask, stream: true }));
    const deltas = chunks.map(({ choices }) => choices[0]!.delta);
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('Hm <b>.');
    const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
    expect(calls.length).toBeGreaterThan(4);
    for (const index of [0, 1]) {
      const [first, ...rest] = calls.filter((call) => call.index === index);
      expect(first).toMatchObject({ type: 'function', function: { name: oslo.name } });
      const pieces = [first!, ...rest].map((call) => call.function.arguments);
      expect(pieces.join('')).toBe(oslo.arguments);
    }
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('tool_calls');
  });

  it.each([
    ['llama', '{"name": "get_weather", "parameters": {"city": "Oslo"}}'],
    ['llama', '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}'],
    ['mistral', '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}}]'],
  ])('of %s are an answer that is all JSON', async (template, said) => {
    const model = await scripted(template, said);
    const { message } = (await model.chat.completions.create(ask)).choices[0]!;
    expect(message).toMatchObject({ content: null, tool_calls: [{ function: oslo }] });
  });

  it.each([
    ['marks', 'Use <tool_call> and </tool_call>.'],
    ['marks', '<tool_call>{"name": "fly"}</tool_call>'],
    ['marks', 'a <tool'],
    ['marks', 'a <tool_call>{"name'],
    ['llama', '{"name": "fly"}'],
    ['llama', '{"name": "get_weather"'],
    ['llama', ' Hello {'],
  ])('of %s are not called by %j', async (template, said) => {
    const model = await scripted(template, said);
    const { message, finish_reason: finish } = (await model.chat.completions.create(ask))
      .choices[0]!;
    expect({ content: message.content, finish }).toEqual({ content: said, finish: 'stop' });
    expect(message).not.toHaveProperty('tool_calls');
  });

  it('are not found where the choice is none, and once where they must not be parallel', async () => {
    const model = await scripted('marks', spelled + spelled);
    const none = await model.chat.completions.create({ ...ask, tool_choice: 'none' });
    expect(none.choices[0]!.message.content).toBe(spelled + spelled);
    const one = await model.chat.completions.create({ ...ask, parallel_tool_calls: false });
    expect(one.choices[0]!.message.tool_calls).toHaveLength(1);
  });

  it.each(['smollm2', 'gemma-3', 'zephyr'])(
    'are called by %s too, whose template knows none',
    async (template) => {
      const model = await scripted(template, spelled);
      const answer = await model.chat.completions.create(ask);
      expect(answer.choices[0]!.message.tool_calls![0]!.function).toEqual(oslo);
    },
  );
});

describe('over the engine', () => {
  const template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{% if false %}{{ raise_exception('') }}{% endif %}";
  const opening = 'Once upon a time';
  const greedy = { temperature: 0, max_tokens: 20 };
  let kinglet: Kinglet;
  beforeAll(async () => {
    const bytes = new Uint8Array(readFileSync(storyModel));
    kinglet = await Kinglet.load(withChatTemplate(bytes, template), { nThreads: 1 });
  });
  afterAll(() => {
    kinglet.dispose();
  });

  it('answers as generate() does', async () => {
    const { chat, completions } = openAI(kinglet);
    const expected = await kinglet.generate(opening, { temperature: 0, maxTokens: 20 }).result;
    const answer = await chat.completions.create({ messages: user(opening), ...greedy });
    expect(answer.choices[0]!.message.content).toBe(expected.text);
    expect(answer).toMatchObject({
      model: kinglet.info.name,
      choices: [{ finish_reason: 'length' }],
      usage: { prompt_tokens: expected.usage.promptTokens, completion_tokens: 20 },
    });
    const chunks = await collect(
      await completions.create({ prompt: opening, stream: true, ...greedy }),
    );
    expect(chunks.map(({ choices }) => choices[0]!.text).join('')).toBe(expected.text);
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('length');

    const tokens = await kinglet.tokenize('One day');
    const several = await completions.create({
      ...{ prompt: [[...tokens], await kinglet.tokenize(opening)], echo: true, ...greedy },
    });
    expect(several.choices).toHaveLength(2);
    expect(several.choices[1]).toMatchObject({
      ...{ index: 1, text: opening + expected.text, finish_reason: 'length', logprobs: null },
    });
    expect(several.usage).toMatchObject({ completion_tokens: 40 });
  });

  it('parses control tokens of messages only where they are trusted', async () => {
    const ask = { messages: user(`${opening}<s><s>`), ...greedy, max_tokens: 1 };
    const nTokens = async (options = {}) =>
      (await openAI(kinglet, options).chat.completions.create(ask)).usage.prompt_tokens;
    const nOpening = (await kinglet.tokenize(opening)).length;
    expect(await nTokens({ trustContent: true })).toBe(nOpening + 2);
    expect(await nTokens()).toBeGreaterThan(nOpening + 4);
    const wrong = openAI(kinglet, { trustContent: 1 as unknown as boolean });
    await expect(wrong.chat.completions.create(ask)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it('samples as it is asked to', async () => {
    const { chat, completions } = openAI(kinglet);
    const ask = async (params: Partial<ChatCompletionParams>) =>
      (await chat.completions.create({ messages: user(opening), ...greedy, ...params }))
        .choices[0]!;
    const plain = (await ask({})).message.content!;
    const stopped = await ask({ stop: ['zebra', 'little girl'] });
    expect(stopped.message.content).toBe(plain.slice(0, plain.indexOf('little girl')));
    expect(stopped.finish_reason).toBe('stop');

    const drawn = { temperature: 1.5, seed: 11, top_k: 0, top_p: 1 };
    expect((await ask(drawn)).message).toEqual((await ask(drawn)).message);
    expect((await ask(drawn)).message).not.toEqual((await ask({ ...drawn, seed: 12 })).message);

    const penalized = await ask({ max_tokens: 60, frequency_penalty: 2, presence_penalty: 2 });
    expect(penalized.message.content).not.toBe((await ask({ max_tokens: 60 })).message.content);
    const [first] = await collect(kinglet.generate(opening, { temperature: 0, maxTokens: 1 }));
    const biased = await ask({ logit_bias: { [first!.token]: -100 } });
    expect(biased.message.content!.startsWith(first!.text)).toBe(false);
    const options = { prompt: opening, logit_bias: { 999_999: 1 } };
    await expect(completions.create(options)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('tells how probable its tokens were', async () => {
    const { chat, completions } = openAI(kinglet);
    const scored = { ...greedy, max_tokens: 5 };
    const answer = await chat.completions.create({
      ...{ messages: user(opening), ...scored, logprobs: true, top_logprobs: 3 },
    });
    const { message, logprobs } = answer.choices[0]!;
    const tokens = logprobs!.content!;
    expect(tokens).toHaveLength(5);
    expect(tokens.map(({ token }) => token).join('')).toBe(message.content);
    for (const { token, logprob, bytes, top_logprobs: top } of tokens) {
      expect(logprob).toBeLessThan(0);
      expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token);
      expect(top).toHaveLength(3);
      expect(top[0]).toEqual({ token, logprob, bytes }); // the most probable token was taken
    }

    const text = await completions.create({ prompt: opening, ...scored, logprobs: 2, echo: true });
    const lists = text.choices[0]!.logprobs!;
    const nPrompt = text.usage!.prompt_tokens;
    expect(lists.tokens.join('')).toBe(opening + message.content!);
    expect(lists.token_logprobs.slice(nPrompt)).toEqual(tokens.map(({ logprob }) => logprob));
    expect(lists.text_offset[nPrompt]).toBe(opening.length);
    expect([lists.token_logprobs[0], lists.top_logprobs[0]]).toEqual([null, null]);
    expect(lists.top_logprobs.slice(1).every((top) => Object.keys(top).length === 2)).toBe(true);
  });

  it('makes calls that parse where it must', async () => {
    const { chat } = openAI(kinglet);
    const ask = { messages: user(opening), tools: [weather, clock], temperature: 1, seed: 3 };
    const choice = { type: 'function', function: { name: 'get_weather' } } as const;
    for (const seed of [1, 2, 3]) {
      const named = await chat.completions.create({ ...ask, seed, tool_choice: choice });
      expect(named.choices[0]).toMatchObject({
        message: { content: null, tool_calls: [{ function: { name: 'get_weather' } }] },
        finish_reason: 'tool_calls',
      });
      const [call] = named.choices[0]!.message.tool_calls!;
      expect(JSON.parse(call!.function.arguments)).toEqual({ city: expect.any(String) as string });
    }
    const chunks = await collect(
      await chat.completions.create({
        ...ask,
        tools: [weather],
        tool_choice: 'required',
        parallel_tool_calls: false,
        stream: true,
      }),
    );
    const calls = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? []);
    const [first] = calls;
    expect(calls.every(({ index }) => index === 0)).toBe(true);
    expect(first).toMatchObject({ function: { name: 'get_weather' } });
    const spelled = calls.map((call) => call.function.arguments).join('');
    expect(JSON.parse(spelled)).toBeTypeOf('object');
  });

  it('makes vectors of texts', async () => {
    const { embeddings } = openAI(kinglet);
    const texts = ['A dog ran.', 'Lily was happy.'];
    const expected = await kinglet.embed(texts);
    const nTokens = await Promise.all(texts.map((text) => kinglet.countTokens(text)));
    const list = await embeddings.create({ input: texts, model: 'any' });
    expect(list).toEqual({
      object: 'list',
      data: expected.map((vector, index) => ({
        ...{ object: 'embedding', index, embedding: [...vector] },
      })),
      model: 'any',
      usage: { prompt_tokens: nTokens[0]! + nTokens[1]!, total_tokens: nTokens[0]! + nTokens[1]! },
    });

    const asTokens = await embeddings.create({ input: await kinglet.tokenize(texts[0]!) });
    expect(asTokens.data).toEqual([list.data[0]]);
    expect(asTokens.usage.prompt_tokens).toBe(nTokens[0]);
    const packed = await embeddings.create({ input: texts[1]!, encoding_format: 'base64' });
    const bytes = Buffer.from(packed.data[0]!.embedding, 'base64');
    expect(new Float32Array(new Uint8Array(bytes).buffer)).toEqual(expected[1]);
    const last = await embeddings.create({ input: texts[0]!, pooling: 'last' });
    expect(last.data[0]!.embedding).not.toEqual(list.data[0]!.embedding);

    const short = await embeddings.create({ input: texts[0]!, dimensions: 8 });
    expect(short.data[0]!.embedding).toHaveLength(8);
    expect(Math.hypot(...short.data[0]!.embedding)).toBeCloseTo(1, 5);

    const tooMany = { dimensions: 100_000 };
    for (const wrong of [{ input: [] }, tooMany, { encoding_format: 'int8' }]) {
      const params = { input: 'a', ...wrong } as EmbeddingParams;
      await expect(embeddings.create(params)).rejects.toMatchObject({ code: 'invalid_argument' });
    }
    const aborted = embeddings.create({ input: texts }, { signal: AbortSignal.abort('no') });
    await expect(aborted).rejects.toBe('no');
  });

  it('continues by sixteen tokens where nothing else is asked for', async () => {
    const { completions } = openAI(kinglet);
    const answer = await completions.create({ prompt: opening, temperature: 0 });
    expect(answer.usage!.completion_tokens).toBe(16);
    expect(answer.object).toBe('text_completion');
  });

  it('ends where the reader leaves, or a signal says so, and goes on working', async () => {
    const { chat } = openAI(kinglet);
    const endless = { messages: user(opening), temperature: 0, stream: true } as const;
    let nChunks = 0;
    for await (const chunk of await chat.completions.create(endless)) {
      if (chunk.choices[0]!.delta.content && ++nChunks === 3) break;
    }
    const stream = await chat.completions.create(endless);
    await expect(
      (async () => {
        for await (const chunk of stream) if (chunk.choices.length > 0) stream.controller.abort();
      })(),
    ).rejects.toMatchObject({ name: 'AbortError' });
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = chat.completions.create({ messages: user(opening) }, { signal });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    const answer = await chat.completions.create({ messages: user(opening), ...greedy });
    expect(answer.usage.completion_tokens).toBe(20);
  });
});
