// `kinglet serve --mmproj` with pictures from OpenAI's client. The models have random weights, but
// give the same answers for the same pixels.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { png, progressiveJpeg, turnedJpeg } from '../cli/picture-files.ts';
import { expectFailure, fixture, kinglet } from '../cli/program.ts';
import { metric, serve, type Served } from './serve-program.ts';
import { withChatTemplate } from './support.ts';

type Part = OpenAI.ChatCompletionContentPart;

const folder = mkdtempSync(join(tmpdir(), 'kinglet-serve-pictures-'));
const mmproj = fixture('vision/gemma3.gguf');
const model = join(folder, 'model.gguf');

const pattern = png(40, 30, (x, y) => [x * 6, y * 8, 99, 255]);
const other = png(40, 30, (x, y) => [y * 8, x * 6, 11, 255]);

let seeing: Served;
let blind: Served;

beforeAll(async () => {
  const template = '{% for m in messages %}{{ m.content }}{% endfor %}';
  const bytes = readFileSync(fixture('arch/llama-linear.gguf'));
  writeFileSync(model, withChatTemplate(bytes, template));
  [seeing, blind] = await Promise.all([
    serve(model, ['--mmproj', mmproj, '--max-body', '1000000']),
    serve(model),
  ]);
});

afterAll(async () => {
  await Promise.all([seeing, blind].map((each) => each.stop('SIGKILL')));
  rmSync(folder, { recursive: true });
});

const text = (words: string): Part => ({ type: 'text', text: words });
const link = (url: string): Part => ({ type: 'image_url', image_url: { url, detail: 'high' } });
const image = (file: Buffer, type = 'image/png'): Part =>
  link(`data:${type};base64,${file.toString('base64')}`);

const request = (content: Part[]) => ({
  ...{ model: 'any', temperature: 0, max_tokens: 6 },
  messages: [{ role: 'user' as const, content }],
});

async function look(content: Part[]) {
  const answer = await seeing.client.chat.completions.create(request(content));
  return { said: answer.choices[0]?.message.content, usage: answer.usage };
}

/** Returns the program's answer to a prompt with pictures. */
function told(prompt: string, ...files: Buffer[]): string {
  const images = files.flatMap((bytes, i) => {
    const path = join(folder, `${String(i)}.image`);
    writeFileSync(path, bytes);
    return ['--image', path];
  });
  const options = ['-m', model, '--mmproj', mmproj, '-n', '6', '--temp', '0', '-p', prompt];
  return kinglet(['generate', ...options, ...images]).stdout.slice(0, -1);
}

test('pictures are seen as the program sees them, each in its place', async () => {
  const first = await look([text('a '), image(pattern), text(' b '), image(other)]);
  expect(first.said).toBe(told('a <image> b <image>', pattern, other));
  const turned = await look([text('a '), image(other), text(' b '), image(pattern)]);
  expect(turned.said).toBe(told('a <image> b <image>', other, pattern));
  expect(turned.said).not.toBe(first.said);
  const jpeg = await look([image(turnedJpeg, 'image/jpeg'), text('what?')]);
  expect(jpeg.said).toBe(told('<image>what?', turnedJpeg));
});

