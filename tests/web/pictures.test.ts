// Pictures in conversations, from every form of a picture to the tokens and rows that the model
// reads, in Node and in browsers. A picture's tokens are made from its pixels, so equal tokens mean
// equal pixels.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanguageModelV3Prompt } from '@ai-sdk/provider';
import { generateText } from 'ai';
import { generateText as generateText7 } from 'ai-7';
import { Kinglet } from 'kinglet';
import type { ChatMessage, ContentPart, ImageProgress, ImageSource, LoadOptions } from 'kinglet';
import { languageModel } from 'kinglet/ai-sdk';
import { openAI } from 'kinglet/openai';
import type { ResponseInputItem } from 'kinglet/openai';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type {
  EngineAnswerEvent,
  EngineModule,
  EngineOverrides,
  EngineResult,
  WeightLoader,
} from '#engine';
import { serve } from '../../scripts/serve.mjs';
import { samplingRules } from '../../web/src/sampling-rules.ts';
import { checkedFormat } from '../../web/src/worker/picture-file.ts';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { root } from './support.ts';

const fixtures = join(root, 'tests/fixtures');
const textModel = join(fixtures, 'arch/smollm3.gguf');
const reader = join(fixtures, 'vision/idefics3-old.gguf');
const chatTemplate = '{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}';
/** A template that reads only parts, like SmolVLM's. */
const partsTemplate =
  '{% for m in messages %}<{{ m.role }}>{% for part in m.content %}' +
  "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{{ '\n' }}{% endfor %}";

const load = (options: LoadOptions = {}, model = textModel) =>
  Kinglet.load(model, { nThreads: 1, chatTemplate, ...options });

/** Returns the same pixels as picture_of() in tests/vision/pictures.h. */
function picture(width: number, height: number): Uint8Array<ArrayBuffer> {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const ramps = [
        Math.floor((255 * x) / Math.max(width - 1, 1)),
        Math.floor((255 * y) / Math.max(height - 1, 1)),
        Math.floor((255 * (x + y)) / Math.max(width + height - 2, 1)),
      ];
      const square = (Math.floor(x / 8) + Math.floor(y / 8)) % 2 === 0 ? 0 : 40;
      for (const [c, ramp] of ramps.entries()) {
        const grain = (13 * x + 29 * y + 17 * c) % 31;
        pixels[at++] = Math.min(Math.max(ramp - square + grain, 0), 255);
      }
    }
  }
  return pixels;
}

const pixelsOf = (width: number, height: number) => ({
  ...{ width, height },
  data: picture(width, height),
});

const user = (...content: (string | ImageSource)[]): ChatMessage => ({
  role: 'user',
  content: content.map((part, i): ContentPart =>
    typeof part === 'string' && i % 2 === 0
      ? { type: 'text', text: part }
      : { type: 'image', image: part },
  ),
});

const greedy = { maxTokens: 8, temperature: 0, logprobs: 3 };
/** The first bytes of a GIF suffice. */
const gif = new Uint8Array([...new TextEncoder().encode('GIF89a'), 0xfb, 0xef, 0xbe, 0, 0, 0, 0]);

const refused = (code: string, message: RegExp) => ({
  name: 'KingletError',
  code,
  message: expect.stringMatching(message) as string,
});

