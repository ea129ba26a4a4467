// The functions of the AI SDK, versions 6 and 7, over a model in the page: over a scripted model, and
// over the real one.
import { readFileSync } from 'node:fs';
import * as ai6 from 'ai';
import * as ai7 from 'ai-7';
import { Kinglet } from 'kinglet';
import { embeddingModel, languageModel, rerankingModel } from 'kinglet/ai-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { collect, scriptedModel } from './scripted-model.ts';
import type { Body } from './scripted-model.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const opening = 'Once upon a time';
const spelled = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
/** Returns a model that thinks, speaks and calls a tool, and then says what the tool returned. */
async function caller() {
  const said = `<think>\nHm.\n</think>\n\nI look.\n${spelled}`;
  const { model, requests } = await scriptedModel('marks', (i) => (i === 0 ? said : 'It rains.'));
  return { model: languageModel(model), requests };
}

it.each([languageModel, embeddingModel, rerankingModel])('%o is of a loaded model', (make) => {
  expect(() => make({} as never)).toThrow('the model must be a loaded model, a Kinglet');
});

/** The messages of a request. */
const messagesOf = (body: Body | undefined) => body?.messages as object[];

/** What is asked of both versions is the same, though their types are not. */
const versions = [
  ['6', ai6],
  ['7', ai7 as unknown as typeof ai6],
] as const;

