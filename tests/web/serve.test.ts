// `kinglet serve` with OpenAI's client and with clients that misbehave.
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectFailure, fixture, kinglet, program as path, stories } from '../cli/program.ts';
import { metric, rawConnection, serve, type Served } from './serve-program.ts';
import { withChatTemplate } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };
const folder = mkdtempSync(join(tmpdir(), 'kinglet-serve-'));

/** Returns the program's own greedy continuation of a prompt. */
function told(prompt: string, nTokens: number): string {
  const args = ['generate', '-m', stories, '-p', prompt, '-n', String(nTokens), '--temp', '0'];
  return kinglet(args).stdout.slice(0, -1);
}

let served: Served; // the story model, with a chat template
let narrow: Served; // generates one answer at a time while one more waits
let encoder: Served;
let reranker: Served;

beforeAll(async () => {
  const chatty = join(folder, 'chatty.gguf');
  writeFileSync(chatty, withChatTemplate(readFileSync(stories), chatTemplate('qwen2.5')));
  [served, narrow, encoder, reranker] = await Promise.all([
    serve(chatty, ['--parallel', '8', '--max-body', '100000']),
    serve(stories, [
      ...['--parallel', '1', '--max-queue', '1', '--timeout', '2', '--name', 'narrow'],
      ...['--api-key', 'secret', '--cors', 'https://page.example'],
    ], 'secret'), // prettier-ignore
    serve(fixture('encoder/bert.gguf')),
    serve(fixture('encoder/bert-rerank.gguf')),
  ]);
});

afterAll(async () => {
  await Promise.all([served, narrow, encoder, reranker].map((each) => each.stop('SIGKILL')));
  rmSync(folder, { recursive: true });
});

const once = { model: 'any', prompt: 'Once upon a time', temperature: 0, max_tokens: 24 };
const messages = [{ role: 'user' as const, content: 'Tell me of a cat.' }];

describe('text completions', () => {
  test('continue as the program does, and count tokens', async () => {
    const answer = await served.client.completions.create(once);
    expect(answer.choices[0]?.text).toBe(told('Once upon a time', 24));
    expect(answer).toMatchObject({
      ...{ object: 'text_completion', model: 'any' },
      choices: [{ index: 0, finish_reason: 'length', logprobs: null }],
      usage: { prompt_tokens: 5, completion_tokens: 24, total_tokens: 29 },
    });
  });

  test('stream the same', async () => {
    const options = { stream: true as const, stream_options: { include_usage: true } };
    let text = '';
    let last;
    for await (const chunk of await served.client.completions.create({ ...once, ...options })) {
      text += chunk.choices[0]?.text ?? '';
      if (chunk.choices.length > 0) expect(chunk.usage).toBeNull();
      last = chunk;
    }
    expect(text).toBe(told('Once upon a time', 24));
    expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 24 } });
  });

  test('take several prompts, texts or tokens, and echo them', async () => {
    const ids = kinglet(['tokenize', '-m', stories, '--text', 'One day', '--bos']).stdout;
    const both = await served.client.completions.create({
      ...{ ...once, echo: true, n: 2, max_tokens: 4 },
      prompt: [ids.trim().split(' ').map(Number)],
    });
    const whole = `One day${told('One day', 4)}`;
    expect(both.choices.map(({ text }) => text.trim())).toEqual([whole, whole]);
    const texts = await served.client.completions.create({
      ...{ ...once, max_tokens: 4, prompt: ['One day', 'The cat'] },
    });
    expect(texts.choices.map(({ text }) => text)).toEqual([told('One day', 4), told('The cat', 4)]);
  });

  test('draw by a seed, and differently for each choice', async () => {
    const drawn = { ...once, temperature: 1, seed: 5, n: 2 };
    const texts = async () =>
      (await served.client.completions.create(drawn)).choices.map(({ text }) => text);
    const first = await texts();
    expect(await texts()).toEqual(first);
    expect(first[0]).not.toBe(first[1]);
  });

  test('tell log probabilities', async () => {
    const answer = await served.client.completions.create({ ...once, logprobs: 3, max_tokens: 3 });
    const lists = answer.choices[0]?.logprobs;
    expect(lists?.tokens?.join('')).toBe(told('Once upon a time', 3));
    expect(lists?.text_offset).toEqual([0, 1, 7]);
    for (const [i, logprob] of (lists?.token_logprobs ?? []).entries()) {
      const top = lists?.top_logprobs?.[i] ?? {};
      expect(Object.keys(top)).toHaveLength(3);
      expect(Math.max(...Object.values(top))).toBe(logprob); // greedy
      expect(logprob).toBeLessThanOrEqual(0);
    }
  });

  test('sample as they are asked to, and as the program does', async () => {
    const own = { temperature: 1, seed: 5, max_tokens: 40, prompt: 'Once upon a time' };
    const asked = {
      ...{ repeat_penalty: 1.2, repeat_last_n: 9, typical_p: 0.8 },
      ...{ xtc_probability: 0.5, xtc_threshold: 0.2 },
      ...{ dry_multiplier: 0.8, dry_base: 2, dry_allowed_length: 1, dry_penalty_last_n: 50 },
    };
    const sampled = async (more: object) =>
      (await served.client.completions.create({ ...once, ...own, ...more })).choices[0]?.text;
    const flags = Object.entries(asked).flatMap(([name, value]) => [
      ...[`--${name.replaceAll('_', '-')}`, String(value)],
    ]);
    const args = ['generate', '-m', stories, '-p', own.prompt, '-n', '40', '--temp', '1'];
    const program = kinglet([...args, '--seed', '5', ...flags, '--dry-sequence-breaker', 'a']);
    expect(program.stderr).toBe('');
    const text = await sampled({ ...asked, dry_sequence_breakers: ['a'] });
    expect(text).toBe(program.stdout.slice(0, -1));
    expect(text).not.toBe(await sampled({}));
  });

  test('end at stop texts, and follow a grammar', async () => {
    const stopped = await served.client.completions.create({ ...once, stop: ['Lily'] });
    expect(stopped.choices[0]).toMatchObject({
      text: ', there was a little girl named ',
      finish_reason: 'stop',
    });
    const grammar = 'root ::= " yes" | " no"';
    const followed = await served.client.completions.create({ ...once, grammar } as typeof once);
    expect(followed.choices[0]?.text).toMatch(/^ (yes|no)$/);
  });
});