describe('a conversation with pictures', () => {
  let model: Kinglet;
  beforeAll(async () => {
    model = await load({ mmproj: reader });
  });
  afterAll(() => {
    model.dispose();
  });

  it('tells what reads them', () => {
    expect(model.info.images).toMatchObject({ projector: 'idefics3' });
    expect(model.info.images?.weightBytes).toBeGreaterThan(10_000);
  });

  it('has the parts of the fixture in place of each picture', async () => {
    const answers = JSON.parse(
      readFileSync(join(fixtures, 'vision/idefics3-old.json'), 'utf8'),
    ) as { pictures: { width: number; height: number; parts: Part[] }[] };
    type Part = { text: string } | { n_rows: number };
    for (const { width, height, parts } of answers.pictures) {
      const tokens = await model.chatTokens([user('See: ', pixelsOf(width, height), ' There.')]);
      const expected = await model.tokenize('<user>See: ', { parseSpecial: true });
      for (const part of parts) {
        const more =
          'text' in part
            ? await model.tokenize(part.text, { addBos: false, parseSpecial: true })
            : Array.from({ length: part.n_rows }, () => -1);
        expected.push(...more);
      }
      expected.push(...(await model.tokenize(' There.\n', { addBos: false })));
      expect(tokens.map((token) => Math.max(token, -1))).toEqual(expected);
    }
  });

  it('gives the model what the two modules make of it, put together by hand', async () => {
    const message = user('See: ', pixelsOf(64, 64), ' There.');
    const byHand = await logprobsByHand(pixelsOf(64, 64), ['<user>See: ', ' There.\n']);
    const session = await model.newSession({ kv: 'f32' });
    const generation = session.chat([message], { ...greedy, maxTokens: 1 });
    const pieces = [];
    for await (const piece of generation) pieces.push(piece);
    expect(pieces[0]?.top?.map(({ token }) => token)).toEqual([...byHand.tokens]);
    for (const [i, { logprob }] of (pieces[0]?.top ?? []).entries()) {
      expect(logprob).toBeCloseTo(byHand.logprobs[i] ?? NaN, 4);
    }
    session.dispose();
  });

  it('computes no picture again in the next turn, nor in another session', async () => {
    const steps: ImageProgress[] = [];
    const options = { ...greedy, onImage: (progress: ImageProgress) => steps.push(progress) };
    const session = await model.newSession();
    const messages = [user('First ', pixelsOf(70, 64), ' and ', pixelsOf(64, 70), '.')];
    const first = await session.chat(messages, options).result;
    const ofEach = [0, 1].map((image) => steps.filter((step) => step.image === image));
    for (const [image, progress] of ofEach.entries()) {
      const total = progress[0]?.total ?? 0;
      expect(total).toBeGreaterThan(2);
      expect(progress).toEqual(
        Array.from({ length: total + 1 }, (_, done) => ({ image, done, total })),
      );
    }
    steps.length = 0;
    messages.push({ role: 'assistant', content: first.text }, user('And now?'));
    const second = await session.chat(messages, options).result;
    expect(steps).toEqual([]);
    expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens - 1);
    const tokens = await session.tokens();
    expect(await session.keepPrefix(tokens)).toBe(tokens.length - 1);

    const other = await model.newSession();
    await other.chat(messages, options).result;
    expect(steps).toEqual([]);
    session.dispose();
    other.dispose();
  });

  it('computes none in a session that was restored, unless the picture moves', async () => {
    const messages = [user('Look: ', pixelsOf(66, 64), '!')];
    const session = await model.newSession();
    const first = await session.chat(messages, greedy).result;
    const state = await session.save();
    const next = [{ role: 'assistant', content: first.text }, user('And now?')];
    const expected = await session.chat([...messages, ...next], greedy).result;
    session.dispose();

    const other = await load({ mmproj: reader });
    const restored = await other.newSession();
    await restored.restore(state);
    let nSteps = 0;
    const options = { ...greedy, onImage: () => (nSteps += 1) };
    const second = await restored.chat([...messages, ...next], options).result;
    expect(second.text).toBe(expected.text);
    expect(nSteps).toBe(0);
    await restored.chat([user('Here.'), ...messages], options).result;
    expect(nSteps).toBeGreaterThan(2);
    other.dispose();
  });

  it('reads no further when pictures are not wanted any more, and leaves the session', async () => {
    const session = await model.newSession();
    await session.chat([user('Hello.')], greedy).result;
    const before = await session.tokens();
    const pictures = Array.from({ length: 40 }, (_, i) => pixelsOf(150 + i, 150));
    const controller = new AbortController();
    const cancelled = session.chat([user(...pictures.flatMap((image) => ['', image]))], {
      ...greedy,
      signal: controller.signal,
      onImage: () => {
        controller.abort('enough');
      },
    });
    await expect(cancelled.result).rejects.toBe('enough');
    expect(await session.tokens()).toEqual(before);
    let nSteps = 0;
    const last = session.chat([user('See ', pictures.at(-1) ?? '')], {
      ...greedy,
      onImage: () => {
        nSteps += 1;
      },
    });
    expect((await last.result).usage.completionTokens).toBeGreaterThan(0);
    expect(nSteps).toBeGreaterThan(2);
    session.dispose();
  });

  it.each([
    ['a GIF', gif, /a GIF/],
    ['text', new TextEncoder().encode('hello, world'), /not in a supported format/],
    ['nothing', new Uint8Array(), /not in a supported format/],
    ['no width', { width: 0, height: 4, data: new Uint8Array() }, /sides of at least 1/],
    ['too few bytes', { width: 4, height: 4, data: new Uint8Array(47) }, /has 47 bytes/],
    ['too long a side', { width: 70_000, height: 1, data: new Uint8Array(210_000) }, /65536/],
    ['a data URL that is none', 'data:image/png;base64', /no comma/],
    ['a number', 5 as unknown as ImageSource, /an image must be/],
  ] as [string, ImageSource, RegExp][])(
    'refuses %s, and the session stays as it was',
    async (_, image, message) => {
      const session = await model.newSession();
      await session.chat([user('Hello.')], greedy).result;
      const before = await session.tokens();
      const { result } = session.chat([user('See ', image)], greedy);
      await expect(result).rejects.toMatchObject(refused('invalid_argument', message));
      expect(await session.tokens()).toEqual(before);
      session.dispose();
    },
  );

  it('tells of a file or an address that is not there', async () => {
    const chat = (image: ImageSource) => model.chat([user('See ', image)], greedy).result;
    await expect(chat('no/such/picture.png')).rejects.toMatchObject({ code: 'io' });
    await expect(chat('http://127.0.0.1:9/a.png')).rejects.toMatchObject({ code: 'network' });
  });

  it('says in Node what reads files', async () => {
    const { result } = model.chat([user('See ', new Blob([pngStart(4, 4)]))], greedy);
    await expect(result).rejects.toMatchObject(
      refused('unsupported_environment', /install it, or pass pix/),
    );
  });

  it('lets no message spell the place of a picture', async () => {
    const seen = await model.chatPrompt([user('A ', pixelsOf(8, 8), ' B')]);
    expect(seen).toBe('<user>A [picture 0] B\n');
    const spelled = await model.chatTokens([user(`[picture 0] picture${'0'.repeat(32)}x0y`)]);
    expect(spelled.every((token) => token >= 0)).toBe(true);
  });

  it('keeps control tokens that a message spells after a picture as text', async () => {
    const image = pixelsOf(8, 8);
    const tokens = await model.chatTokens([user('', image, '</s>')]);
    const trusted = await model.chatTokens([user('', image, '</s>')], { trustContent: true });
    const end = await model.tokenize('</s>\n', { addBos: false });
    expect(tokens.slice(-end.length)).toEqual(end);
    expect(trusted.length).toBeLessThan(tokens.length);
  });

  it('sees what is transparent over white', async () => {
    const pixels = [...[200, 10, 0, 255], ...[200, 10, 0, 0], ...[0, 0, 0, 128], ...[9, 8, 7, 1]];
    const opaque = [...[200, 10, 0], ...[255, 255, 255], ...[127, 127, 127], ...[254, 254, 254]];
    const tokensOf = (data: number[]) =>
      model.chatTokens([user('', { width: 2, height: 2, data: Uint8Array.from(data) })]);
    expect(await tokensOf(pixels)).toEqual(await tokensOf(opaque));
  });

  it('is read by templates that know parts only', async () => {
    const other = await load({ mmproj: reader, chatTemplate: partsTemplate });
    const message = user('A ', pixelsOf(8, 8), ' B');
    expect(await other.chatPrompt([{ role: 'user', content: 'Hello' }])).toBe('<user>Hello\n');
    expect(await other.chatTokens([message])).toEqual(await model.chatTokens([message]));
    other.dispose();
  });

  it('is refused by templates that leave the picture out', async () => {
    const deaf = await load({ mmproj: reader, chatTemplate: 'Hello.' });
    await expect(deaf.chatTokens([user('', pixelsOf(8, 8))])).rejects.toMatchObject(
      refused('unsupported_feature', /leaves out a picture/),
    );
    deaf.dispose();
  });
});

