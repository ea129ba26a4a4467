// Requests of 8 MiB that ask `kinglet serve` for as much work as they can. Each is answered soon
// after --timeout; its work ends when its client leaves, and when the server is stopped.
//
// The demands are: an answer by 4 s, no work 1 s after the client has left, an end 1 s after the
// second signal. They are held against the processor's time that the server takes, which is what
// they are on a machine that does nothing else: how long the server waits for others does not count.
// Far longer waits fail, too.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { png } from '../cli/picture-files.ts';
import { fixture, stories } from '../cli/program.ts';
import { rawConnection, serve, type Served } from './serve-program.ts';
import { withChatTemplate } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

const kMostBytes = 8 << 20;

/** In milliseconds; a machine that is very busy needs as long. */
const kLongestWait = 20_000;

interface Kind {
  path?: string;
  /** Reads pictures. */
  sees?: boolean;
  /** The request, with what is given in place of "?". */
  body: object;
  /** The part of that number. Parts are joined until the request is full. */
  part: (i: number) => string;
  separator?: string;
  /** Put around the parts; a text by default. */
  around?: [string, string];
}

const user = (content: unknown) => ({ role: 'user', content });
type Ends = Pick<Kind, 'around' | 'separator'>;
const list: Ends = { around: ['[', ']'], separator: ',' };
const object: Ends = { around: ['{', '}'], separator: ',' };
const chat = (more: object): object => ({ messages: [user('a')], max_tokens: 4, ...more });
const withSchema = (schema: unknown) =>
  chat({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } });
const tool = (name: string, more = '') =>
  `{"type":"function","function":{"name":"${name}"${more}}}`;
