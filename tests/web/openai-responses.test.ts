// OpenAI's Responses API over a scripted model, and over the real one.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { ModelResponse, ResponseParams, ResponseStreamEvent } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, inPieces, scriptedModel } from './scripted-model.ts';
import { storyModel, withChatTemplate } from './support.ts';

const weather = {
  ...{ type: 'function', name: 'get_weather', description: 'The weather somewhere', strict: true },
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;
const spelled = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';

function scripted(template: string, pieces: string[], finishReason: 'stop' | 'length' = 'stop') {
  const { model, calls } = scriptedModel(template, () => pieces, finishReason);
  return { ...openAI(model), calls };
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
    const model = scripted('smollm2', ['Hel', 'lo']);
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
      usage: {
        ...{ input_tokens: 5, output_tokens: 2, total_tokens: 7 },
        input_tokens_details: { cached_tokens: 2 },
      },
    });
    const [{ prompt, options }] = model.calls as [(typeof model.calls)[0]];
    expect(prompt).toContain('<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi');
    expect(options).toMatchObject({ maxTokens: 9, temperature: 0, seed: 4 });
  });

  it('stream thoughts, text and calls, as items that grow', async () => {
    const said = `<think>\nHm.\n</think>\n\nI look.\n${spelled}\n${spelled}`;
    const model = scripted('qwen3', inPieces(said, 5));
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
    const said = `<think>\nHm.\n</think>\n\nI look.\n${spelled}`;
    const first = scripted('qwen3', [said]);
    const { output } = await first.responses.create({ input: 'Weather?', tools: [weather] });
    const call = output.find((item) => item.type === 'function_call')!;
    const second = scripted('qwen3', ['Rain.']);
    const answer = await second.responses.create({
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        ...output,
        { type: 'function_call_output', call_id: call.call_id, output: 'Rain' },
      ],
      tools: [weather],
    });
    expect(answer.output_text).toBe('Rain.');
    const { prompt } = second.calls[0]!;
    // One turn of the assistant holds its thoughts, its text and its call.
    expect(prompt.match(/<\|im_start\|>assistant/g)).toHaveLength(2);
    expect(prompt).toContain('<think>\nHm.\n</think>');
    expect(prompt).toMatch(/I look\.\n<tool_call>\n.*"Oslo"/);
    expect(prompt).toContain('<tool_response>\nRain\n</tool_response>');
  });

  it('are held to a schema or a call where they must be', async () => {
    const json = '{"name": "get_weather", "arguments": {"city": "Oslo"}}';
    const model = scripted('qwen3', [`<tool_call>\n${json}\n</tool_call>`]);
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    const format = { type: 'json_schema', name: 'x', schema, strict: true } as const;
    await model.responses.create({ input: 'Hi', text: { format } });
    expect(model.calls[0]!.options.jsonSchema).toEqual(schema);
    for (const tool_choice of [
      'required',
      { type: 'function', name: 'get_weather' },
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_weather' }],
      },
    ] as const) {
      const ask = { input: 'Hi', tools: [weather], tool_choice };
      const { output } = await model.responses.create(ask);
      expect(output).toMatchObject([{ type: 'function_call', arguments: '{"city":"Oslo"}' }]);
      expect(model.calls.at(-1)).toMatchObject({
        mustCall:
          typeof tool_choice === 'object' && tool_choice.type === 'function' ? 'one' : 'several',
        tools: expect.stringContaining('get_weather') as string,
      });
    }
    await model.responses.create({ input: 'Hi', reasoning: { effort: 'none' } });
    expect(model.calls.at(-1)!.prompt).toMatch(/<think>\n\n<\/think>\n\n$/);
  });

  it('that were cut are incomplete, and empty ones are messages', async () => {
    const cut = await scripted('smollm2', ['Hel'], 'length').responses.create({ input: 'Hi' });
    expect(cut).toMatchObject({
      ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      output: [{ type: 'message', status: 'incomplete' }],
    });
    const empty = await scripted('smollm2', []).responses.create({ input: 'Hi' });
    expect(empty.output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
  });

  it.each([
    [{}, /input must be a text or a list/],
    [{ input: [] }, /at least one/],
    [{ input: 'Hi', previous_response_id: 'resp_1' }, /previous_response_id is not supported/],
    [{ input: 'Hi', background: true }, /background is not supported/],
    [{ input: 'Hi', truncation: 'auto' }, /"auto" is not supported/],
    [{ input: 'Hi', conversation: 'conv_1' }, /"conversation" is not supported/],
    [{ input: 'Hi', n: 2 }, /"n" is not supported/],
    [{ input: 'Hi', tools: [{ type: 'web_search' }] }, /"web_search" is not supported/],
    [{ input: 'Hi', tool_choice: { type: 'mcp' } }, /"mcp" is not supported/],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, /"item_reference" is not supported/],
    [{ input: [{ role: 'king', content: 'x' }] }, /role "king" is not supported/],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      /must begin with "https:"/,
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file' }] }] },
      /"input_file" is not supported/,
    ],
  ])('refuse %j in words', async (params, message) => {
    const model = scripted('qwen3', ['']);
    await expect(model.responses.create(params as ResponseParams)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(message) as string,
    });
    expect(model.calls).toEqual([]);
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