describe('chat', () => {
  test('answers messages, at once and streamed', async () => {
    const params = { model: 'm', messages, temperature: 0, max_completion_tokens: 12 };
    const whole = await served.client.chat.completions.create(params);
    const { message } = whole.choices[0] ?? {};
    expect(whole.object).toBe('chat.completion');
    expect(message?.role).toBe('assistant');
    expect(message?.content).not.toBe('');
    let text = '';
    let finish;
    const stream = await served.client.chat.completions.create({ ...params, stream: true });
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      finish = choices[0]?.finish_reason ?? finish;
    }
    expect(text).toBe(message?.content);
    expect(finish).toBe(whole.choices[0]?.finish_reason);
  });

  test('tells log probabilities of every token', async () => {
    const answer = await served.client.chat.completions.create({
      ...{
        model: 'm',
        messages,
        temperature: 0,
        max_completion_tokens: 5,
        logprobs: true,
        top_logprobs: 2,
      },
    });
    const tokens = answer.choices[0]?.logprobs?.content ?? [];
    expect(tokens).toHaveLength(answer.usage?.completion_tokens ?? 0);
    for (const { token, bytes, logprob, top_logprobs: top } of tokens) {
      expect(bytes).toEqual([...Buffer.from(token)]);
      expect(top.map((one) => one.logprob)).toContain(logprob);
      expect(top).toHaveLength(2);
    }
  });

  test('follows a JSON schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        kind: { enum: ['cat', 'dog'] },
        age: { type: 'integer' },
        tame: { type: ['boolean', 'null'] },
      },
      required: ['kind', 'age', 'tame'],
      additionalProperties: false,
    };
    for (const drawn of [{ seed: 1 }, { seed: 2 }, { seed: 3 }]) {
      const answer = await served.client.chat.completions.create({
        ...{ ...drawn, model: 'm', messages, max_completion_tokens: 100 },
        response_format: { type: 'json_schema', json_schema: { name: 'pet', schema } },
      });
      const pet = JSON.parse(answer.choices[0]?.message.content ?? '') as Record<string, unknown>;
      expect(Object.keys(pet)).toEqual(['kind', 'age', 'tame']);
      expect(['cat', 'dog']).toContain(pet.kind);
      expect(Number.isInteger(pet.age)).toBe(true);
    }
  });

  test('calls a tool that it must call, at once and streamed', async () => {
    const params = {
      ...{ model: 'm', messages, seed: 1, max_tokens: 200 },
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'get_weather',
            parameters: {
              type: 'object',
              properties: { place: { enum: ['Rome', 'Oslo'] } },
              required: ['place'],
              additionalProperties: false,
            },
          },
        },
      ],
      tool_choice: 'required' as const,
    };
    const whole = await served.client.chat.completions.create(params);
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls');
    const [call] = whole.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('no call');
    expect(call.id).toMatch(/^\w{9}$/);
    expect(call.function.name).toBe('get_weather');
    expect(call.function.arguments).toMatch(/^\{\s*"place":\s*"(Rome|Oslo)"\s*\}$/);
    let streamed = '';
    for await (const { choices } of await served.client.chat.completions.create({
      ...{ ...params, stream: true },
    })) {
      streamed += choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '';
    }
    expect(streamed).toBe(call.function.arguments);
  });

  test('does not compute again what another conversation began with', async () => {
    const long = Array.from({ length: 100 }, (_, i) => `cat number ${String(i)}`).join(', ');
    const ask = (question: string) =>
      served.client.chat.completions.create({
        ...{ model: 'm', temperature: 0, max_completion_tokens: 2 },
        messages: [
          { role: 'system', content: long.slice(0, 400) },
          { role: 'user', content: question },
        ],
      });
    await ask('Who?');
    const { usage } = await ask('Where?');
    const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
    expect(cached).toBeGreaterThan(32);
    expect(cached).toBeLessThan(usage?.prompt_tokens ?? 0);
  });
});