const turn = (role: string, more = '"content":"a"') => `{"role":"${role}",${more}}`;
const picture = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${png(8, 8, () => [1, 2, 3, 255]).toString('base64')}` },
};
const callOf = (i: number) =>
  `{"id":"${String(i)}","type":"function","function":{"name":"f","arguments":"{}"}}`;
const call = (i: number) => turn('assistant', `"tool_calls":[${callOf(i)}]`);
const members = (n: number) =>
  Array.from({ length: n }, (_, i) => `"${String(i)}":${String(i)}`).join(',');
const wide = `{${members(1000)}}`;
const widest = `{${members(9999)}}`;

const kinds: Record<string, Kind> = {
  'empty lists': { body: chat({ metadata: '?' }), ...list, part: () => '[]' },
  'objects of many members': { body: chat({ metadata: '?' }), ...list, part: () => wide },
  'turns': { body: { messages: '?' }, ...list, part: (i) => turn(i % 2 ? 'assistant' : 'user') },
  'turns, of which the oldest may be left out': {
    ...{ body: { messages: '?', on_full: 'dropOldest' }, ...list },
    part: (i) => turn(i % 2 ? 'assistant' : 'user'),
  },
  'calls and results, of which the oldest may be left out': {
    ...{ body: { messages: '?', on_full: 'dropOldest' }, ...list },
    part: (i) => i === 0 ? turn('user') : i % 2 ? call(i) : turn('tool', `"tool_call_id":"${String(i - 1)}","content":"a"`),
  },
  'items of a response': {
    ...{ path: '/v1/responses', body: { input: '?', truncation: 'auto' }, ...list },
    part: () => turn('user'),
  },
  'parts of a message': {
    ...{ body: { messages: [user('?')] }, ...list },
    part: () => '{"type":"text","text":"a"}',
  },
  'one letter': { body: { messages: [user('?')] }, part: () => 'aaaaaaaa' },
  'words': { body: { messages: [user('?')] }, part: (i) => `${(i * 7919).toString(36)} ` },
  'characters of other scripts': { body: { messages: [user('?')] }, part: () => '猫🐈é' },
  'arguments of a call': {
    body: { messages: [user('a'), { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '?' } }] }, user('b')] },
    part: () => '[]', separator: ',', around: ['"{\\"a\\":[', ']}"'],
  },
  'a variable of the template': { body: chat({ chat_template_kwargs: { a: '?' } }), ...list, part: () => '[]' },
  'a prompt': { path: '/v1/completions', body: { prompt: '?' }, part: (i) => `${(i * 7919).toString(36)} ` },
  'a prompt of tokens': { path: '/v1/completions', body: { prompt: '?', echo: true }, ...list, part: () => '5' },
  'stop texts': { path: '/v1/completions', body: { prompt: 'a', stop: '?' }, ...list, part: (i) => `"${i.toString(36)}~"` },
  'a stop text': { path: '/v1/completions', body: { prompt: 'a', stop: '?' }, part: () => ' a' },
  'sequence breakers': { path: '/v1/completions', body: { prompt: 'a', dry_multiplier: 1, dry_sequence_breakers: '?' }, ...list, part: (i) => `"${i.toString(36)}~"` },
  'a grammar of many rules': { path: '/v1/completions', body: { prompt: 'a', grammar: '?' }, around: ['"root ::= a0\\n', 'a"'], part: (i) => `a${String(i)} ::= \\"b\\" | a${String(i + 1)}\\n`},
  'a grammar of many alternatives': { path: '/v1/completions', body: { prompt: 'a', grammar: '?' }, around: ['"root ::= ', '"'], separator: ' | ', part: (i) => `\\"${i.toString(36)}\\"` },
  'a grammar of groups': { path: '/v1/completions', body: { prompt: 'a', grammar: '?' }, around: ['"root ::= ', '"'], separator: ' ', part: () => `(\\"a\\" | \\"b\\"?)*` },
  'tools': { body: chat({ tools: '?' }), ...list, part: (i) => tool(`f${String(i)}`) },
  'tools, one of which must be called': { body: chat({ tools: '?', tool_choice: 'required' }), ...list, part: (i) => tool(`f${String(i)}`) },
  'tools with parameters, one of which must be called': {
    ...{ body: chat({ tools: '?', tool_choice: 'required' }), ...list },
    part: (i) => tool(`f${String(i)}`, ',"parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}'),
  },
  'tools that are allowed': {
    body: chat({ '?': '?' }), ...list, part: () => '', // made below
  },
  'integers of an enum': { body: withSchema({ enum: '?' }), ...list, part: (i) => String(i) },
  'texts of an enum': { body: withSchema({ enum: '?' }), ...list, part: (i) => `"${i.toString(36)}"` },
  'objects of an enum': { body: withSchema({ enum: '?' }), ...list, part: (i) => `{"a":${String(i)}}` },
  'an enum of unique items': { body: withSchema({ type: 'array', uniqueItems: true, enum: '?' }), ...list, part: (i) => `[${String(i)}]` },
  'a const of unique items': { body: withSchema({ uniqueItems: true, const: '?' }), ...list, part: (i) => String(i) },
  'prefixItems': { body: withSchema({ prefixItems: '?' }), ...list, part: () => '{}' },
  'anyOf': { body: withSchema({ anyOf: '?' }), ...list, part: (i) => `{"const":${String(i)}}` },
  'oneOf': { body: withSchema({ oneOf: '?' }), ...list, part: (i) => `{"type":"string","minLength":${String(i)}}` },
  'allOf': { body: withSchema({ allOf: '?' }), ...list, part: (i) => `{"not":{"const":${String(i)}}}` },
  'required names': { body: withSchema({ type: 'object', required: '?' }), ...list, part: (i) => `"a${String(i)}"` },
  'a pattern': { body: withSchema({ type: 'string', pattern: '?' }), part: (i) => `(a|b${String(i)})?` },
  'texts to encode': { path: '/v1/embeddings', body: { input: '?' }, part: (i) => `${(i * 7919).toString(36)} ` },
  'marks of pictures': { sees: true, body: { messages: [user([{ type: 'text', text: '?' }, picture])] }, part: (i) => `<picture-${String(i)}>` },
  'a picture': { sees: true, body: { messages: [user([{ type: 'image_url', image_url: { url: '?' } }])] }, around: ['"data:image/png;base64,', '"'], part: () => 'iVBORw0KGgo' },
  'a variable of many members': { body: chat({ chat_template_kwargs: { a: '?' } }), ...list, part: () => widest },
  'variables of the template': { body: chat({ chat_template_kwargs: '?' }), ...object, part: (i) => `"v${String(i % 9999)}":1` },
  'biases': { body: chat({ logit_bias: '?' }), ...object, part: (i) => `"${String(i % 9999)}":1` },
  'different biases': { body: chat({ logit_bias: '?' }), ...object, part: (i) => `"${String(i)}":1` },
  'calls of one message': { body: { messages: [user('a'), { role: 'assistant', tool_calls: '?' }, user('b')] }, ...list, part: callOf },
  'names that a property needs': { body: withSchema({ type: 'object', dependentRequired: { a: '?' } }), ...list, part: (i) => `"a${String(i)}"` },
  'schemas of lists of lists': { body: withSchema({ anyOf: '?' }), ...list, part: (i) => `${'{"items":'.repeat(100)}{"const":${String(i)}}${'}'.repeat(100)}` },
  'a text of a grammar': { path: '/v1/completions', body: { prompt: 'a', grammar: '?' }, around: ['"root ::= \\"', '\\""'], part: () => 'a' },
  'deep lists': { body: chat({ metadata: '?' }), ...list, part: () => '['.repeat(100) + ']'.repeat(100) },
  'escapes': { body: { messages: [user('?')] }, part: () => '\\n\\ud83d\\ude00' },
  'a number': { body: withSchema({ type: 'number', minimum: '?' }), around: ['0.1', ''], part: () => '0123456789' },
  'calls and results of a response': {
    ...{ path: '/v1/responses', body: { input: '?', truncation: 'auto' }, ...list },
    part: (i) => i === 0 ? turn('user') : i % 2 ? `{"type":"function_call","call_id":"${String(i)}","name":"f","arguments":"{}"}` : `{"type":"function_call_output","call_id":"${String(i - 1)}","output":"a"}`,
  },
  'tools of a response, one of which must be called': { path: '/v1/responses', body: { input: 'a', tools: '?', tool_choice: 'required' }, ...list, part: (i) => `{"type":"function","name":"f${String(i)}"}` },
  'tokens to encode': { path: '/v1/embeddings', body: { input: '?', pooling: 'mean' }, ...list, part: () => '5' },
  'short texts to encode': { path: '/v1/embeddings', body: { input: '?', pooling: 'mean' }, ...list, part: (i) => `"${i.toString(36)}"` },
  'pictures of one pixel': { sees: true, body: { messages: [user('?')] }, ...list, part: () => JSON.stringify(picture) },
}; // prettier-ignore

function request({ path = '/v1/chat/completions', body, part, ...kind }: Kind): string {
  const { around = ['"', '"'], separator = '' } = kind;
  const [before = '', after = ''] = JSON.stringify(body).split('"?"');
  const parts: string[] = [];
  for (let size = before.length + after.length + 100; ;) {
    const next = parts.length === 0 ? part(0) : separator + part(parts.length);
    size += Buffer.byteLength(next);
    if (size > kMostBytes) break;
    parts.push(next);
  }
  return posted(path, before + around[0] + parts.join('') + around[1] + after);
}

const posted = (path: string, text: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${String(Buffer.byteLength(text))}\r\n\r\n${text}`;