describe.each(versions)('version %s', (_, sdk) => {
  const { embed, embedMany, generateText, Output, rerank, stepCountIs, streamText, tool } = sdk;
  const get_weather = tool({
    description: 'The weather somewhere',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `Rain in ${city}`,
  });

  describe('a language model', () => {
    it('runs the tools that it calls, and asks again', async () => {
      const { model, requests } = await caller();
      const { text, steps } = await generateText({
        ...{ model, system: 'Be kind.', prompt: 'Weather?' },
        ...{ tools: { get_weather }, stopWhen: stepCountIs(3) },
      });
      expect(text).toBe('It rains.');
      expect(steps).toHaveLength(2);
      expect(steps[0]).toMatchObject({
        ...{ text: 'I look.', reasoningText: 'Hm.', finishReason: 'tool-calls' },
        toolCalls: [{ toolName: 'get_weather', input: { city: 'Oslo' } }],
      });
      const { outputTokenDetails: details } = steps[0]!.usage;
      expect(details.reasoningTokens).toBeGreaterThan(0);
      expect(details.reasoningTokens).toBeLessThan(details.textTokens!);
      const [first, second] = requests;
      expect(messagesOf(first)[0]).toEqual({ role: 'system', content: 'Be kind.' });
      expect(first!.tools).toMatchObject([{ function: { description: 'The weather somewhere' } }]);
      expect(messagesOf(second).slice(-2)).toMatchObject([
        { role: 'assistant', reasoning_content: 'Hm.' },
        { role: 'tool', content: 'Rain in Oslo' },
      ]);
    });

    it('streams thoughts, text and the arguments of calls', async () => {
      const { model } = await caller();
      const { fullStream } = streamText({
        ...{ model, prompt: 'Weather?', tools: { get_weather }, stopWhen: stepCountIs(3) },
      });
      const parts = await collect(fullStream);
      const joined = (type: 'text-delta' | 'reasoning-delta') =>
        parts.map((part) => (part.type === type ? part.text : '')).join('');
      expect(joined('reasoning-delta')).toBe('Hm.');
      expect(joined('text-delta')).toBe('I look.It rains.');
      const deltas = parts.filter((part) => part.type === 'tool-input-delta');
      expect(deltas.length).toBeGreaterThan(2);
      expect(deltas.map(({ delta }) => delta).join('')).toBe('{"city":"Oslo"}');
      expect(parts.find((part) => part.type === 'tool-result')).toMatchObject({
        output: 'Rain in Oslo',
      });
    });

    it('is asked for what the SDK can ask for', async () => {
      const { model, requests } = await scriptedModel('marks', () => '{}');
      const { warnings } = await generateText({
        ...{ model: languageModel(model), prompt: 'Hi', maxOutputTokens: 9, temperature: 0.5 },
        ...{ topP: 0.9, topK: 3, seed: 4, presencePenalty: 1, frequencyPenalty: 2 },
        stopSequences: ['END'],
        providerOptions: {
          kinglet: {
            ...{ minP: 0.1, repeatPenalty: 1.1, typicalP: 0.9, drySequenceBreakers: ['.'] },
            ...{ maxThinkingTokens: 5, onFull: 'shift', variables: { enable_thinking: false } },
          },
        },
      });
      expect(warnings).toEqual([]);
      expect(requests[0]).toMatchObject({
        ...{ max_completion_tokens: 9, temperature: 0.5, top_p: 0.9, top_k: 3, seed: 4 },
        ...{ presence_penalty: 1, frequency_penalty: 2, min_p: 0.1, repeat_penalty: 1.1 },
        ...{
          typical_p: 0.9,
          dry_sequence_breakers: ['.'],
          max_thinking_tokens: 5,
          on_full: 'shift',
        },
        ...{ stop: ['END'], chat_template_kwargs: { enable_thinking: false } },
      });
      const ask = { model: languageModel(model), prompt: 'Hi', tools: { get_weather } };
      const named = { ...ask, toolChoice: { type: 'tool', toolName: 'get_weather' } } as const;
      const { toolCalls } = await generateText({ ...named, temperature: 0, maxOutputTokens: 200 });
      expect(toolCalls).toHaveLength(1);
      await generateText({ ...ask, toolChoice: 'none' });
      expect(requests[2]).toMatchObject({ tool_choice: 'none' });
      const nothing = z.object({});
      const both = await generateText({ ...ask, output: Output.object({ schema: nothing }) });
      expect(both.warnings).toMatchObject([
        { message: expect.stringMatching(/cannot call tools/) as string },
      ]);
    });

    it('refuses what it cannot do in words', async () => {
      const { model, requests } = await scriptedModel('marks', () => '');
      const data = new Uint8Array([1]);
      const file = { type: 'file', data, mediaType: 'application/pdf' } as const;
      const ask = { model: languageModel(model), maxRetries: 0 };
      await expect(
        generateText({ ...ask, messages: [{ role: 'user', content: [file] }] }),
      ).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(/"file" \(application\/pdf\) is not supported/) as string,
      });
      await expect(
        generateText({ ...ask, prompt: 'Hi', providerOptions: { kinglet: { warmth: 1 } } }),
      ).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(/"warmth"/) as string,
      });
      expect(requests).toEqual([]);
    });
  });

  describe('over the engine', () => {
    let kinglet: Kinglet;
    beforeAll(async () => {
      const bytes = new Uint8Array(readFileSync(storyModel));
      const template = '{% for m in messages %}{{ m.content }}{% endfor %}';
      kinglet = await Kinglet.load(withChatTemplate(bytes, template), { nThreads: 1 });
    });
    afterAll(() => {
      kinglet.dispose();
    });

    it('makes text, at once and in a stream', async () => {
      const model = languageModel(kinglet);
      const ask = { model, prompt: opening, temperature: 0, maxOutputTokens: 20 };
      const expected = await kinglet.generate(opening, { temperature: 0, maxTokens: 20 }).result;
      const answer = await generateText(ask);
      expect(answer).toMatchObject({ text: expected.text, finishReason: 'length' });
      expect(answer.usage).toMatchObject({ outputTokens: 20 });
      expect(answer.response.modelId).toBe(kinglet.info.name);
      expect((await collect(streamText(ask).textStream)).join('')).toBe(expected.text);
    });

    it('makes objects of a schema, and calls that parse', async () => {
      const model = languageModel(kinglet);
      const schema = z.object({ age: z.int(), mood: z.enum(['happy', 'sad']) });
      const { output } = await generateText({
        ...{ model, prompt: opening, seed: 1, output: Output.object({ schema }) },
      });
      expect(schema.parse(output)).toEqual(output);
      const { partialOutputStream } = streamText({
        ...{ model, prompt: opening, seed: 1, output: Output.object({ schema }) },
      });
      expect((await collect(partialOutputStream)).at(-1)).toEqual(output);
      const place = z.object({ place: z.enum(['garden', 'sea']) });
      const { toolCalls } = await generateText({
        ...{ model, prompt: opening, toolChoice: 'required', seed: 1 },
        tools: { go: tool({ inputSchema: place }) },
      });
      expect(toolCalls[0]!.toolName).toBe('go');
      expect(place.safeParse(toolCalls[0]!.input).success).toBe(true);
    });

    it('ends the work when it is aborted', async () => {
      // The answer repeats itself without end.
      const ask = {
        ...{ model: languageModel(kinglet), prompt: opening, temperature: 0, frequencyPenalty: -2 },
        ...{ maxOutputTokens: 1_000_000, providerOptions: { kinglet: { onFull: 'shift' } } },
      };
      const soon = AbortSignal.timeout(50);
      await expect(generateText({ ...ask, abortSignal: soon })).rejects.toMatchObject({
        name: 'TimeoutError',
      });
      const controller = new AbortController();
      const types: string[] = [];
      for await (const { type } of streamText({ ...ask, abortSignal: controller.signal })
        .fullStream) {
        if (types.push(type) && type === 'text-delta') controller.abort();
      }
      expect(types.at(-1)).toBe('abort');
      await kinglet.generate('a', { maxTokens: 1 }).result; // it would wait for an endless answer
    });

    it('tells of errors before the stream, and within it', async () => {
      const long = 'dog '.repeat(5000);
      await expect(
        generateText({ model: languageModel(kinglet), prompt: long, maxRetries: 0 }),
      ).rejects.toMatchObject({ code: 'prompt_too_long' });
      const bytes = new Uint8Array(readFileSync(storyModel));
      const template = '{{ messages[0].content }}';
      const other = await Kinglet.load(withChatTemplate(bytes, template), { nThreads: 1 });
      const errors: unknown[] = [];
      const { fullStream } = streamText({
        ...{ model: languageModel(other), prompt: opening },
        onError: ({ error }) => {
          errors.push(error);
        },
      });
      for await (const { type } of fullStream) if (type === 'text-start') other.dispose();
      expect(errors).toMatchObject([{ code: 'disposed' }]);
    });

    it('makes vectors of texts', async () => {
      const values = ['A dog ran.', 'Lily was happy.'];
      const expected = await kinglet.embed(values, { dimensions: 8 });
      const model = embeddingModel(kinglet, { dimensions: 8 });
      const { embeddings, usage } = await embedMany({ model, values });
      expect(embeddings).toEqual(expected.map((vector) => [...vector]));
      expect((await embedMany({ model, values: [] })).embeddings).toEqual([]);
      const counts = await Promise.all(values.map((text) => kinglet.countTokens(text)));
      expect(usage.tokens).toBe(counts[0]! + counts[1]!);
      const abortSignal = AbortSignal.abort('no');
      await expect(embed({ model, value: 'A dog.', abortSignal })).rejects.toBe('no');
    });

    it('ranks documents', async () => {
      const file = readFileSync(`${root}tests/fixtures/encoder/jina-bert-v2-rerank.gguf`);
      const ranker = await Kinglet.load(new Blob([file]), { nThreads: 1 });
      const documents = ['A dog ran.', 'Rain fell.', 'It was late.'];
      const model = rerankingModel(ranker);
      const { ranking } = await rerank({ model, documents, query: 'rain', topN: 2 });
      const expected = await ranker.rerank('rain', documents, { topN: 2 });
      expect(ranking.map(({ originalIndex, score }) => [originalIndex, score])).toEqual(
        expected.map(({ index, score }) => [index, score]),
      );
      ranker.dispose();
    });
  });
});

/** The compiler checks that both versions take the models. */
export type Taken = [
  Takes<ai6.LanguageModel, typeof languageModel>,
  Takes<ai6.EmbeddingModel, typeof embeddingModel>,
  Takes<ai6.RerankingModel, typeof rerankingModel>,
  Takes<ai7.LanguageModel, typeof languageModel>,
  Takes<ai7.EmbeddingModel, typeof embeddingModel>,
  Takes<ai7.RerankingModel, typeof rerankingModel>,
];
type Takes<Model, Make extends (...given: never[]) => Model> = Make;