describe('responses', () => {
  const ask = { model: 'm', input: 'Tell me of a cat.', temperature: 0, max_output_tokens: 12 };

  test('say what chats say', async () => {
    const { choices, usage } = await served.client.chat.completions.create({
      ...{ model: 'm', messages, temperature: 0, max_completion_tokens: 12 },
    });
    const response = await served.client.responses.create(ask);
    expect(response).toMatchObject({
      ...{ object: 'response', model: 'm', status: 'incomplete', max_output_tokens: 12 },
      ...{ incomplete_details: { reason: 'max_output_tokens' }, temperature: 0, tools: [] },
      output_text: choices[0]?.message.content,
      usage: {
        ...{ input_tokens: usage?.prompt_tokens, output_tokens: 12 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
  });

  test('stream numbered events, which end with the whole', async () => {
    const whole = await served.client.responses.create(ask);
    let text = '';
    let last: OpenAI.Responses.ResponseStreamEvent | undefined;
    let n = 0;
    for await (const event of await served.client.responses.create({ ...ask, stream: true })) {
      expect(event.sequence_number).toBe(n++);
      if (event.type === 'response.output_text.delta') text += event.delta;
      last = event;
    }
    expect(text).toBe(whole.output_text);
    expect(last).toMatchObject({
      ...{ type: 'response.incomplete', response: { output_text: text, usage: {} } },
    });
    const body = JSON.stringify({ ...ask, stream: true });
    const raw = await (await fetch(`${served.url}/v1/responses`, { method: 'POST', body })).text();
    expect(raw).toMatch(/^event: response.created\ndata: \{/);
    expect(raw).toMatch(/\n\nevent: response.incomplete\ndata: \{.*\}\n\n$/);
  });

  test('call a tool that they must call, and take its result', async () => {
    const parameters = {
      ...{ type: 'object', properties: { place: { enum: ['Rome', 'Oslo'] } } },
      ...{ required: ['place'], additionalProperties: false },
    };
    const tools = [
      { ...{ type: 'function' as const, name: 'get_weather', strict: true }, parameters },
    ];
    const { output, status } = await served.client.responses.create({
      ...{ ...ask, tools, tool_choice: 'required', seed: 1, max_output_tokens: 200 },
      parallel_tool_calls: false,
    });
    expect(status).toBe('completed');
    expect(output).toHaveLength(1);
    const [call] = output;
    if (call?.type !== 'function_call') throw new Error('no call');
    expect(call.arguments).toMatch(/^\{"place":"(Rome|Oslo)"\}$/);
    const next = await served.client.responses.create({
      ...ask,
      input: [
        { role: 'user', content: 'Weather?' },
        call,
        { type: 'function_call_output', call_id: call.call_id, output: 'Rain' },
      ],
    });
    expect(next.output_text).not.toBe('');
  });
});

test('tokens of prompts are counted without an answer', async () => {
  const { usage } = await served.client.chat.completions.create({
    ...{ model: 'm', messages, max_completion_tokens: 1 },
  });
  const input = messages;
  expect(await served.client.responses.inputTokens.count({ input })).toEqual({
    ...{ object: 'response.input_tokens', input_tokens: usage?.prompt_tokens },
  });
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'a '.repeat(9000) }] });
  const path = '/chat/completions/input_tokens';
  const long = await fetch(`${served.url}${path}`, { method: 'POST', body });
  expect((await long.json()) as object).toMatchObject({ object: 'response.input_tokens' });
});

test('paths may lack the version, and the model has every name', async () => {
  const client = new OpenAI({ baseURL: served.url, apiKey: 'none', maxRetries: 0 });
  const answer = await client.completions.create({ ...once, max_tokens: 2 });
  expect(answer.system_fingerprint).toBe(`kinglet-${version}`);
  expect((await client.responses.create({ input: 'Hi', max_output_tokens: 1 })).object).toBe(
    'response',
  );
  const [model] = (await client.models.list()).data;
  for (const name of ['gpt', 'org/gpt', 'a b']) {
    const found = await served.client.models.retrieve(name);
    expect(found).toEqual({ ...model, id: name });
  }
  // A request is counted when its answer has been sent.
  await expect.poll(() => metric(served, 'requests_total{path="/v1/models",status="200"}')).toBe(4);
});

describe('vectors and scores', () => {
  test('embeddings are those of the program, of length 1', async () => {
    const answer = await encoder.client.embeddings.create({ model: 'm', input: ['a cat', 'dogs'] });
    const lines = kinglet(['embed', '-m', fixture('encoder/bert.gguf'), '--normalize'], 'a cat\ndogs')
      .stdout.trim()
      .split('\n'); // prettier-ignore
    for (const [i, line] of lines.entries()) {
      const { embedding } = JSON.parse(line) as { embedding: number[] };
      const given = answer.data[i]?.embedding ?? [];
      expect(given).toHaveLength(embedding.length);
      given.forEach((number, at) => {
        expect(number).toBeCloseTo(embedding[at] ?? NaN, 5);
      });
    }
    expect(answer.usage.total_tokens).toBeGreaterThan(3);
    const floats = await encoder.client.embeddings.create({
      ...{ model: 'm', input: 'a cat', encoding_format: 'float', dimensions: 4 },
    });
    expect(floats.data[0]?.embedding).toHaveLength(4);
  });

  test('rerank orders documents by their scores', async () => {
    const response = await fetch(`${reranker.url}/v1/rerank`, {
      method: 'POST',
      body: JSON.stringify({
        ...{ query: 'cat', documents: ['a dog', 'the cat', 'a tree'], top_n: 2 },
        return_documents: true,
      }),
    });
    const { results } = (await response.json()) as {
      results: { index: number; relevance_score: number; document: { text: string } }[];
    };
    expect(results).toHaveLength(2);
    expect(results[0]?.relevance_score).toBeGreaterThanOrEqual(results[1]?.relevance_score ?? NaN);
    expect(['a dog', 'the cat', 'a tree'][results[0]?.index ?? 9]).toBe(results[0]?.document.text);
  });

  test('classify labels texts', async () => {
    const response = await fetch(`${served.url}/v1/classify`, {
      method: 'POST',
      body: JSON.stringify({ input: ['a sad day', 'a ball'], labels: ['sad', 'very happy'] }),
    });
    const { data } = (await response.json()) as {
      data: { index: number; label: string; probs: number[]; num_classes: number }[];
    };
    expect(data.map(({ index, num_classes: n }) => [index, n])).toEqual([
      [0, 2],
      [1, 2],
    ]);
    for (const { label, probs } of data) {
      expect(probs[0]! + probs[1]!).toBeCloseTo(1, 5);
      expect(label).toBe(probs[0]! >= probs[1]! ? 'sad' : 'very happy');
    }
  });

  test('models are asked only for what they can make', async () => {
    await expect(encoder.client.completions.create(once)).rejects.toThrow(/400.*embeddings/s);
    await expect(
      served.client.embeddings.create({ model: 'm', input: 'x', dimensions: 1e6 }),
    ).rejects.toThrow(/400/);
    await expect(served.client.post('/rerank', { body: {} })).rejects.toThrow(/400/);
  });
});

describe('refusals', () => {
  const refused = async (body: string | object, path = '/v1/completions') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${served.url}${path}`, { method: 'POST', body: text });
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    return { status: response.status, ...error };
  };

  test('say in OpenAI’s form what is wrong', async () => {
    await expect(
      served.client.completions.create({ ...once, temperature: -1 }),
    ).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    expect(await refused({ ...once, best_of: 2 })).toEqual({
      ...{ status: 400, type: 'invalid_request_error', param: 'best_of', code: 'invalid_argument' },
      message: 'the parameter "best_of" is not supported',
    });
    expect(await refused({ ...once, max_tokens: 1.5 })).toMatchObject({
      message: 'max_tokens is 1.5, expected a whole number from 1 to 4294967295',
    });
    expect(await refused({ ...once, repeat_last_n: 65_537 })).toMatchObject({
      message: 'repeat_last_n is 65537, expected a whole number from 0 to 65536',
    });
    expect(await refused({ ...once, typical_p: 2 })).toMatchObject({
      message: 'typical_p is 2, expected 0 to 1',
      param: 'typical_p',
    });
    expect(await refused({ ...once, dry_sequence_breakers: [''] })).toMatchObject({
      message: 'a DRY sequence breaker has 0 bytes, expected 1 to 64',
    });
    expect(await refused({ ...once, prompt: 'a '.repeat(2000) })).toMatchObject({
      ...{ status: 400, code: 'context_length_exceeded' },
    });
    expect(await refused({ ...once, grammar: 'root ::= (' })).toMatchObject({
      code: 'invalid_grammar',
    });
    const format = {
      type: 'json_schema',
      json_schema: { schema: { unevaluatedItems: {} } },
    };
    expect(
      await refused({ messages, response_format: format }, '/v1/chat/completions'),
    ).toMatchObject({ message: 'the JSON schema, at #: "unevaluatedItems" is not supported' });
    expect(await refused(once, '/v1/nothing')).toMatchObject({ status: 404, code: 'unknown_url' });
  });

  test('come for what is not JSON, or too much of it', async () => {
    for (const body of ['', '{', '[]', '\xff{}', '{"prompt":"a"} x', '['.repeat(5000)]) {
      expect(await refused(body)).toMatchObject({ status: 400 });
    }
    const keys = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${String(i)}`, 1]));
    expect(await refused({ ...once, logit_bias: keys })).toMatchObject({ status: 400 });
    expect(await refused({ prompt: 'a'.repeat(200_000) })).toMatchObject({ status: 413 });
    const form = new FormData();
    form.append('prompt', 'x');
    const response = await fetch(`${served.url}/v1/completions`, { method: 'POST', body: form });
    expect(response.status).toBe(400);
  });

  test('a chunked body is cut at the limit too', async () => {
    const { socket, answer } = rawConnection(served.port);
    socket.write('POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n');
    socket.write('Transfer-Encoding: chunked\r\n\r\n');
    for (let i = 0; i < 20; ++i) socket.write(`2710\r\n${'a'.repeat(0x2710)}\r\n`);
    expect(await answer).toMatch(/^HTTP\/1.1 413 /);
  });

  test('come for garbage in place of HTTP', async () => {
    for (const garbage of [
      '\0\x01\x02\r\n\r\n',
      'GET\r\n\r\n',
      `GET /${'a'.repeat(9000)} HTTP/1.1`,
    ]) {
      const { socket, answer } = rawConnection(served.port);
      socket.end(garbage);
      expect(await answer).toMatch(/^(HTTP\/1.1 4\d\d |$)/);
    }
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
  });

  test('come for names of other machines, and for pages of other origins', async () => {
    const { socket, answer } = rawConnection(served.port);
    socket.write('GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 403 .*wrong_host/s);
    const rebound = rawConnection(served.port);
    const name = `127.evil.example:${String(served.port)}`;
    rebound.socket.write(`GET /v1/models HTTP/1.1\r\nHost: ${name}\r\n`);
    rebound.socket.write(`Origin: http://${name}\r\n\r\n`);
    expect(await rebound.answer).toMatch(/^HTTP\/1.1 403 .*wrong_host/s);
    const headers = { Origin: 'https://evil.example' };
    const response = await fetch(`${served.url}/v1/models`, { headers });
    expect(response.status).toBe(403);
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
  });

  test('come without the key, or with another', async () => {
    const status = async (path: string, headers = {}) =>
      (await fetch(`${narrow.url}${path}`, { headers })).status;
    expect(await status('/v1/models')).toBe(401);
    expect(await status('/metrics')).toBe(401);
    for (const path of ['/models', '/models/x', '/completions', '/responses/input_tokens']) {
      expect(await status(path)).toBe(401);
    }
    expect(await status('/v1/models', { Authorization: 'Bearer secre' })).toBe(401);
    expect(await status('/v1/models', { Authorization: 'Bearer secret' })).toBe(200);
    expect(await status('/health')).toBe(200);
    const { data } = await narrow.client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['narrow']);
  });

  test('pages of the origin that is allowed are answered, and may ask first', async () => {
    const headers = {
      ...{ Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' },
      'Access-Control-Request-Headers': 'authorization, content-type',
    };
    const response = await fetch(`${narrow.url}/v1/completions`, { method: 'OPTIONS', headers });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://page.example');
    expect(response.headers.get('access-control-allow-headers')).toBe(
      'authorization, content-type',
    );
  });
});