describe('the messages of other APIs', () => {
  let model: Kinglet;
  beforeAll(async () => {
    model = await load({ mmproj: reader });
  });
  afterAll(() => {
    model.dispose();
  });
  const base64 = Buffer.from(gif).toString('base64');
  const url = `data:image/gif;base64,${base64}`;
  const createChat = (image_url: { url: string; detail?: string }) =>
    openAI(model).chat.completions.create({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
    });
  const createResponse = (...input: ResponseInputItem[]) =>
    openAI(model).responses.create({ input });
  const doGenerate = (...prompt: LanguageModelV3Prompt) =>
    languageModel(model).doGenerate({ prompt });
  const filePart = (data: Uint8Array | string | URL) =>
    ({ type: 'file', mediaType: 'image/*', data }) as const;
  const seen = refused('invalid_argument', /a GIF/);

  it.each([
    ['OpenAI’s chat completions', (url: string) => createChat({ url })],
    [
      'OpenAI’s responses',
      (image_url: string) => {
        const part = { type: 'input_image', detail: 'low', image_url };
        return createResponse({ role: 'user', content: [part] });
      },
    ],
    ['the AI SDK', (url: string) => doGenerate({ role: 'user', content: [filePart(url)] })],
  ])('may have pictures: %s', async (_, ask) => {
    // As `base64 FILE` prints it, and as browsers also read it.
    expect(base64).toContain('+');
    const inLines = base64.replace(/.{8}/g, '$&\n');
    for (const data of [
      base64,
      inLines,
      inLines.replaceAll('\n', ' '),
      encodeURIComponent(inLines),
    ]) {
      await expect(ask(`data:image/gif;base64,${data}`)).rejects.toMatchObject(seen);
    }
    await expect(ask(` DATA:image/gif; Base64 ,${base64}`)).rejects.toMatchObject(seen);
    await expect(ask('data:image/gif;base64,*')).rejects.toMatchObject(
      refused('invalid_argument', /the data URL is not valid/),
    );
    await expect(ask('http://127.0.0.1:9/a.png')).rejects.toMatchObject({ code: 'network' });
    await expect(ask(`file://${reader}`)).rejects.toMatchObject(
      refused('invalid_argument', /must begin with "https:"/),
    );
  });

  it('may ask OpenAI’s chat completions for any detail', async () => {
    for (const detail of ['low', 'high'] as const) {
      await expect(createChat({ url, detail })).rejects.toMatchObject(seen);
    }
  });

  it.each([
    ['6', generateText],
    ['7', generateText7 as unknown as typeof generateText],
  ])('may have pictures in every form of the AI SDK %s', async (_, ask) => {
    for (const data of [gif, base64, new URL(url)]) {
      await expect(doGenerate({ role: 'user', content: [filePart(data)] })).rejects.toMatchObject(
        seen,
      );
    }
    const look = (image: Uint8Array | string | URL) =>
      ask({
        ...{ model: languageModel(model), maxRetries: 0 },
        messages: [{ role: 'user', content: [{ type: 'image', image }] }],
      });
    for (const image of [gif, base64, url, new URL(url)]) {
      await expect(look(image)).rejects.toMatchObject(seen);
    }
    // The worker requests it, not the SDK.
    await expect(look(new URL('http://127.0.0.1:9/a.png'))).rejects.toMatchObject({
      code: 'network',
    });
  });

  it('may have pictures in what a tool returned', async () => {
    const output = [{ type: 'input_image', image_url: url }];
    const call = { call_id: 'x', name: 'look' };
    await expect(
      createResponse(
        { role: 'user', content: 'Look.' },
        { type: 'function_call', ...call, arguments: '{}' },
        { type: 'function_call_output', call_id: 'x', output },
      ),
    ).rejects.toMatchObject(seen);
    const made = { toolCallId: 'x', toolName: 'look' };
    const value = [{ type: 'image-data' as const, data: base64, mediaType: 'image/gif' }];
    await expect(
      doGenerate(
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        { role: 'assistant', content: [{ type: 'tool-call', ...made, input: {} }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', ...made, output: { type: 'content', value } }],
        },
      ),
    ).rejects.toMatchObject(seen);
  });
});

describe('what reads pictures', () => {
  it('is told to be missing', async () => {
    const model = await load();
    expect(model.info.images).toBeUndefined();
    const { result } = model.chat([user('', pixelsOf(8, 8))]);
    await expect(result).rejects.toMatchObject(refused('invalid_argument', /the option mmproj/));
    expect((await model.chat([user('Hello.')], greedy).result).text).not.toBe('');
    model.dispose();
  });

  it.each([
    ['of another model', 'arch/llama.gguf', 'wrong_shape', /belongs to another model/],
    ['for a model that reads none', 'encoder/bert.gguf', 'unsupported_feature', /bert/],
  ])('is refused %s', async (_, name, code, message) => {
    const loading = load({ mmproj: reader }, join(fixtures, name));
    await expect(loading).rejects.toMatchObject(refused(code, message));
  });

  it('is refused where it is none, or not whole', async () => {
    await expect(load({ mmproj: textModel })).rejects.toThrow(/text model, expected a picture/);
    const cut = new Blob([readFileSync(reader).subarray(0, 5000)]);
    await expect(load({ mmproj: cut })).rejects.toMatchObject({ code: 'truncated' });
    await expect(load({ mmproj: 'nothing.gguf' })).rejects.toMatchObject({ code: 'io' });
  });

  it('and the pictures themselves are found at any path', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kinglet %41#?'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    const mmproj = join(folder, 'mm%41#proj?.gguf');
    writeFileSync(mmproj, readFileSync(reader));
    const model = await load({ mmproj });
    const path = join(folder, 'a%41b#?.png');
    writeFileSync(path, 'no picture');
    const answer = model.chat([user('', path)], greedy);
    await expect(answer.result).rejects.toMatchObject(
      refused('invalid_argument', /not in a supported format/),
    );
    model.dispose();
  });

  it('is taken from a stream, and counted by the progress', async () => {
    const progress: number[] = [];
    const stream = new Blob([readFileSync(reader)]).stream();
    const model = await load({
      mmproj: stream,
      onProgress: ({ loaded, total }) => {
        if (loaded === total) progress.push(loaded);
      },
    });
    const sizes = [textModel, reader].map((path) => readFileSync(path).length);
    expect(progress.at(-1)).toBe((sizes[0] ?? 0) + (sizes[1] ?? 0));
    model.dispose();
  });

  it('is found beside the model on the hub, when a picture comes', async () => {
    const asked: string[] = [];
    const files: Record<string, string> = {
      'model.gguf': textModel,
      'mmproj-model-Q8_0.gguf': reader,
      'mmproj-model-f32.gguf': textModel,
    };
    const server = createServer((request, response) => {
      const [, name = ''] = /\/resolve\/main\/(.*)$/.exec(request.url ?? '') ?? [];
      asked.push(name || (request.url ?? ''));
      const path = files[name];
      if (path) response.end(readFileSync(path));
      else if (name) response.writeHead(404).end();
      else
        response.end(
          JSON.stringify({ siblings: Object.keys(files).map((rfilename) => ({ rfilename })) }),
        );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const hubBase = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    try {
      const options = { nThreads: 1, chatTemplate, hubBase, cache: false };
      const model = await Kinglet.load('hf:owner/repo/model.gguf', options);
      expect(asked).toEqual(['model.gguf']);
      const { usage } = await model.chat([user('', pixelsOf(8, 8))], greedy).result;
      expect(usage.completionTokens).toBeGreaterThan(0);
      expect(asked.slice(1)).toEqual([
        '/api/models/owner/repo/revision/main',
        'mmproj-model-Q8_0.gguf',
      ]);
      model.dispose();

      delete files['mmproj-model-Q8_0.gguf'];
      delete files['mmproj-model-f32.gguf'];
      const blind = await Kinglet.load('hf:owner/repo/model.gguf', options);
      await expect(blind.chat([user('', pixelsOf(8, 8))]).result).rejects.toMatchObject(
        refused('not_found', /owner\/repo has no mmproj file/),
      );
      blind.dispose();
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

/** Returns the beginning of a PNG, up to its size. */
function pngStart(width: number, height: number): Uint8Array<ArrayBuffer> {
  const start = Buffer.alloc(24);
  start.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  start.writeUInt32BE(width, 16);
  start.writeUInt32BE(height, 20);
  return new Uint8Array(start);
}

describe('the beginning of a file', () => {
  it('tells the format, and how large the picture is', () => {
    expect(checkedFormat(pngStart(20_000, 1))).toBe('png');
    expect(() => checkedFormat(pngStart(20_000, 20_000))).toThrow(/scale it down first/);
    expect(() => checkedFormat(pngStart(0, 1))).toThrow(/0 x 1 pixels/);
    const jpeg = (...bytes: number[]) => Uint8Array.of(0xff, 0xd8, 0xff, ...bytes);
    // A comment of four bytes, padding, and a frame of 40,000 x 30,000.
    const size = [...[0x75, 0x30], ...[0x9c, 0x40]];
    const frame = [0xff, 0xff, 0xc2, 0, 17, 8, ...size, 3, 0, 0, 0, 0, 0, 0, 0];
    expect(() => checkedFormat(jpeg(0xfe, 0, 4, 1, 2, ...frame))).toThrow(/40000 x 30000/);
    expect(checkedFormat(jpeg(0xfe, 0, 4, 1, 2))).toBe('jpeg');
    expect(checkedFormat(jpeg(0xda, 0, 4))).toBe('jpeg');
  });
});

/** Computes the most probable tokens after a picture between two texts with the wasm modules. */
async function logprobsByHand(
  { width, height, data }: ReturnType<typeof pixelsOf>,
  texts: [string, string],
): Promise<{ tokens: Int32Array; logprobs: Float32Array }> {
  const value = <T>(result: EngineResult<T>): T => {
    if (result.error) throw new Error(result.error.message);
    return result.value;
  };
  const path = join(root, 'build/wasm/kinglet-simd128');
  const { default: createEngine } = (await import(`${path}.js`)) as {
    default: (overrides: EngineOverrides) => Promise<EngineModule>;
  };
  const open = () => createEngine({ wasmBinary: new Uint8Array(readFileSync(`${path}.wasm`)) });
  const feed = (module: EngineModule, loader: WeightLoader<unknown>, path: string) => {
    const file = readFileSync(path);
    for (let at = 0; at < file.length;) {
      const { address, bytes } = value(loader.reserve(file.length - at));
      module.HEAPU8.set(file.subarray(at, at + bytes), address);
      value(loader.commit(bytes));
      at += bytes;
    }
  };
  const vision = await open();
  const visionLoader = value(vision.newVisionLoader(0, ''));
  feed(vision, visionLoader, reader);
  const pictures = value(visionLoader.finish());
  vision.HEAPU8.set(data, value(pictures.reserve(width, height)));
  for (let left = value(pictures.begin(1)); left > 0;) left = value(pictures.advance());

  const engine = await open();
  const loader = value(engine.newLoader(0, '', false, undefined));
  feed(engine, loader, textModel);
  const model = value(loader.finish());
  const session = value(
    model.newSession({ nCtx: 512, nBatch: 0, kKind: 'f32', vKind: 'f32', kvPool: 0 }),
  );
  const encode = (content: string, addBos: boolean) =>
    value(
      model.tokens({
        ...{ content, addBos, parseSpecial: true, prefix: '', onFull: 'error' },
        ...{ nCtx: 0, maxTokens: 0, id: 1 },
      }),
    );
  const tokens = [...encode(texts[0], true)];
  for (const [i, part] of pictures.parts().entries()) {
    if (part.nRows === 0) {
      tokens.push(...encode(part.text, false));
      continue;
    }
    const rows = value(pictures.rows(i)).slice();
    const image = { ...part, rows, seesAll: part.seesAll === 1 };
    tokens.push(...session.giveImage(image));
  }
  tokens.push(...encode(texts[1], false));
  const options = {
    ...Object.fromEntries(
      Object.entries(samplingRules).map(([name, rule]) => [name, rule.default]),
    ),
    ...{ maxTokens: 1, temperature: 0, seed: 1, logitBias: [], drySequenceBreakers: [] },
    ...{ stop: [], logprobs: 3, lookup: 0, id: 1, replacesContext: true },
  };
  const answer = model.newAnswer({
    ...{ jsonSchema: '', indent: 0, openObjects: false, grammar: '', maxThinkingTokens: -1 },
    prompt: {
      content: Int32Array.from(tokens),
      ...{ addBos: false, parseSpecial: false, prefix: '', onFull: 'error' },
      ...{ nCtx: 512, maxTokens: 1, id: 1 },
    },
  });
  const events: EngineAnswerEvent[] = [];
  session.start(value(answer), options, (event) => {
    events.push(value(event));
  });
  while (model.advance(50));
  const [{ topTokens, topLogprobs }] = events as [EngineAnswerEvent];
  return { tokens: topTokens, logprobs: topLogprobs };
}

/** The globals of the page. */
interface Here {
  kinglet: typeof import('kinglet');
  openAI: typeof openAI;
  languageModel: typeof languageModel;
  model: Kinglet;
  template: string;
}

describe.each(browserNames)('in %s', (name) => {
  const folder = join(root, 'build/pictures');
  let page: AnyPage;
  let served: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
    cpSync(textModel, join(folder, 'model.gguf'));
    cpSync(reader, join(folder, 'mmproj.gguf'));
    // A file of today's kind, whose reader scales large pictures down.
    cpSync(join(fixtures, 'vision/idefics3.gguf'), join(folder, 'scaling.gguf'));
    writeFileSync(
      join(folder, 'index.html'),
      '<!doctype html><link rel="icon" href="data:,">' +
        '<script type="module">import * as kinglet from "./kinglet/index.js";' +
        'import { openAI } from "./kinglet/openai/index.js";' +
        'import { languageModel } from "./kinglet/ai-sdk/index.js";' +
        'Object.assign(globalThis, { kinglet, openAI, languageModel });</script>',
    );
    served = await serve(folder, { isolated: false });
    page = await openAnyPage(name);
    await openKinglet(page, served.url);
    await page.evaluate(async (template) => {
      const here = globalThis as unknown as Here;
      here.template = template;
      const options = { mmproj: 'mmproj.gguf', chatTemplate: template, cache: false };
      here.model = await here.kinglet.Kinglet.load('model.gguf', options);
    }, chatTemplate);
  });
  afterAll(async () => {
    await page.close();
    served.server.closeAllConnections();
    served.server.close();
  });

  it('reads a picture alike in every form, as Node does', async () => {
    const [width, height] = [90, 64];
    const rgb = picture(width, height);
    const found = await page.evaluate(
      async ({ data, width, height }) => {
        const { model } = globalThis as unknown as Here;
        const pixels = new ImageData(width, height);
        for (let i = 0; i < width * height; ++i) {
          pixels.data.set(data.slice(3 * i, 3 * i + 3), 4 * i);
          pixels.data[4 * i + 3] = 255;
        }
        const canvas = new OffscreenCanvas(width, height);
        canvas.getContext('2d')?.putImageData(pixels, 0, 0);
        const blob = await canvas.convertToBlob({ type: 'image/png' });
        const url = await new Promise<string>((resolve) => {
          const files = new FileReader();
          files.onload = () => {
            resolve(files.result as string);
          };
          files.readAsDataURL(blob);
        });
        const forms = {
          ...{ pixels, blob, url, objectUrl: URL.createObjectURL(blob) },
          bytes: new Uint8Array(await blob.arrayBuffer()),
          bitmap: await createImageBitmap(canvas),
          view: { width, height, data: Uint8Array.of(0, ...data).subarray(1) },
        };
        const tokens: Record<string, number[]> = {};
        for (const [name, image] of Object.entries(forms)) {
          const content = [{ type: 'image' as const, image }];
          tokens[name] = await model.chatTokens([{ role: 'user', content }]);
        }
        const content = [{ type: 'image' as const, image: blob }];
        const options = { maxTokens: 4, temperature: 0 };
        const answer = await model.chat([{ role: 'user', content }], options).result;
        return { tokens, answer: answer.text };
      },
      { data: [...rgb], width, height },
    );
    const model = await load({ mmproj: reader });
    const message = user('', { width, height, data: rgb });
    const expected = await model.chatTokens([message]);
    for (const tokens of Object.values(found.tokens)) expect(tokens).toEqual(expected);
    expect(Object.keys(found.tokens)).toHaveLength(7);
    const { text } = await model.chat([message], { maxTokens: 4, temperature: 0 }).result;
    expect(found.answer).toBe(text);
    model.dispose();
  });

  it('reads a picture alike through every API', async () => {
    const { told, found, expected } = await page.evaluate(async () => {
      const { kinglet, openAI, languageModel, model, template } = globalThis as unknown as Here;
      const canvas = new OffscreenCanvas(90, 64);
      canvas.getContext('2d')?.fillRect(20, 10, 50, 30);
      const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
      const base64 = btoa(String.fromCharCode(...bytes));
      const url = `data:image/png;base64,${base64}`;
      const answers = (model: Kinglet) => {
        const options = { temperature: 0 };
        const chat = async () => {
          const content = [{ type: 'image_url', image_url: { url } }];
          const { choices, usage } = await openAI(model).chat.completions.create({
            ...{ ...options, max_tokens: 4, messages: [{ role: 'user', content }] },
          });
          return { text: choices[0]?.message.content, nPrompt: usage.prompt_tokens };
        };
        const respond = async () => {
          const content = [{ type: 'input_image', image_url: url }];
          const { output_text: text, usage } = await openAI(model).responses.create({
            ...{ ...options, max_output_tokens: 4, input: [{ role: 'user', content }] },
          });
          return { text, nPrompt: usage?.input_tokens };
        };
        const generate = async (data: Uint8Array | string | URL) => {
          const part = { type: 'file', mediaType: 'image/png', data } as const;
          const { content, usage } = await languageModel(model).doGenerate({
            ...{ ...options, maxOutputTokens: 4, prompt: [{ role: 'user', content: [part] }] },
          });
          const text = content.map((one) => (one.type === 'text' ? one.text : '')).join('');
          return { text, nPrompt: usage.inputTokens.total };
        };
        return [
          ...[chat, respond, () => generate(bytes), () => generate(base64)],
          ...[() => generate(url), () => generate(new URL(url))],
        ];
      };
      const found = [];
      for (const answer of answers(model)) found.push(await answer());
      const messages = [{ role: 'user', content: [{ type: 'image' as const, image: bytes }] }];
      const { text, usage } = await model.chat(messages, { maxTokens: 4, temperature: 0 }).result;
      const expected = { text, nPrompt: usage.promptTokens };

      const blind = await kinglet.Kinglet.load('model.gguf', {
        ...{ chatTemplate: template, cache: false },
      });
      const told: string[] = [];
      for (const answer of answers(blind)) {
        await answer().catch((error: unknown) => {
          told.push(`${(error as { code: string }).code}: ${String(error)}`);
        });
      }
      blind.dispose();
      return { told, found, expected };
    });
    expect(found).toEqual(Array.from({ length: 6 }, () => expected));
    expect(expected.nPrompt).toBeGreaterThan(20);
    expect(told).toHaveLength(6);
    for (const line of told) expect(line).toMatch(/^invalid_argument: .*no picture reader/);
  });

  it('turns a photograph as its file says, and sees transparency over white', async () => {
    const found = await page.evaluate(async () => {
      const { model } = globalThis as unknown as Here;
      const tokensOf = (image: Blob | ImageData) =>
        model.chatTokens([{ role: 'user', content: [{ type: 'image', image }] }]);
      const draw = (type: string) => {
        const canvas = new OffscreenCanvas(48, 32);
        const context = canvas.getContext('2d');
        if (!context) throw new Error();
        const gradient = context.createLinearGradient(0, 0, 48, 32);
        gradient.addColorStop(0, 'red');
        gradient.addColorStop(1, 'rgb(0 0 255 / 0)');
        if (type === 'image/jpeg') context.fillRect(0, 0, 48, 32);
        context.fillStyle = gradient;
        context.fillRect(0, 0, 48, 32);
        return canvas.convertToBlob({ type });
      };
      const seen = async (file: Blob) => {
        const bitmap = await createImageBitmap(file);
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
        if (!context) throw new Error();
        context.fillStyle = 'white';
        context.fillRect(0, 0, bitmap.width, bitmap.height);
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, bitmap.width, bitmap.height);
      };
      const jpeg = await draw('image/jpeg');
      const turn = [0xff, 0xe1, 0, 34, ...new TextEncoder().encode('Exif\0\0MM\0*')];
      // One entry: the orientation, a short with value 6, turns the picture a quarter to the right.
      turn.push(0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0);
      const turned = new Blob([jpeg.slice(0, 2), Uint8Array.from(turn), jpeg.slice(2)]);
      const flat = await seen(jpeg);
      const upright = new ImageData(32, 48);
      for (let y = 0; y < 48; ++y) {
        for (let x = 0; x < 32; ++x) {
          const from = 4 * ((31 - x) * 48 + y);
          upright.data.set(flat.data.subarray(from, from + 4), 4 * (y * 32 + x));
        }
      }
      const clear = await draw('image/png');
      return [
        [await tokensOf(turned), await tokensOf(upright)],
        [await tokensOf(jpeg), await tokensOf(flat)],
        [await tokensOf(clear), await tokensOf(await seen(clear))],
      ];
    });
    for (const [tokens, expected] of found) expect(tokens).toEqual(expected);
    expect(found[0]?.[0]).not.toEqual(found[1]?.[0]);
  });

  it('reads pictures of 1 x 1 and of 20,000 pixels, across the blocks of a canvas', async () => {
    const found = await page.evaluate(async () => {
      const { kinglet, template } = globalThis as unknown as Here;
      const options = { mmproj: 'scaling.gguf', chatTemplate: template, cache: false };
      const model = await kinglet.Kinglet.load('model.gguf', options);
      const tokens: number[][] = [];
      for (const [width, height] of [
        [1, 1],
        [20_000, 3],
        [3, 2500],
        [1500, 1100],
      ] as const) {
        const pixels = new ImageData(width, height);
        pixels.data.forEach((_, i, data) => {
          data[i] = i % 4 === 3 ? 255 : (i * 7 + Math.floor(i / 997)) % 256;
        });
        const canvas = new OffscreenCanvas(width, height);
        canvas.getContext('2d')?.putImageData(pixels, 0, 0);
        for (const image of [pixels, await canvas.convertToBlob({ type: 'image/png' })]) {
          tokens.push(
            await model.chatTokens([{ role: 'user', content: [{ type: 'image', image }] }]),
          );
        }
      }
      return tokens;
    });
    for (let i = 0; i < found.length; i += 2) {
      expect(found[i]?.some((token) => token < 0)).toBe(true);
      expect(found[i]).toEqual(found[i + 1]);
    }
  });

  it('answers about several bitmaps, which can be read only while they are open', async () => {
    const answers = await page.evaluate(async () => {
      const { model } = globalThis as unknown as Here;
      const canvases = ['red', 'green'].map((colour) => {
        const canvas = new OffscreenCanvas(120, 80);
        const context = canvas.getContext('2d')!;
        context.fillStyle = colour;
        context.fillRect(10, 20, 50, 30);
        return canvas;
      });
      const ask = async (images: (ImageBitmap | ImageData)[]) => {
        const content = images.map((image) => ({ type: 'image' as const, image }));
        const session = await model.newSession({ nCtx: 512 });
        const answer = session.chat([{ role: 'user', content }], { maxTokens: 4, temperature: 0 });
        const { text } = await answer.result;
        session.dispose();
        return text;
      };
      const bitmaps = await Promise.all(canvases.map((canvas) => createImageBitmap(canvas)));
      const pixels = canvases.map((canvas) => canvas.getContext('2d')!.getImageData(0, 0, 120, 80));
      return [await ask(bitmaps), await ask(bitmaps), await ask(pixels)];
    });
    expect(answers[0]).not.toBe('');
    expect(new Set(answers).size).toBe(1);
  });

  it('fetches each of several pictures once', async () => {
    const text = await page.evaluate(async () => {
      const { model } = globalThis as unknown as Here;
      const canvases = ['blue', 'yellow'].map((colour) => {
        const canvas = new OffscreenCanvas(100, 70);
        const context = canvas.getContext('2d')!;
        context.fillStyle = colour;
        context.fillRect(5, 5, 60, 40);
        return canvas;
      });
      const blobs = await Promise.all(canvases.map((canvas) => canvas.convertToBlob()));
      const urls = blobs.map((blob) => URL.createObjectURL(blob));
      // They are gone when the first picture is computed.
      const onImage = () => {
        urls.forEach((url) => {
          URL.revokeObjectURL(url);
        });
      };
      const content = urls.map((image) => ({ type: 'image' as const, image }));
      const options = { maxTokens: 2, temperature: 0, onImage };
      const session = await model.newSession({ nCtx: 512 });
      const answer = await session.chat([{ role: 'user', content }], options).result;
      session.dispose();
      return answer.text;
    });
    expect(text).not.toBe('');
  });

  it('refuses damaged files and GIFs in words, and goes on', async () => {
    const found = await page.evaluate(
      async (bytes) => {
        const { model } = globalThis as unknown as Here;
        const canvas = new OffscreenCanvas(300, 300);
        canvas.getContext('2d')?.fillRect(0, 0, 50, 50);
        const png = await canvas.convertToBlob({ type: 'image/png' });
        const broken = new Uint8Array(await png.arrayBuffer());
        broken.fill(7, 40);
        const closed = await createImageBitmap(canvas);
        closed.close();
        const told: string[] = [];
        for (const image of [broken, Uint8Array.from(bytes), closed, document.body as never]) {
          const messages = [{ role: 'user', content: [{ type: 'image' as const, image }] }];
          await model.chat(messages).result.catch((error: unknown) => {
            told.push(`${(error as { code: string }).code}: ${String(error)}`);
          });
        }
        const { usage } = await model.chat([{ role: 'user', content: 'Hi' }], {
          maxTokens: 1,
          temperature: 0,
        }).result;
        return { told, nAfter: usage.completionTokens };
      },
      [...gif],
    );
    expect(found.told).toHaveLength(4);
    expect(found.told[0]).toMatch(/^invalid_argument: .*PNG that cannot be read/);
    expect(found.told[1]).toMatch(/^invalid_argument: .*a GIF/);
    expect(found.told[2]).toMatch(/^invalid_argument: /);
    expect(found.told[3]).toMatch(/^invalid_argument: .*createImageBitmap/);
    expect(found.nAfter).toBe(1);
  });
});