function allowed(): string {
  const names = Array.from({ length: 60_000 }, (_, i) => `f${String(i)}`);
  const tools = `[${names.map((name) => tool(name)).join(',')}]`;
  return posted(
    '/v1/chat/completions',
    `{"messages":[${turn('user')}],"tools":${tools},"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":${tools}}}}`,
  );
}

const requestOf = (name: string) =>
  name === 'tools that are allowed' ? allowed() : request(kinds[name]!);

const folder = mkdtempSync(join(tmpdir(), 'kinglet-endless-'));
const chatty = join(folder, 'chatty.gguf');
const seeing = join(folder, 'seeing.gguf');

const start = ({ sees = false }: Kind) =>
  serve(sees ? seeing : chatty, [
    ...['--timeout', '2', ...(sees ? ['--mmproj', fixture('vision/gemma3.gguf')] : [])],
  ]);

beforeAll(() => {
  writeFileSync(chatty, withChatTemplate(readFileSync(stories), chatTemplate('qwen2.5')));
  const template = '{% for m in messages %}{{ m.content }}{% endfor %}';
  writeFileSync(
    seeing,
    withChatTemplate(readFileSync(fixture('arch/llama-linear.gguf')), template),
  );
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the processor's time that the server has taken so far, in milliseconds. */
function usedTime({ process: { pid } }: Served): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .split(') ')[1]!
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Waits until the server has taken no time for a while, and returns how much it has taken. */
async function usedInTheEnd(served: Served): Promise<number> {
  const used = usedTime(served);
  await wait(300);
  return usedTime(served) === used ? used : usedInTheEnd(served);
}

/** Sends the request, and ends the connection in the midst of the work. */
async function sendAndLeave(served: Served, sent: string, after: number): Promise<void> {
  const { socket } = rawConnection(served.port);
  socket.write(sent);
  await wait(after);
  socket.destroy();
  await wait(100);
}

describe.each(Object.keys(kinds))('8 MiB of %s', (name) => {
  let served: Served;
  let sent: string;
  let took = Infinity;
  beforeAll(async () => {
    sent = requestOf(name);
    served = await start(kinds[name]!);
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
  });

  test('are answered by 4 s', async () => {
    const { socket, answer } = rawConnection(served.port);
    const [begin, before] = [performance.now(), usedTime(served)];
    socket.write(sent);
    const status = /^(HTTP\/1.1 102 Processing\r\n\r\n)*HTTP\/1.1 (\d+)/.exec(
      await Promise.race([answer, wait(kLongestWait).then(() => 'no answer')]),
    )?.[2];
    took = performance.now() - begin;
    socket.destroy();
    expect(['200', '400', '408', '413', '503', '504']).toContain(status);
    expect(usedTime(served) - before).toBeLessThan(4000);
  });

  test('take no time 1 s after their client has left', async () => {
    for (const after of [300, 1000, 1800]) {
      if (after > 300 && after > took) break;
      await sendAndLeave(served, sent, after);
      const before = usedTime(served);
      expect((await usedInTheEnd(served)) - before).toBeLessThan(1000);
    }
  });

  test('end 1 s after the second signal', async () => {
    const { socket } = rawConnection(served.port);
    socket.write(sent);
    await wait(300);
    const ended = served.stop();
    await wait(200);
    void served.stop();
    // A server whose request was done has ended by now.
    const usedSoFar = () => (served.process.exitCode === null ? usedTime(served) : used);
    let used = 0;
    const before = usedSoFar();
    const watch = setInterval(() => (used = usedSoFar()), 10);
    const status = await Promise.race([ended, wait(kLongestWait).then(() => 'runs')]);
    // The signal itself ends a server that is at its end.
    const wasAtEnd = served.process.signalCode === 'SIGTERM';
    expect(wasAtEnd ? 0 : status).toBe(0);
    clearInterval(watch);
    expect(used - before).toBeLessThan(1000);
    socket.destroy();
  });
});