test('the same text and pictures are not computed again', async () => {
  const content = [image(pattern), text('Once upon a time, a cat')];
  const { usage } = await look(content);
  const nRead = await metric(seeing, 'pictures_total');
  const again = await look([...content, text(' sat')]);
  expect(await metric(seeing, 'pictures_total')).toBe(nRead);
  expect(usage?.prompt_tokens).toBeGreaterThan(60); // nine picture rows and the text's characters
  expect(again.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(40);
  const afresh = await look([image(other), text('Once upon a time, a cat')]);
  expect(afresh.usage?.prompt_tokens_details?.cached_tokens).toBeLessThan(20);
});

test('several answers see their own pictures at a time, and a stream sees one', async () => {
  const files = [pattern, other, turnedJpeg, pattern];
  const prompts = files.map((file) => [image(file), text('a')]);
  const answers = await Promise.all(prompts.map(look));
  for (const [i, file] of files.entries()) expect(answers[i]?.said).toBe(told('<image>a', file));
  const options = { ...request(prompts[1] ?? []), stream: true as const };
  let streamed = '';
  for await (const chunk of await seeing.client.chat.completions.create(options)) {
    streamed += chunk.choices[0]?.delta.content ?? '';
  }
  expect(streamed).toBe(answers[1]?.said);
});

test('responses see the same, whatever detail they ask for', async () => {
  const image_url = `data:image/png;base64,${pattern.toString('base64')}`;
  const ask = {
    input: [
      {
        role: 'user' as const,
        content: [
          { type: 'input_image' as const, image_url, detail: 'low' as const },
          { type: 'input_text' as const, text: 'what?' },
        ],
      },
    ],
  };
  const options = { temperature: 0, max_output_tokens: 6 };
  const answer = await seeing.client.responses.create({ ...ask, ...options });
  expect(answer.output_text).toBe((await look([image(pattern), text('what?')])).said);
  const { input_tokens: counted } = await seeing.client.responses.inputTokens.count(ask);
  expect(counted).toBe(answer.usage?.input_tokens);
  await expect(blind.client.responses.create({ ...ask, ...options })).rejects.toMatchObject({
    ...{ status: 400, param: 'input' },
  });
});

test('what a PNG holds besides its pixels is not unpacked', async () => {
  const words = Buffer.concat([Buffer.from('a\0\0'), deflateSync(Buffer.alloc(7_000_000))]);
  const texts = Array.from({ length: 60 }, () => ({ type: 'zTXt', data: words }));
  const full = png(40, 30, (x, y) => [x * 6, y * 8, 99, 255], 30, texts);
  const resident = () => {
    const status = readFileSync(`/proc/${String(seeing.process.pid)}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
  };
  await look([image(pattern), text('a')]);
  const before = resident();
  expect((await look([image(full), text('a')])).said).toBe(told('<image>a', pattern));
  expect(resident() - before).toBeLessThan(100 << 10); // KiB
});

test('a data URL may be written as browsers read it', async () => {
  const data = pattern.toString('base64');
  const lines = data.replace(/.{76}/g, '$&\n');
  const expected = told('<image>a', pattern);
  for (const url of [
    `data:image/png;base64,${lines}\n`,
    `data:image/png;base64,${data.replaceAll('+', '%2B').replaceAll('/', '%2f')}`,
    `DATA:image/png;BASE64,${data}`,
    `data:image/png,${[...pattern].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')}`,
    `  data:image/png;name=a.png; base64, ${data.replaceAll('=', '')} `,
  ]) {
    expect((await look([link(url), text('a')])).said).toBe(expected);
  }
});

test('a message cannot spell where a picture is', async () => {
  const { said } = await look([text('<picture-0>'), image(pattern)]);
  expect(said).toBe(told('<picture-0><image>', pattern));
});

test.each<[string, Part, RegExp]>([
  [
    'an address',
    link('https://example.org/a.png'),
    /"https:.*is not a data URL: the server does not fetch/,
  ],
  ['a file', link('file:///etc/passwd'), /is not a data URL/],
  ['a text', link('data:image/png,abc'), /neither a PNG nor a JPEG/],
  ['no comma', link('data:image/png'), /has no comma/],
  ['what is not Base64', link('data:image/png;base64,%%%%'), /does not contain valid Base64/],
  ['nothing', link('data:image/png;base64,'), /is empty, expected a PNG or JPEG file/],
  ['nothing, without Base64', link('data:image/png,'), /is empty/],
  ['a GIF', image(Buffer.from('GIF89a....'), 'image/gif'), /neither a PNG nor a JPEG/],
  ['half a PNG', image(pattern.subarray(0, 60)), /cannot be read as a picture/],
  ['half a JPEG', image(turnedJpeg.subarray(0, 250)), /cannot be read as a picture/],
  ['a huge JPEG', image(progressiveJpeg(9000, 9000, 1), 'image/jpeg'), /at most 67108864/],
  [
    'a JPEG too small for its size',
    image(progressiveJpeg(8000, 8000, 1)),
    /too few for 8000 x 8000/,
  ],
  ['a JPEG of many scans', image(progressiveJpeg(500, 500, 1000)), /has more than 100 scans/],
  ['a huge one', image(hugePng()), /expected at most 67108864/],
  ['no URL', { type: 'image_url' } as Part, /must hold "image_url": \{"url": …\}/],
  ['sounds', { type: 'input_audio', input_audio: { data: '', format: 'wav' } }, /"input_audio"/],
])('%s is refused in words, and the server goes on', async (_, part, words) => {
  const refused = seeing.client.chat.completions.create(request([part, text('a')]));
  await expect(refused).rejects.toThrow(words);
  await expect(refused).rejects.toMatchObject({
    status: 400,
    param: expect.stringMatching(/^messages/) as string,
  });
  expect((await look([image(pattern), text('a')])).said).toBe(told('<image>a', pattern));
});

/** Returns a PNG whose header says 10,000 by 10,000 pixels, but which holds none. */
function hugePng(): Buffer {
  return png(10_000, 10_000, () => [0, 0, 0, 0], 0);
}

test('too many pictures, too long a prompt and too large a body are refused', async () => {
  const many = (n: number) =>
    seeing.client.chat.completions.create(request(Array.from({ length: n }, () => image(pattern))));
  await expect(many(33)).rejects.toMatchObject({
    status: 400,
    param: expect.stringMatching(/^messages/) as string,
  });
  await expect(many(32)).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  const large = look([link(`data:image/png;base64,${'A'.repeat(1_000_000)}`)]);
  await expect(large).rejects.toMatchObject({ status: 413 });
});

test('models without a reader refuse pictures, and readers of other models do not start', async () => {
  const refused = blind.client.chat.completions.create(request([image(pattern)]));
  await expect(refused).rejects.toMatchObject({
    status: 400,
    param: expect.stringMatching(/^messages/) as string,
  });
  await expect(refused).rejects.toThrow(/the model reads text only/);
  const encoder = fixture('encoder/bert.gguf');
  expectFailure(['serve', '-m', encoder, '--mmproj', mmproj], /cannot generate text/);
  expectFailure(
    ['serve', '-m', model, '--mmproj', model],
    /is a text model, expected a picture reader/,
  );
});