describe('clients that vanish or drip', () => {
  const endless = { ...once, max_tokens: 500, logit_bias: { 1: -100, 2: -100 } };

  test('one that leaves a stream, or stops waiting, ends its answer', async () => {
    const before = await metric(served, 'cancelled_answers_total');
    const many = { ...endless, n: 100 };
    const stream = await served.client.completions.create({ ...many, stream: true });
    for await (const chunk of stream) {
      expect(chunk.choices).toHaveLength(1);
      break;
    }
    await expect.poll(() => metric(served, 'requests')).toBe(0);
    await expect.poll(() => metric(served, 'running_answers')).toBe(0);
    const leaving = new AbortController();
    const waiting = served.client.completions.create(many, { signal: leaving.signal });
    const refused = expect(waiting).rejects.toThrow(/abort/i);
    await expect.poll(() => metric(served, 'running_answers')).toBe(1);
    leaving.abort();
    await refused;
    await expect.poll(() => metric(served, 'requests')).toBe(0);
    await expect.poll(() => metric(served, 'running_answers')).toBe(0);
    expect(await metric(served, 'cancelled_answers_total')).toBe(before + 2);
  });

  test.each([false, true])(
    'one that leaves between two choices is counted, too (streams: %j)',
    async (streams) => {
      const before = await metric(served, 'cancelled_answers_total');
      const short = { ...once, prompt: Array<string>(100).fill('a'), max_tokens: 1, n: 100 };
      const leaving = new AbortController();
      const answer = fetch(`${served.url}/v1/completions`, {
        method: 'POST',
        body: JSON.stringify({ ...short, stream: streams }),
        signal: leaving.signal,
      }).then((response) => response.text());
      const refused = expect(answer).rejects.toThrow(/abort/i);
      await expect.poll(() => metric(served, 'requests')).toBe(1);
      const generated = await metric(served, 'generated_tokens_total');
      await expect
        .poll(() => metric(served, 'generated_tokens_total'))
        .toBeGreaterThan(generated + 10);
      leaving.abort();
      await refused;
      await expect.poll(() => metric(served, 'requests')).toBe(0);
      expect(await metric(served, 'cancelled_answers_total')).toBe(before + 1);
    },
  );

  /** A request in HTTP's own words. */
  const raw = (body: object, version = '1.1') => {
    const text = JSON.stringify(body);
    const length = String(text.length);
    return `POST /v1/completions HTTP/${version}\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n${text}`;
  };

  test('one that leaves after it has sent more than its request is noticed', async () => {
    const before = await metric(served, 'cancelled_answers_total');
    for (const stream of [false, true]) {
      const { socket } = rawConnection(served.port);
      socket.write(raw({ ...endless, n: 100, stream }));
      await expect.poll(() => metric(served, 'running_answers')).toBe(1);
      socket.write('late');
      await new Promise((resolve) => setTimeout(resolve, 100));
      socket.destroy();
      await expect.poll(() => metric(served, 'requests')).toBe(0);
    }
    expect(await metric(served, 'cancelled_answers_total')).toBe(before + 2);
  });

  test('one that ends its side and still reads gets its answer', async () => {
    for (const stream of [false, true]) {
      const { socket, answer } = rawConnection(served.port);
      socket.end(raw({ ...endless, n: 4, stream }));
      expect(await answer).toMatch(
        /^(HTTP\/1.1 102 Processing\r\n\r\n)*HTTP\/1.1 200 .*"index":3/s,
      );
    }
  });

  test('ones of HTTP/1.0 get what it knows', async () => {
    for (const stream of [false, true]) {
      const { socket, answer } = rawConnection(served.port);
      socket.end(raw({ ...endless, n: 4, stream }, '1.0').replace('Host: localhost\r\n', ''));
      const text = await answer;
      expect(text).toMatch(/^HTTP\/1.1 200 .*"index":3/s);
      expect(text).not.toMatch(/transfer-encoding/i);
      if (stream) expect(text).toMatch(/\r\n\r\ndata: \{.*\n\ndata: \[DONE\]\n\n$/s);
    }
    const page = rawConnection(served.port);
    page.socket.write('GET /v1/models HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n');
    expect(await page.answer).toMatch(/^HTTP\/1.1 403 .*wrong_origin/s);
  });

  test('one that leaves a stream has the tokens that it got in the log', async () => {
    const before = served.log().length;
    const { socket } = rawConnection(served.port);
    socket.write(raw({ ...endless, stream: true }));
    socket.once('data', () => socket.destroy());
    await expect.poll(() => served.log().slice(before)).toMatch(/"POST".*, answer [1-9]\d*, /);
  });

  test('one whose body is not what its headers say is told so at once', async () => {
    const send = (headers: Record<string, string>) =>
      fetch(`${served.url}/v1/completions`, {
        ...{ method: 'POST', body: JSON.stringify(once), headers },
      });
    const damaged = await send({ 'Content-Encoding': 'gzip' });
    expect(damaged.status).toBe(400);
    expect(await damaged.text()).toMatch(/the body is cut or damaged/);
    const { socket, answer } = rawConnection(served.port);
    socket.write(raw(once).replace(/Content-Length: .*\r\n/, ''));
    expect(await answer).toMatch(/^HTTP\/1.1 400 .*the request has no body/s);
  });

  test('one that drips its request is given up, and blocks nobody', async () => {
    const { socket, answer } = rawConnection(narrow.port);
    socket.write('POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n');
    const dripping = setInterval(() => socket.write('X'), 100);
    const body = rawConnection(narrow.port);
    body.socket.write('POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n');
    body.socket.write('Authorization: Bearer secret\r\nContent-Length: 100\r\n\r\n{"prompt"');
    expect((await fetch(`${narrow.url}/health`)).status).toBe(200);
    expect(await body.answer).toMatch(/^HTTP\/1.1 408 /);
    await answer; // the connection is closed
    clearInterval(dripping);
  });

  /** What the server answers to a request in HTTP's own words. */
  const answered = (request: string) => {
    const { socket, answer } = rawConnection(narrow.port);
    socket.write(request);
    return answer;
  };
  const short = JSON.stringify({ prompt: 'a', max_tokens: 1 });
  const shortLength = `Content-Length: ${String(short.length)}`;
  const asked = (headers: string[], body = short, key = 'Authorization: Bearer secret') =>
    answered(['POST /v1/completions HTTP/1.1', ...headers, key, '', body].join('\r\n'));

  test('chunks may end with trailers', async () => {
    const chunks = `${short.length.toString(16)}\r\n${short}\r\n0\r\n`;
    for (const trailers of ['', 'Digest: 0\r\n', 'A: 1\r\nB: 2\r\n']) {
      expect(
        await asked(['Host: localhost', 'Transfer-Encoding: chunked'], `${chunks}${trailers}\r\n`),
      ).toMatch(/^HTTP\/1.1 200 /);
    }
  });

  test.each([
    [['Host: localhost', 'Host: localhost', shortLength], /2 Host headers/],
    [[shortLength], /0 Host headers/],
    [['Host: localhost', shortLength, shortLength], /2 Content-Length headers/],
    [['Host: localhost', 'Content-Length: -1'], /Content-Length is \\"-1\\"/],
    [['Host: localhost', shortLength, 'Transfer-Encoding: chunked'], /both/],
  ])('what may be read in two ways is refused: %j', async (headers, message) => {
    const answer = await asked(headers);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toMatch(message);
  });

  test('headers mean what they say', async () => {
    const headers = ['Host: localhost', shortLength];
    expect(await asked([...headers, 'Range: garbage'])).toMatch(/^HTTP\/1.1 200 /);
    expect(await asked(headers, short, 'authorization: bEARER   secret')).toMatch(
      /^HTTP\/1.1 200 /,
    );
    expect(await asked(headers, short, 'Authorization: Bearer s%65cret')).toMatch(
      /^HTTP\/1.1 401 /,
    );
    expect(await asked([...headers, 'Origin: https://p%61ge.example'])).toMatch(/^HTTP\/1.1 403 /);
  });

  test('many that do nothing are dropped for one that asks', async () => {
    const idle = Array.from({ length: 300 }, () => rawConnection(served.port));
    // Without dropping, the request would wait for the 10 s that a client may take to send one.
    const signal = AbortSignal.timeout(8_000);
    expect((await fetch(`${served.url}/health`, { signal })).status).toBe(200);
    for (const { socket } of idle) socket.destroy();
  });

  test('more than may wait are told to come again, and too slow answers are cut', async () => {
    const ask = () => narrow.client.completions.create({ ...endless, n: 128 });
    const results = await Promise.allSettled([ask(), ask(), ask(), ask()]);
    const statuses = results.map((result) =>
      result.status === 'rejected' ? (result.reason as InstanceType<typeof OpenAI.APIError>) : null,
    );
    const of = (status: number) => statuses.filter((error) => error?.status === status);
    expect(of(503)).toHaveLength(2);
    expect(of(503)[0]?.headers?.get('retry-after')).toBe('1');
    expect(of(503)[0]?.code).toBe('overloaded');
    expect(of(504)).toHaveLength(2);
  });
});

test('64 at once are each answered as if alone', async () => {
  const prompts = Array.from({ length: 64 }, (_, i) => {
    const [who, what] = [['cat', 'dog', 'girl', 'boy'][i % 4], ['saw', 'had', 'ate'][i % 3]];
    return `The ${String(who)} ${String(what)} a ${['big', 'red', 'small', 'new', 'old'][i % 5] ?? ''} `;
  });
  const ask = async (prompt: string, i: number) => {
    const params = { ...once, prompt, max_tokens: 8 + (i % 7) };
    if (i % 2 === 0) return (await served.client.completions.create(params)).choices[0]?.text;
    let text = '';
    const stream = await served.client.completions.create({ ...params, stream: true });
    for await (const { choices } of stream) text += choices[0]?.text ?? '';
    return text;
  };
  const together = await Promise.all(prompts.map(ask));
  const alone: (string | undefined)[] = [];
  for (const [i, prompt] of prompts.entries()) {
    alone.push(i < 60 ? await ask(prompt, i) : told(prompt, 8 + (i % 7)));
  }
  expect(together).toEqual(alone);
  await expect.poll(() => metric(served, 'requests')).toBe(0);
});

describe('the server', () => {
  test('serves a page, and nothing beside its folder', async () => {
    const page = join(folder, 'page');
    mkdirSync(page);
    writeFileSync(join(page, 'index.html'), '<title>page</title>');
    const paged = await serve(stories, ['--page', page]);
    const response = await fetch(paged.url);
    expect(await response.text()).toBe('<title>page</title>');
    expect(response.headers.get('cross-origin-embedder-policy')).toBe('require-corp');
    expect(response.headers.has('kinglet-server')).toBe(true); // the page then shows its switch
    expect((await paged.client.models.list()).data).toMatchObject([{ can_chat: false }]);
    expect((await served.client.models.list()).data).toMatchObject([{ can_chat: true }]);
    for (const path of ['/../chatty.gguf', '/%2e%2e/chatty.gguf', '/..%5cchatty.gguf', '/.']) {
      const { socket, answer } = rawConnection(paged.port);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(await answer).toMatch(/^HTTP\/1.1 404 /);
    }
    expect(await paged.stop()).toBe(0);
  });

  test('serves folders, and nothing hidden or elsewhere', async () => {
    const page = join(folder, 'site');
    for (const name of ['sub', 'empty', '.git', '.well-known/.more', 'sub/.env']) {
      mkdirSync(join(page, name), { recursive: true });
      writeFileSync(join(page, name, 'config.txt'), 'é');
    }
    writeFileSync(join(page, 'sub/index.html'), '<title>sub</title>');
    writeFileSync(join(page, '.well-known/known.md'), '');
    writeFileSync(join(page, '.hidden.html'), '');
    symlinkSync(stories, join(page, 'model.gguf'));
    const paged = await serve(stories, ['--page', page]);
    const ask = (path: string) => fetch(`${paged.url}${path}`, { redirect: 'manual' });
    for (const path of [
      ...['/.git/config.txt', '/sub/.env/config.txt', '/.hidden.html', '/%2egit/config.txt'],
      ...[
        '/.well-known/.more/config.txt',
        '/.well-known',
        '/empty',
        '/empty/',
        '//.git/config.txt',
      ],
    ]) {
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    }
    expect((await ask('/.well-known/known.md')).headers.get('content-type')).toBe(
      'text/markdown; charset=utf-8',
    );
    expect((await ask('/sub/config.txt')).headers.get('content-type')).toBe(
      'text/plain; charset=utf-8',
    );
    expect((await ask('/model.gguf')).headers.get('content-length')).toBe(
      String(statSync(stories).size),
    );
    for (const [path, to] of [
      ['/sub', './sub/'],
      ['/s%75b?a=/b', './s%75b/?a=/b'],
      ['//sub', './sub/'],
    ] as const) {
      const { status, headers } = await ask(path);
      expect([status, headers.get('location')]).toEqual([301, to]);
    }
    const followed = await fetch(`${paged.url}/sub?x`);
    expect(followed.url).toBe(`${paged.url}/sub/?x`);
    expect(await followed.text()).toBe('<title>sub</title>');
    expect(await paged.stop()).toBe(0);
  });

  test('sends one range of a file at most, and holds no file in memory', async () => {
    const page = join(folder, 'large');
    mkdirSync(page);
    const bytes = Buffer.alloc(16 << 20, 'abcdefghij');
    writeFileSync(join(page, 'large.js'), bytes);
    writeFileSync(join(page, 'empty.txt'), '');
    const paged = await serve(stories, ['--page', page]);
    const ask = (range?: string, path = 'large.js', method = 'GET') =>
      fetch(`${paged.url}/${path}`, { method, headers: range === undefined ? {} : { range } });
    const part = await ask('bytes=3-7');
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes 3-7/${String(bytes.length)}`);
    expect(part.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(await part.text()).toBe('defgh');
    expect((await ask(`bytes=${String(bytes.length)}-`)).status).toBe(416);
    // HTTP: what is not a range is ignored.
    for (const damaged of ['bytes=10-20,30-0', 'bytes=9-2', 'garbage']) {
      expect((await ask(damaged)).status).toBe(200);
    }
    expect(await (await ask(undefined, 'empty.txt')).text()).toBe('');
    const head = await ask(undefined, 'large.js', 'HEAD');
    expect(head.headers.get('content-length')).toBe(String(bytes.length));
    expect((await fetch(`${paged.url}/health`, { headers: { range: 'bytes=0-1' } })).status).toBe(
      200,
    );

    const peak = () =>
      Number(
        /VmHWM:\s+(\d+)/.exec(
          readFileSync(`/proc/${String(paged.process.pid)}/status`, 'utf8'),
        )?.[1],
      );
    const before = peak();
    for (const range of [undefined, 'bytes=0-,1-', `bytes=${'0-,'.repeat(2000)}0-`]) {
      const whole = await ask(range);
      expect(whole.status).toBe(200);
      expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
    }
    expect(peak() - before).toBeLessThan(8 << 10); // KiB
    await paged.stop();
  });

  test('ends answers before it ends, and takes no others', async () => {
    const ending = await serve(stories);
    const answer = ending.client.completions.create({ ...once, max_tokens: 100, n: 20 });
    await expect.poll(() => metric(ending, 'generated_tokens_total')).toBeGreaterThan(0);
    const code = ending.stop('SIGINT');
    expect((await answer).choices).toHaveLength(20);
    expect(await code).toBe(0);
    expect(ending.log()).toMatch(/POST.*\/v1\/completions" 200, prompt 5 \(0 known\), answer \d+/);
    await expect(fetch(`${ending.url}/health`)).rejects.toThrow();
  });

  test('ends streams before it ends, those that wait, too', async () => {
    const ending = await serve(stories, ['--parallel', '2']);
    const ask = async () => {
      const body = JSON.stringify({ ...once, max_tokens: 300, stream: true });
      const response = await fetch(`${ending.url}/v1/completions`, { method: 'POST', body });
      return response.text();
    };
    const answers = Array.from({ length: 6 }, ask);
    await expect.poll(() => metric(ending, 'requests')).toBe(6);
    const code = ending.stop();
    await expect.poll(() => ending.log()).toMatch(/ending/);
    const late = await fetch(`${ending.url}/health`).catch(() => undefined);
    expect(late?.status ?? 503).toBe(503);
    for (const answer of answers) {
      expect(await answer).toMatch(/"finish_reason":"(length|stop)".*\n\ndata: \[DONE\]\n\n$/);
    }
    expect(await code).toBe(0);
  });

  test('says in streams that it ends, and refuses those that wait', async () => {
    const ending = await serve(stories, ['--parallel', '1']);
    const body = JSON.stringify({ ...once, max_tokens: 500, n: 100, stream: true });
    const answers = Array.from({ length: 6 }, async () => {
      const response = await fetch(`${ending.url}/v1/completions`, { method: 'POST', body });
      return `${String(response.status)} ${await response.text()}`;
    });
    await expect.poll(() => metric(ending, 'requests')).toBe(6);
    const code = ending.stop();
    await expect.poll(() => ending.log()).toMatch(/ending/);
    void ending.stop();
    for (const answer of answers) {
      expect(await answer).toMatch(
        /^(503 |200 .*\n\ndata: )\{"error":\{"message":"the server is stopping",.*\}\}(\n\n)?$/s,
      );
    }
    expect(await code).toBe(0);
  });

  test('answers each of many clients that come at once', async () => {
    const answers = Array.from({ length: 400 }, async () => {
      const { socket, answer } = rawConnection(served.port);
      socket.on('connect', () => socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'));
      return (await answer).slice(0, 12);
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 200']));
  });

  test('is done at the second signal, whatever it does', async () => {
    const busy = await serve(stories);
    const answer = busy.client.completions.create({ ...once, max_tokens: 500, n: 100 });
    const refused = expect(answer).rejects.toThrow(/503 the server is stopping/);
    await expect.poll(() => metric(busy, 'generated_tokens_total')).toBeGreaterThan(0);
    const code = busy.stop();
    await expect.poll(() => busy.log()).toMatch(/ending/);
    const before = performance.now();
    void busy.stop();
    expect(await code).toBe(0);
    expect(performance.now() - before).toBeLessThan(3000);
    await refused;
  });

  test('reads large requests in no time', async () => {
    const messages = Array.from({ length: 2000 }, () => ({ role: 'user', content: 'a' }));
    const before = performance.now();
    const response = await fetch(`${served.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages }),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/prompt_too_long|too long|room for/);
    expect(performance.now() - before).toBeLessThan(3000);
  });

  test('says why it cannot start', () => {
    expectFailure(
      ['serve', '-m', stories, '--port', String(served.port)],
      /cannot listen at 127.0.0.1, port \d+: is the port in use/,
    );
    expectFailure(['serve', '-m', stories, '--ctx', '100000'], /the model was trained for/);
    for (const origin of ['good.com', 'https://good.com/', 'https://']) {
      expectFailure(['serve', '-m', stories, '--cors', origin], /expected an origin such as/);
    }
    expectFailure(
      ['serve', '-m', stories, '--temp', 'nan'],
      /temperature is nan, expected 0 to 100/,
    );
    const { stderr } = spawnSync(path, ['serve', '-m', stories], {
      ...{ env: { ...process.env, KINGLET_API_KEY: '' }, encoding: 'utf8' },
    });
    expect(stderr).toMatch(/KINGLET_API_KEY is empty/);
  });
});
