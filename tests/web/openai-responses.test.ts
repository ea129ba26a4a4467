// The facade with OpenAI's Responses API.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { ModelResponse, ResponseParams, ResponseStreamEvent } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, scriptedModel } from './scripted-model.ts';
import { storyModel, withChatTemplate } from './support.ts';

const weather = {
  ...{ type: 'function', name: 'get_weather', description: 'The weather somewhere', strict: true },
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;
const spelled = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';

async function scripted(template: string, said: string) {
  return openAI((await scriptedModel(template, () => said)).model);
}

/** Assembles the output from events, as clients do, and compares each item with its last event. */
function assembled(events: ResponseStreamEvent[]): ModelResponse['output'] {
  const output: ModelResponse['output'] = [];
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      expect(event.output_index).toBe(output.length);
      output.push(structuredClone(event.item));
    } else if ('output_index' in event) {
      const item = output[event.output_index]!;
      if ('item_id' in event) expect(event.item_id).toBe(item.id);
      if (event.type === 'response.content_part.added' && item.type !== 'function_call') {
        item.content.push({ ...event.part } as never);
      } else if (event.type === 'response.function_call_arguments.delta') {
        (item as { arguments: string }).arguments += event.delta;
      } else if ('delta' in event && item.type !== 'function_call') {
        item.content[event.content_index]!.text += event.delta;
      } else if (event.type === 'response.output_item.done') {
        expect({ ...item, status: event.item.status }).toEqual(event.item);
        item.status = event.item.status;
      }
    }
  }
  return output;
}

describe('responses', () => {
  it('answer a text in the shape of the API', async () => {
    const model = await scripted('smollm2', 'Hello');
    const response = await model.responses.create({
      ...{ input: 'Hi', instructions: 'Be kind.', model: 'my-model', max_output_tokens: 9 },
      ...{ temperature: 0, seed: 4, store: true, metadata: { a: 'b' } },
    });
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_\w{24}$/) as string,
      ...{ object: 'response', status: 'completed', model: 'my-model', output_text: 'Hello' },
      output: [
        {
          id: expect.stringMatching(/^msg_/) as string,
          ...{ type: 'message', role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
        },
      ],
      ...{ error: null, incomplete_details: null, instructions: 'Be kind.', metadata: { a: 'b' } },
    });
  });

  it('stream thoughts, text and calls, as items that grow', async () => {
    const said = `<think>\nHm.\n</think>\n\nI look.\n${spelled}\n${spelled}`;
    const model = await scripted('marks', said);
    const events = await collect(
      await model.responses.create({ input: 'Weather?', tools: [weather], stream: true }),
    );
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, i) => i));
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
      ...['response.created', 'response.in_progress'],
    ]);
    const last = events.at(-1)!;
    expect(last.type).toBe('response.completed');
    const { response } = last as { response: ModelResponse };
    expect(assembled(events)).toEqual(response.output);
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ]);
    const pieces = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(pieces.length).toBeGreaterThan(4);
    const { output_tokens: all, output_tokens_details: details } = response.usage!;
    expect(details.reasoning_tokens).toBeGreaterThan(0);
    expect(details.reasoning_tokens).toBeLessThan(all / 2);
  });

  it('take the output of the answer before, and what the tools gave', async () => {
    const first = await scripted('marks', `<think>\nHm.\n</think>\n\nI look.\n${spelled}`);
    const { output } = await first.responses.create({ input: 'Weather?', tools: [weather] });
    const call = output.find((item) => item.type === 'function_call')!;
    const second = await scripted('marks', 'Rain.');
    const answer = await second.responses.create({
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        ...output,
        { type: 'function_call_output', call_id: call.call_id, output: 'Rain' },
      ],
      tools: [weather],
    });
    expect(answer.output_text).toBe('Rain.');
  });

  it('that were cut are incomplete', async () => {
    const cut = await (
      await scripted('smollm2', 'Hello you')
    ).responses.create({ input: 'Hi', max_output_tokens: 1 });
    expect(cut).toMatchObject({
      ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      output: [{ type: 'message', status: 'incomplete' }],
    });
  });

  it.each([
    [{}, /input must be a string or an array/],
    [{ input: [] }, /at least one/],
    [{ input: 'Hi', previous_response_id: 'resp_1' }, /previous_response_id is not supported/],
    [{ input: 'Hi', background: true }, /background is not supported/],
    [{ input: 'Hi', truncation: 'first' }, /truncation/],
    [{ input: 'Hi', conversation: 'conv_1' }, /"conversation" is not supported/],
    [{ input: 'Hi', n: 2 }, /"n" is not supported/],
    [{ input: 'Hi', tools: [{ type: 'web_search' }] }, /"web_search" is not supported/],
    [{ input: 'Hi', tool_choice: { type: 'mcp' } }, /"mcp" is not supported/],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, /"item_reference" is not supported/],
    [{ input: [{ role: 'king', content: 'x' }] }, /king/],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      /must begin with "https:"/,
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file' }] }] },
      /"input_file" is not supported/,
    ],
  ])('refuse %j in words', async (params, message) => {
    const model = await scripted('marks', '');
    await expect(model.responses.create(params as ResponseParams)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(message) as string,
    });
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
  const ask = { input: 'Once upon a time', temperature: 0, max_output_tokens: 20 };

  it('answer as generate() does', async () => {
    const { responses } = openAI(kinglet);
    const expected = await kinglet.generate(ask.input, { temperature: 0, maxTokens: 20 }).result;
    const response = await responses.create(ask);
    expect(response).toMatchObject({ output_text: expected.text, status: 'incomplete' });
    expect(response.usage).toMatchObject({ output_tokens: 20 });
  });

  it('tell how probable their tokens were', async () => {
    const { responses } = openAI(kinglet);
    const include = ['message.output_text.logprobs'];
    const { output, output_text: text } = await responses.create({
      ...{ ...ask, include, top_logprobs: 2 },
    });
    const [part] = (output[0] as { content: { logprobs: { token: string }[] }[] }).content;
    expect(part!.logprobs).toHaveLength(20);
    expect(part!.logprobs.map(({ token }) => token).join('')).toBe(text);
  });

  it('end where the reader leaves, or a signal says so', async () => {
    const { responses } = openAI(kinglet);
    const endless = { input: ask.input, temperature: 0 };
    for await (const { type } of await responses.create({ ...endless, stream: true })) {
      if (type === 'response.output_text.delta') break;
    }
    const controller = new AbortController();
    const aborted = responses.create(endless, { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect((await responses.create(ask)).usage!.output_tokens).toBe(20);
  });
});
