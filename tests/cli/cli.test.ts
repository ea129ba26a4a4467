// Runs the desktop program as a user would.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { samplingNames } from '../../web/src/sampling-rules.ts';
import { splitModel } from '../web/split-model.ts';
import { root, withChatTemplate, withMetadata } from '../web/support.ts';
import {
  expectFailure,
  fixture,
  isCrossBuilt,
  kinglet,
  program,
  stories,
  type Logprobs,
} from './program.ts';
import { writeVocabulary } from './vocabulary-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

let nFiles = 0;
/** Returns the path of a file that does not exist yet. */
const newPath = () => join(folder, `${String(nFiles++)}.gguf`);

/** Writes a file of the given bytes and returns its path. */
function file(bytes: Uint8Array | string): string {
  const path = newPath();
  writeFileSync(path, bytes);
  return path;
}

describe('generate', () => {
  const greedy = ['generate', '-m', stories, '-p', 'Once upon a time', '--temp', '0'];

  test('continues a story', () => {
    const { status, stdout, stderr } = kinglet([...greedy, '-n', '24', '--kernels', 'scalar']);
    expect(stdout).toBe(
      ', there was a little girl named Lily. She loved to play outside in the park. One day, she saw a\n',
    );
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  test('tells the same story from the same seed, another from another', () => {
    const story = (seed: string) =>
      kinglet(['generate', '-m', stories, '-p', 'One day', '-n', '40', '--seed', seed]).stdout;
    expect(story('5')).toBe(story('5'));
    expect(story('5')).not.toBe(story('6'));
  });

  test('gives the same text on two threads', () => {
    const text = (threads: string) => kinglet([...greedy, '-n', '40', '--threads', threads]).stdout;
    expect(text('2')).toBe(text('1'));
  });

  test('says how fast it was, and with which kernels', () => {
    const { stderr } = kinglet([...greedy, '-n', '4', '--speed', '--kernels', 'scalar']);
    expect(stderr).toMatch(/prompt: 5 tokens, [\d.]+ tokens\/s/);
    expect(stderr).toMatch(/kernels: scalar/);
  });

  test('measures its kernels and the run, as JSON', () => {
    const { stdout, stderr } = kinglet([...greedy, '-n', '8', '--metrics', '--kernels', 'scalar']);
    expect(stdout).toBe(kinglet([...greedy, '-n', '8', '--kernels', 'scalar']).stdout);
    const { kernels, ...run } = JSON.parse(stderr) as {
      kernels: {
        name: string;
        calls: number;
        microseconds: Record<'min' | 'max' | 'mean' | 'p50' | 'p95' | 'p99', number> & {
          buckets: Record<string, number>;
        };
      };
    };
    expect(kernels.name).toBe('scalar');
    const { min, max, mean, p50, p95, p99, buckets } = kernels.microseconds;
    expect(Object.keys(buckets)).toEqual(['0', '100', '500', '1000', '5000']);
    expect(Object.values(buckets).reduce((sum, n) => sum + n, 0)).toBe(kernels.calls);
    const ordered = [min, p50, p95, p99, max];
    expect(ordered).toEqual(ordered.toSorted((a, b) => a - b));
    expect(mean).toBeGreaterThan(0);
    expect(run).toMatchObject({
      time_to_first_token: expect.any(Number) as number,
      prefill_tokens_per_s: expect.any(Number) as number,
      decode_tokens_per_s: expect.any(Number) as number,
      // q8: 36 bytes for 32 elements; the first 64 positions are F16, and there are centres of keys.
      bytes: { kv: 6 * 2 * (2 * 64) * ((512 * 36) / 32 + 64 * 2) + 6 * (2 * 64) * 4 },
    });
  });

  test('recognises control tokens in the prompt, or not', () => {
    const options = ['generate', '-m', stories, '-p', '<s>Once', '-n', '1', '--speed'];
    const nTokens = (more: string[]) =>
      /prompt: (\d+)/.exec(kinglet([...options, ...more]).stderr)![1];
    expect(nTokens([])).toBe('2');
    expect(nTokens(['--no-special'])).toBe('8');
    expect(nTokens(['--no-special', '--no-bos'])).toBe('7');
  });

  // On Windows arguments are UTF-16.
  test.skipIf(isCrossBuilt)('refuses a prompt that is not UTF-8', () => {
    // Node would replace the invalid bytes of an argument; a shell passes them on.
    const { status, stdout, stderr } = spawnSync(
      'sh',
      ['-c', `"${program}" generate -m "${stories}" -n 4 -p "$(printf 'Once \\377 upon')"`],
      { encoding: 'utf8' },
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('--prompt: the value is not valid UTF-8 at byte 5');
  });

  test('refuses files and input that are not UTF-8', () => {
    const latin1 = Buffer.from('caf\xe9', 'latin1');
    const file = join(folder, 'latin1.txt');
    writeFileSync(file, latin1);
    const output = join(folder, 'latin1.kprompt');
    const system = ['--system', file, '--format', 'chatml', '-o', output];
    expectFailure(
      ['prepare', '-m', stories, ...system],
      /the file ".*" is not valid UTF-8 at byte 3/,
    );
    expectFailure(['perplexity', '-m', stories, '-f', file], /is not valid UTF-8 at byte 3/);
    expectFailure(['tokenize', '-m', stories], /the text is not valid UTF-8 at byte 3/, latin1);
    expectFailure(['prompt', '-m', stories, '--format', 'chatml'], /the text is not valid/, latin1);
    expect(existsSync(output)).toBe(false);
  });

  test('refuses what cannot be done, in one line', () => {
    expectFailure([...greedy, '-n', '0'], /0 tokens were requested/);
    expectFailure([...greedy, '--ctx', '4'], /the prompt has 5 tokens.*room for 4/);
    expectFailure([...greedy, '--ctx', '4096'], /trained for 512/);
    expectFailure(
      [...greedy, '--kernels', 'mmx'],
      /"mmx" are not available on this machine \(available: .*scalar\)/,
    );
    expectFailure([...greedy, '--kv', 'int3'], /kind "int3" is unknown \(known: auto, f32/);
    expectFailure([...greedy, '--top-p', '7'], /top-p is 7/);
  });

  test('names an unknown option and an unknown command', () => {
    expect(kinglet([...greedy, '--tempo', '1'])).toMatchObject({ status: 1 });
    expect(kinglet([...greedy, '--tempo', '1']).stderr).toMatch(/--tempo/);
    expect(kinglet(['sing'])).toMatchObject({ status: 1 });
    expect(kinglet([])).toMatchObject({ status: 1 });
  });
});

describe('stop strings', () => {
  test('end a text, wherever its tokens end', () => {
    const options = [
      'generate',
      '-m',
      stories,
      '-p',
      'Once upon a time',
      '--temp',
      '0',
      '-n',
      '40',
    ];
    const whole = kinglet(options).stdout;
    const stop = whole.slice(20, 31);
    const { stdout } = kinglet([...options, '--stop', 'not there', '--stop', stop]);
    expect(stdout).toBe(`${whole.slice(0, whole.indexOf(stop))}\n`);
    expectFailure([...options, '--stop', ''], /stop string 0 is empty/);
  });
});

describe('chat', () => {
  const chatMl =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}" +
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const model = file(withChatTemplate(readFileSync(stories), chatMl));
  const greedy = ['--temp', '0', '-n', '24'];
  const turn = (role: string, content: string) => `<|im_start|>${role}\n${content}<|im_end|>\n`;
  const ask = (prompt: string) =>
    kinglet(['generate', '-m', model, ...greedy, '-p', `${prompt}<|im_start|>assistant\n`]).stdout;

  test('answers each line, with what was said before in mind', () => {
    const { status, stdout, stderr } = kinglet(
      ['chat', '-m', model, ...greedy, '--system', 'Be kind.', '--speed'],
      'Once upon a time\nAnd then?\n',
    );
    expect(status).toBe(0);
    const first = turn('system', 'Be kind.') + turn('user', 'Once upon a time');
    const firstAnswer = ask(first);
    const second = first + turn('assistant', firstAnswer.slice(0, -1)) + turn('user', 'And then?');
    expect(stdout).toBe(firstAnswer + ask(second));

    const known = [...stderr.matchAll(/prompt: (\d+) tokens, (\d+) of them known/g)];
    expect(known).toHaveLength(2);
    expect(known[0]![2]).toBe('0');
    expect(Number(known[1]![2])).toBeGreaterThanOrEqual(Number(known[0]![1]));
    expect(Number(known[1]![2])).toBeLessThan(Number(known[1]![1]));
    const rates = [...stderr.matchAll(/([\d.]+) tokens\/s/g)].map(([, rate]) => Number(rate));
    expect(rates).toHaveLength(4); // of prompt and answer
    for (const rate of rates) expect(rate).toBeGreaterThan(0);
  });

  test('goes on in a full context where that is wanted', () => {
    const lines = 'Tell me of the dog and the sea.\n'.repeat(10);
    const run = (...options: string[]) =>
      kinglet(['chat', '-m', model, ...greedy, '--ctx', '128', ...options], lines);
    const full = run();
    expect(full.status).toBe(1);
    expect(full.stderr).toMatch(/but the context has room for 128/);
    for (const onFull of ['dropOldest', 'shift']) {
      const { status, stderr } = run('--on-full', onFull);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }
    expect(run('--on-full', 'never').stderr).toMatch(/"error", "dropOldest" or "shift"/);
  });

  test('takes control tokens from messages only where they are trusted', () => {
    const nTokens = (line: string, options: string[] = []) => {
      const args = ['chat', '-m', model, '--temp', '0', '-n', '1', '--speed', ...options];
      return Number(/prompt: (\d+) tokens/.exec(kinglet(args, line).stderr)![1]);
    };
    const nMore = (options?: string[]) => nTokens('a<s><s>', options) - nTokens('a<s>', options);
    expect(nMore(['--trust-content'])).toBe(1);
    expect(nMore()).toBeGreaterThan(1);
  });

  const tools = file(
    JSON.stringify([
      {
        type: 'function',
        function: { name: 'add', parameters: { properties: { a: { type: 'integer' } } } },
      },
    ]),
  );

  test('calls tools, and takes the next line for the result', () => {
    const run = (input: string) => {
      const options = [
        '--temp',
        '0',
        '-n',
        '60',
        '--tools',
        tools,
        '--tool-choice',
        'add',
        '--speed',
      ];
      const { status, stdout, stderr } = kinglet(['chat', '-m', model, ...options], input);
      expect(status).toBe(0);
      const prompts = [...stderr.matchAll(/prompt: (\d+) tokens/g)].map(([, n]) => Number(n));
      return { calls: stdout.trim().split('\n'), prompts };
    };
    const { calls, prompts } = run('Add.\n7\nAnd then?\n');
    expect(calls).toHaveLength(3);
    for (const call of calls) {
      expect(JSON.parse(call)).toEqual({ name: 'add', arguments: expect.any(Object) as unknown });
    }
    // The result is part of the conversation: with a longer one the next prompt is longer.
    const longer = run('Add.\nseventy-seven thousand and seven\nAnd then?\n');
    expect(longer.prompts[0]).toBe(prompts[0]);
    expect(longer.prompts[1]).toBeGreaterThan(prompts[1]!);
  });

  test('answers in JSON by a schema, with thoughts of limited length', () => {
    const schema = file(
      JSON.stringify({
        properties: { ok: { type: 'boolean' } },
        required: ['ok'],
        additionalProperties: false,
      }),
    );
    const { status, stdout } = kinglet(
      ['chat', '-m', model, ...greedy, '--schema', schema],
      'Well?',
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ ok: expect.any(Boolean) as unknown });
    const generated = kinglet([
      'generate',
      '-m',
      stories,
      ...greedy,
      '-p',
      'a',
      '--schema',
      schema,
    ]);
    expect(JSON.parse(generated.stdout)).toEqual({ ok: expect.any(Boolean) as unknown });
    const warns = file(
      '{"properties": {"ok": {"type": "boolean", "minLenght": 3}}, "maxProperties": 1}',
    );
    const { stderr } = kinglet([
      'generate',
      '-m',
      stories,
      ...greedy,
      '-p',
      'a',
      '--schema',
      warns,
    ]);
    expect(stderr).toMatch(/^kinglet: .*minLenght.*\n$/);
  });

  test.each([
    [['--tools', file('{}')], /^kinglet: tools is an empty object, expected an array of tools/],
    [
      ['--tools', tools, '--tool-choice', 'sub'],
      /names the tool "sub", which is not one of the tools/,
    ],
    [['--schema', file('{"type": }')], /^kinglet: .*: this is not JSON/],
    [['--schema', file('{"type": 7}')], /the JSON schema, at #/],
    [['--tools', '/nowhere'], /cannot open \/nowhere/],
  ])('refuses %j', (options, message) => {
    expectFailure(['chat', '-m', model, ...options], message, 'Well?\n');
  });

  test('takes a format by name', () => {
    const options = ['prompt', '-m', stories, '--format', 'zephyr'];
    expect(kinglet(options, 'Hello').stdout).toBe('<|user|>\nHello<s>\n<|assistant|>\n');
    expectFailure([...options.slice(0, -1), 'klingon'], /"klingon" is unknown \(known: .*zephyr/);
  });

  test('refuses files without a template and templates that it does not know', () => {
    expectFailure(
      ['chat', '-m', stories],
      /has no chat template.*choose one with --format NAME or --chat-template FILE/,
    );
    const other = file(withChatTemplate(readFileSync(stories), '\n{% frob %}'));
    expectFailure(
      ['chat', '-m', other],
      /cannot be parsed: line 2: statement "frob" is not supported; choose one with --format/,
    );
  });

  test('refuses a conversation that does not fit', () => {
    const long = 'word '.repeat(600);
    const { status, stderr } = kinglet(['chat', '-m', model], `${long}\n`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/the prompt has \d+ tokens, but the context has room for 512/);
  });
});

describe('split files', () => {
  const greedy = ['-p', 'Once upon a time', '--temp', '0', '-n', '12'];
  const name = (part: number) => join(folder, `stories-0000${String(part)}-of-00003.gguf`);
  const parts = splitModel(readFileSync(stories), 3);

  test('are read as one, whichever is named', () => {
    parts.forEach((part, i) => {
      writeFileSync(name(i + 1), part);
    });
    const whole = kinglet(['generate', '-m', stories, ...greedy]).stdout;
    for (const part of [1, 2, 3]) {
      expect(kinglet(['generate', '-m', name(part), ...greedy]).stdout).toBe(whole);
    }
    const tensors = (path: string) => {
      const { stdout } = kinglet(['inspect', path]);
      return stdout.match(/^(?:\S+\.weight .*\d bytes|Memory: .*)/gm)?.sort();
    };
    expect(tensors(name(2))).toEqual(tensors(stories));
    const quantized = newPath();
    expect(kinglet(['quantize', name(1), quantized, 'Q8_0']).status).toBe(0);
    expect(kinglet(['inspect', quantized]).stdout).not.toContain('split.');
  });

  test('are missed by name', () => {
    expectFailure(
      ['generate', '-m', file(parts[1]!), ...greedy],
      /split into 3 files; these are missing: 1 3/,
    );
    rmSync(name(2));
    expectFailure(['generate', '-m', name(1), ...greedy], /stories-00002-of-00003\.gguf: No such/);
  });
});

describe('sampling', () => {
  test('has an option for each row of the table', () => {
    const { stdout } = kinglet(['generate', '--help']);
    for (const name of samplingNames) {
      const flag = name === 'temperature' ? 'temp' : name.replaceAll('_', '-');
      expect(stdout).toContain(`--${flag} `);
    }
    const story = ['generate', '-m', stories, '-p', 'Once', '-n', '4', '--temp', '0'];
    expectFailure([...story, '--dry-base', '0.5'], /dry-base is 0.5, expected 1 to 100/);
    expectFailure([...story, '--xtc-threshold', '2'], /xtc-threshold is 2, expected 0 to 1/);
    const plain = kinglet(story).stdout;
    const breaker = '--dry-sequence-breaker';
    expect(kinglet([...story, '--dry-penalty-last-n', '-1', breaker, 'none']).stdout).toBe(plain);
    expect(kinglet([...story, breaker, '.', breaker, '\n']).stdout).toBe(plain);
  });

  test('is what the file recommends, unless options say otherwise', () => {
    const path = newPath();
    const sampling = { 'general.sampling.temp': 0 };
    writeFileSync(path, withMetadata(readFileSync(stories), sampling));
    const tell = (...more: string[]) =>
      kinglet(['generate', '-m', path, '-p', 'Once', '-n', '20', '--seed', '1', ...more]).stdout;
    const greedy = kinglet(['generate', '-m', stories, '-p', 'Once', '-n', '20', '--temp', '0']);
    expect(tell()).toBe(greedy.stdout);
    expect(tell('--temp', '1.5')).not.toBe(greedy.stdout);
    expect(kinglet(['inspect', path]).stdout).toMatch(/general\.sampling\.temp +float32 +0\n/);
    expectFailure(
      ['generate', '-m', path, '-p', 'Once', '--temp', '-1'],
      /temperature is -1, expected 0 to 100/,
    );
  });
});

describe('files that generate nothing', () => {
  const generate = (path: string) => ['generate', '-m', path, '-p', 'Once', '-n', '4'];
  const vocabulary = newPath();
  writeVocabulary(vocabulary, {
    ...{ model: 'gpt2', pre: 'gpt-2', tokens: ['a', 'b', 'ab'], merges: ['a b'] },
    extra: { 'general.architecture': 'llama' },
  });

  test('vocabularies are inspected and tokenize', () => {
    expect(kinglet(['inspect', vocabulary]).stdout).toMatch(
      /tokenizer\.ggml\.pre +string +"gpt-2"/,
    );
    expect(kinglet(['tokenize', '-m', vocabulary, '--text', 'abba']).stdout).toBe('2 1 0\n');
    expectFailure(generate(vocabulary), /contains only a vocabulary.*no weights to compute with/);
    expectFailure(['chat', '-m', vocabulary], /contains only a vocabulary/);
  });

  test('encoders and rerankers say what they make', () => {
    expectFailure(
      generate(fixture('encoder/bert.gguf')),
      /architecture "bert" is an encoder.*cannot generate text/,
    );
    expectFailure(
      generate(fixture('encoder/qwen3-rerank.gguf')),
      /computes embeddings and cannot generate text/,
    );
    for (const command of [['embed'], ['rerank', '--query', 'a']]) {
      expectFailure([...command, '-m', vocabulary], /contains only a vocabulary/, 'a text');
    }
  });
});

describe('bad files', () => {
  const generate = (path: string) => ['generate', '-m', path, '-p', 'Once', '-n', '4'];
  const whole = readFileSync(stories);
  const patched = (offset: number, value: number) => {
    const bytes = Uint8Array.from(whole);
    new DataView(bytes.buffer).setUint32(offset, value, true);
    return bytes;
  };

  test.each([
    ['an absent file', '/nowhere/model.gguf', /\/nowhere\/model\.gguf/],
    ['an empty file', file(''), /empty|truncated|ends/i],
    ['a text file', file('Once upon a time there was no model.\n'), /GGUF/],
    ['GGUF version 1', file(patched(4, 1)), /version 1/],
    ['a big-endian file', file(patched(4, 0x03000000)), /big-endian/],
    ['a file cut in its header', file(whole.subarray(0, 5000)), /only 4 are left/],
    [
      'a file cut in its weights',
      file(whole.subarray(0, 2_000_000)),
      /incomplete: 2\.0 of 3\.\d MB/,
    ],
    [
      'a zip archive',
      file('PK\x03\x04 and so on'),
      /a zip archive, expected a GGUF file: unpack it/,
    ],
    ['a web page', file('<html><title>Not found'), /a web page, "Not found", expected a GGUF file/],
  ])('%s', (_, path, message) => {
    for (const args of [generate(path), ['inspect', path], ['serve', '-m', path]]) {
      expectFailure(args, message);
      expectFailure(args, new RegExp(path));
    }
  });

  // Replaces the number after a metadata key and its type, or `skip` bytes after a tensor's name.
  const withUint32 = (name: string, value: number, skip = 4) =>
    file(patched(whole.indexOf(name) + name.length + skip, value));

  test('a wrong shape, a wrong type, more tokens than embeddings', () => {
    expectFailure(
      generate(withUint32('llama.feed_forward_length', 512)),
      /blk\.0\.ffn_gate\.weight has shape \[256, 768\], expected \[256, 512\]/,
    );
    expectFailure(
      generate(withUint32('blk.0.attn_norm.weight', 1, 12)),
      /blk\.0\.attn_norm\.weight has type F16, expected F32/,
    );
    expectFailure(
      generate(withUint32('token_embd.weight', 1024, 12)),
      /2048 tokens, but token_embd\.weight has only 1024 rows/,
    );
  });

  test('a missing tensor', () => {
    const bytes = Buffer.from(whole);
    bytes.write('blk.0.attn_x', bytes.indexOf('blk.0.attn_q'));
    expectFailure(generate(file(bytes)), /blk\.0\.attn_q\.weight is missing/);
  });

  test('a context that memory cannot hold', () => {
    const endless = withUint32('llama.context_length', 4_000_000_000);
    expectFailure([...generate(endless), '--ctx', '4000000000'], /out of memory: a KV cache/);
  });

  test('an architecture that is not implemented', () => {
    const bytes = Buffer.from(whole);
    bytes.write('mamba', bytes.indexOf('llama'));
    const path = file(bytes);
    expectFailure(generate(path), new RegExp(`${path}: .*architecture "mamba" is not supported`));
  });
});

describe('inspect', () => {
  test('prints metadata and tensors', () => {
    const { status, stdout } = kinglet(['inspect', stories]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^GGUF version 3, 28 metadata values, 56 tensors/);
    expect(stdout).toMatch(/general\.name\s+string\s+"Kinglet Stories 5M"/);
    expect(stdout).toMatch(/tokenizer\.ggml\.tokens\s+string\[2048\]/);
    expect(stdout).toMatch(/token_embd\.weight\s+Q6_K\s+\[256, 2048\]/);
    expect(stdout).toMatch(
      /^Memory: \d\.\d MB of weights, 1\.1 MB for 512 tokens of context \(KV cache: q8\)$/m,
    );
  });
});

describe('embed and rerank', () => {
  const tokens = (name: string) => {
    const answer = JSON.parse(readFileSync(fixture(`encoder/${name}.json`), 'utf8')) as Encoded;
    return {
      answer,
      args: ['-m', fixture(`encoder/${name}.gguf`), '--tokens', String(answer.tokens)],
    };
  };
  interface Encoded {
    tokens: number[];
    pooling: string;
    embedding: number[];
    token_embeddings: number[][];
    score: number;
    scores: number[];
  }
  const differences = (a: number[], b: number[]) => a.map((x, i) => Math.abs(x - b[i]!));

  test('print vectors in the shape of the fixtures', () => {
    const { answer, args } = tokens('nomic-bert');
    const found = JSON.parse(kinglet(['embed', ...args]).stdout) as Encoded;
    expect(found.pooling).toBe('mean');
    expect(found.embedding).toHaveLength(answer.embedding.length);
    expect(Math.max(...differences(found.embedding, answer.embedding))).toBeLessThan(1e-3);
    const states = JSON.parse(kinglet(['embed', ...args, '--pooling', 'none']).stdout) as Encoded;
    expect(states.token_embeddings).toHaveLength(answer.tokens.length);
    expect(
      Math.max(...differences(states.token_embeddings.flat(), answer.token_embeddings.flat())),
    ).toBeLessThan(1e-3);
  });

  test('print scores', () => {
    const { answer, args } = tokens('qwen3-rerank');
    const found = JSON.parse(kinglet(['rerank', ...args]).stdout) as Encoded;
    expect(found.scores).toHaveLength(2);
    expect(Math.max(...differences(found.scores, answer.scores))).toBeLessThan(1e-3);
    expect(found.score).toBe(found.scores[0]);
  });

  test('take lines of standard input', () => {
    const lines = (command: string[], input: string) =>
      kinglet(command, input)
        .stdout.trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Encoded);
    const bert = ['-m', fixture('encoder/bert.gguf')];
    const texts = Array.from({ length: 300 }, (_, i) => `text ${String(i)}`);
    const all = lines(['embed', ...bert], texts.join('\r\n'));
    expect(all).toHaveLength(texts.length);
    // A text has the same embedding, bit for bit, alone and among other texts.
    expect(lines(['embed', ...bert], texts[299]!)).toEqual([all[299]]);
    const [kept] = lines(['embed', ...bert, '--dimensions', '5', '--normalize'], texts[0]!);
    const length = Math.hypot(...all[0]!.embedding.slice(0, 5));
    const expected = all[0]!.embedding.slice(0, 5).map((x) => x / length);
    expect(Math.max(...differences(kept!.embedding, expected))).toBeLessThan(1e-6);
    expect(kept!.embedding).toHaveLength(5);
    const ofTokens = ['--pooling', 'none', '--dimensions', '5', '--normalize'];
    const [states] = lines(['embed', ...bert, ...ofTokens], texts[0]!);
    for (const state of states!.token_embeddings) {
      expect(state).toHaveLength(5);
      expect(Math.hypot(...state)).toBeCloseTo(1);
    }
    expect(lines(['embed', ...bert, '--prompt', 'text '], '0')).toEqual([all[0]]);
    expect(lines(['embed', ...bert, '--cut'], 'a '.repeat(500))).toHaveLength(1);

    const ranker = ['rerank', '-m', fixture('encoder/bert-rerank.gguf'), '--query', 'which text'];
    const scores = lines(ranker, 'text one\nanother');
    expect(scores.map(({ score }) => score)).toEqual([expect.any(Number), expect.any(Number)]);
    expect(scores[0]!.score).not.toBe(scores[1]!.score);
  });

  test('name the line that is wrong', () => {
    const embed = ['embed', '-m', fixture('encoder/bert.gguf')];
    expectFailure(
      embed,
      /line 2: the text has 502 tokens, but the model's context is 64/,
      `a\n${'a '.repeat(500)}`,
    );
    expectFailure(
      embed,
      /the text of line 2 is not valid UTF-8/,
      Buffer.from('a\nb\xff', 'latin1'),
    );
    expectFailure([...embed, '--dimensions', '99'], /--dimensions: .* 48 numbers, not 99/, 'a');
    const ranker = ['rerank', '-m', fixture('encoder/bert-rerank.gguf')];
    expectFailure(ranker, /give either --query or --tokens/);
  });

  test('refuse what a model does not make', () => {
    const { args } = tokens('bert-rerank');
    expectFailure(['embed', ...args], /a reranker computes scores, not embeddings/);
    expectFailure(['embed', ...args, '--pooling', 'max'], /pooling "max" is unknown/);
    expectFailure(['rerank', ...tokens('bert').args], /the model computes embeddings, not scores/);
    expectFailure(
      ['embed', '-m', fixture('encoder/bert.gguf'), '--tokens', '1,999'],
      /token id 999 is out of range \(vocabulary: 301\)/,
    );
  });
});

describe('classify', () => {
  const stories = ['classify', '-m', `${root}demo/models/kinglet-stories-5m-Q4_0.gguf`];
  const labels = ['--label', 'happy', '--label', 'very sad'];

  test('prints a line for each text', () => {
    const lines = (input: string, ...more: string[]) =>
      kinglet([...stories, ...labels, ...more], input)
        .stdout.trimEnd()
        .split('\n')
        .map(
          (line) => JSON.parse(line) as { label: string; probabilities: Record<string, number> },
        );
    const found = lines('a sad day\na ball');
    expect(found).toHaveLength(2);
    for (const { label, probabilities } of found) {
      expect(Object.keys(probabilities)).toEqual(['happy', 'very sad']);
      expect(probabilities.happy! + probabilities['very sad']!).toBeCloseTo(1, 5);
      expect(probabilities[label]).toBe(Math.max(...Object.values(probabilities)));
    }
    expect(lines('a ball')).toEqual([found[1]]);
    expect(lines('a ball', '--per-token')).not.toEqual([found[1]]);
    expect(lines('a ball', '--example', 'happy=I smile.')).not.toEqual([found[1]]);
  });

  test('names what is wrong', () => {
    expectFailure(stories, /the labels are missing: this model's file names none/);
    expectFailure([...stories, ...labels, '--example', 'x'], /--example: .* expected LABEL=TEXT/);
    expectFailure([...stories, ...labels], /prompt of text 0 has \d+ tokens/, 'a '.repeat(3000));
    const embedder = ['classify', '-m', fixture('encoder/bert.gguf'), ...labels];
    expectFailure(embedder, /the model computes embeddings: classification needs/);
  });
});

describe('logprobs', () => {
  test('prints JSON in the shape of the fixtures', () => {
    const reference = JSON.parse(readFileSync(fixture('arch/llama.json'), 'utf8')) as Logprobs;
    const { status, stdout } = kinglet([
      ...['logprobs', '-m', fixture('arch/llama.gguf'), '--greedy', '16'],
      ...['--tokens', reference.tokens.join(',')],
      ...['--positions', reference.positions.map(({ position }) => position).join(',')],
    ]);
    expect(status).toBe(0);
    const answer = JSON.parse(stdout) as Logprobs;
    expect(answer.tokens).toEqual(reference.tokens);
    expect(answer.greedy).toEqual(reference.greedy);
    expect(answer.positions).toHaveLength(5);
    answer.positions.forEach(({ position, argmax, logprobs }, i) => {
      const expected = reference.positions[i]!;
      expect(position).toBe(expected.position);
      expect(argmax).toBe(expected.argmax);
      const differences = logprobs.map((p, id) =>
        Math.abs(Math.exp(p) - Math.exp(expected.logprobs[id]!)),
      );
      expect(Math.max(...differences)).toBeLessThan(2e-3);
    });
  });

  test('refuses ids and positions that do not exist', () => {
    const logprobs = ['logprobs', '-m', fixture('arch/llama.gguf')];
    expectFailure(
      [...logprobs, '--tokens', '1,512'],
      /token id 512 is out of range \(vocabulary: 512\)/,
    );
    expectFailure(
      [...logprobs, '--tokens', '1,2', '--positions', '2'],
      /2 is out of range: the last token/,
    );
  });
});

describe('the command line', () => {
  test('has a version, that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(kinglet(['--version'])).toMatchObject({ status: 0, stdout: `kinglet ${version}\n` });
  });

  test.each([
    [['genrate', '-m', 'x'], /has no command "genrate"; did you mean generate\?/],
    [['frobnicate'], /has no command "frobnicate"; kinglet --help lists them/],
    [['--verion'], /has no option "--verion"; did you mean --version\?/],
    [['generate', '--promt', 'x'], /generate has no option "--promt"; did you mean --prompt\?/],
    [['chat', '-m', 'x', '--tmep=0.5'], /chat has no option "--tmep"; did you mean --temp\?/],
    [['list', '--all'], /list has no option "--all"; kinglet list --help lists them/],
    [['model.gguf'], /a model is given with -m: kinglet chat -m model\.gguf/],
    [
      ['chat', '-m', 'x', 'hello'],
      /chat does not take the argument "hello"; see kinglet chat --help/,
    ],
    [['generate', '-m', 'x', '--temp', 'abc'], /--temp: "abc" is not a number/],
    [['generate', '-m', 'x', '--top-k', '1.5'], /--top-k: "1\.5" is not a whole number/],
  ])('says what was meant by %j', (args, message) => {
    expectFailure(args, message);
  });
});

describe('what nobody asked for', () => {
  test.each([
    ['generate', '--temp'],
    ['generate', '--n-tokens'],
    ['generate', '--schema'],
    ['chat', '--prompt-cache'],
    ['embed', '--tokens'],
    ['prepare', '--output'],
    ['prepare', '--system'],
    ['serve', '--api-key'],
  ])('kinglet %s refuses an empty %s', (command, option) => {
    const { status, stderr } = kinglet([command, '-m', stories, option, '']);
    expect(stderr).toContain(`${option}: the value is empty`);
    expect(status).toBe(1);
  });

  test('prepare replaces no other file than a state, and a full disk is an error', () => {
    const template = file('{% for m in messages %}{{ m.content }}{% endfor %}');
    const prepare = ['prepare', '-m', stories, '--chat-template', template, '--system', template];
    const state = newPath();
    for (let i = 0; i < 2; ++i) expect(kinglet([...prepare, '-o', state]).status).toBe(0);
    const other = file('my notes');
    expectFailure([...prepare, '-o', other], /exists and is another kind of file/);
    expect(readFileSync(other, 'utf8')).toBe('my notes');
  });

  test.skipIf(isCrossBuilt || !existsSync('/dev/full')).each([
    ['--help', '> /dev/full', /not all of the output could be written/],
    ['generate -m "$M" -p Once -n 4', '> /dev/full', /not all of the output could be written/],
    ['tokenize -m "$M"', '< /', /standard input cannot be read/],
    ['generate -m "$M" -p a --grammar /dev/zero', '', /\/dev\/zero has more than 1073741824 bytes/],
    ['generate -m "$M" -p a --grammar /', '', /cannot read \/: Is a directory/],
  ])('kinglet %s %s fails', (args, streams, message) => {
    const { status, stderr } = spawnSync('sh', ['-c', `"$K" ${args} ${streams}`], {
      ...{ env: { ...process.env, K: program, M: stories }, encoding: 'utf8' },
    });
    expect(stderr).toMatch(message);
    expect(status).toBe(1);
  });
});

describe('names and texts in any script', () => {
  test('are those of files that are read and written', () => {
    const copy = join(folder, 'Größe 大 🐦.gguf');
    const made = kinglet(['quantize', fixture('quant/llama-f32.gguf'), copy, 'Q8_0']);
    expect(made).toMatchObject({ status: 0, stdout: '' });
    const again = kinglet(['quantize', fixture('quant/llama-f32.gguf'), copy, 'Q8_0', '--force']);
    expect(again).toMatchObject({ status: 0, stdout: '' });
    expect(readFileSync(copy).subarray(0, 4).toString()).toBe('GGUF');
    expect(kinglet(['inspect', copy]).status).toBe(0);
    expectFailure(['inspect', `${copy}.absent`], /Größe 大 🐦\.gguf\.absent/);
  });

  test('come as arguments and as standard input, byte by byte', () => {
    const text = 'Größe 大 🐦\r\nend \u001a.';
    const { stdout } = kinglet(['tokenize', '-m', stories, '--text', text]);
    expect(stdout).toMatch(/^\d+( \d+)*\n$/);
    expect(kinglet(['tokenize', '-m', stories], text).stdout).toBe(stdout);
    const ids = stdout.trim().replaceAll(' ', ',');
    expect(kinglet(['detokenize', '-m', stories, '--ids', ids]).stdout).toBe(`${text}\n`);
  });
});

describe('quantize', () => {
  const f32 = fixture('quant/llama-f32.gguf');

  /** Quantizes `model` to another mix of types and returns the path of the result. */
  function quantized(model: string, type: string): string {
    const path = newPath();
    expect(kinglet(['quantize', model, path, type])).toMatchObject({ status: 0, stdout: '' });
    return path;
  }

  /** Returns the tensor types of the last layer ("attn_q.weight": "Q4_0", …) and metadata. */
  function inspected(path: string): Record<string, string> {
    const { stdout } = kinglet(['inspect', path]);
    const types = [...stdout.matchAll(/^(?:blk\.\d+\.)?(\S+)\s+(\w+)\s+\[.*bytes at/gm)];
    const numbers = [...stdout.matchAll(/^(general\.\w+)\s+uint32\s+(\d+)(?: \(\w+\))?$/gm)];
    return Object.fromEntries([...types, ...numbers].map(([, name, value]) => [name!, value!]));
  }

  /** What a model says at these positions of a text; by default, at all of them. */
  function logprobsOf(path: string, tokens: readonly number[], positions = [...tokens.keys()]) {
    const given = ['--tokens', tokens.join(','), '--positions', positions.join(',')];
    const { stdout } = kinglet(['logprobs', '-m', path, '--kernels', 'scalar', ...given]);
    return JSON.parse(stdout) as Logprobs;
  }

  /** Returns the divergence of a model from its reference for the same tokens, in nats a token. */
  function divergence(path: string, reference: Logprobs): number {
    const places = reference.positions.map(({ position }) => position);
    const { positions } = logprobsOf(path, reference.tokens, places);
    const terms = positions.flatMap(({ logprobs }, i) =>
      reference.positions[i]!.logprobs.map((p, id) => Math.exp(p) * (p - logprobs[id]!)),
    );
    return terms.reduce((sum, term) => sum + term, 0) / positions.length;
  }

  const reference = JSON.parse(readFileSync(fixture('quant/llama-f32.json'), 'utf8')) as Logprobs;

  test.each(['Q4_0', 'Q8_0', 'Q4_K_M', 'q6_k', 'F16', 'Q4_K_S', 'MXFP4'])(
    'to %s keeps what the model says',
    (type) => {
      expect(divergence(quantized(f32, type), reference)).toBeLessThan(0.3);
    },
  );

  // Compares every position. The model has one layer and random weights, so a tenth is allowed for
  // chance.
  test.each(['Q2_K', 'Q3_K_M', 'Q4_K_M', 'Q5_K_M', 'Q6_K', 'IQ4_NL', 'IQ4_XS', 'TQ1_0', 'TQ2_0'])(
    'to %s is as good as the file of llama.cpp',
    (type) => {
      const exact = logprobsOf(f32, reference.tokens);
      const theirs = fixture(`quant/llama-${type}.gguf`);
      const ours = quantized(f32, type);
      expect(divergence(ours, exact)).toBeLessThan(1.1 * divergence(theirs, exact));
      const types = (path: string) =>
        Object.entries(inspected(path)).filter(([name]) => !name.startsWith('general.'));
      expect(types(ours).sort()).toEqual(types(theirs).sort());
    },
  );

  test.each(['Q1_0', 'Q2_0', 'NVFP4'])('to %s and from there to F32 says the same', (type) => {
    const small = quantized(f32, type);
    const said = logprobsOf(small, reference.tokens);
    expect(Math.abs(divergence(quantized(small, 'F32'), said))).toBeLessThan(1e-5);
  });

  test('to NVFP4 gives each matrix a factor, and to another type takes it again', () => {
    const nvfp4 = quantized(f32, 'nvfp4');
    expect(inspected(nvfp4)).toMatchObject({
      'attn_q.weight': 'NVFP4',
      'attn_q.scale': 'F32',
      'token_embd.weight': 'Q4_K',
      'output.weight': 'Q6_K',
      'general.file_type': '39',
    });
    expect(divergence(nvfp4, reference)).toBeLessThan(0.3);
    const experts = quantized(fixture('hybrid/lfm2moe-Q4_0.gguf'), 'NVFP4');
    expect(kinglet(['inspect', experts]).stdout).toMatch(/ffn_gate_exps\.scale +F32 +\[4\]/);
    expect(Object.keys(inspected(quantized(nvfp4, 'Q8_0')))).not.toContain('attn_q.scale');
    // A matrix that keeps its type keeps its factor.
    expect(Object.keys(inspected(quantized(nvfp4, 'NVFP4')))).toContain('attn_q.scale');
    expect(kinglet(['inspect', nvfp4]).stdout).toMatch(/^general\.file_type .* 39 \(NVFP4\)$/m);
  });

  test('to Q1_0 takes everything, embeddings too', () => {
    expect(inspected(quantized(f32, 'Q1_0'))).toMatchObject({
      'token_embd.weight': 'Q1_0',
      'attn_v.weight': 'Q1_0',
      'output.weight': 'Q1_0',
      'attn_norm.weight': 'F32',
    });
  });

  describe('by importance', () => {
    const written = (seed: string, n: string) =>
      kinglet([
        ...['generate', '-m', stories, '-p', 'Once upon a time', '-n', n, '--seed', seed],
        ...['--temp', '0.8', '--kernels', 'scalar'],
      ]).stdout;
    const text = file(['1', '2', '3', '4', '5', '6'].map((seed) => written(seed, '300')).join(''));
    const matrix = newPath();
    const measure = (model: string, ...more: string[]) =>
      kinglet(['imatrix', '-m', model, '-f', text, '-o', matrix, '--ctx', '128', ...more]);

    test('measures a text and writes the format of llama.cpp', () => {
      expect(measure(stories)).toMatchObject({ status: 0, stdout: '' });
      const { stdout } = kinglet(['inspect', matrix]);
      expect(stdout).toMatch(/^general\.type +string +"imatrix"$/m);
      expect(stdout).toMatch(/^imatrix\.chunk_size +uint32 +128$/m);
      expect(stdout).toMatch(/^blk\.5\.ffn_down\.weight\.in_sum2 +F32 +\[768\]/m);
      expect(stdout).toMatch(/^blk\.0\.attn_q\.weight\.counts +F32 +\[1\]/m);
      expect(stdout).not.toMatch(/^output|^token_embd/m);
      const before = readFileSync(matrix);
      expect(measure(stories).stderr).toMatch(/already exists: replace it with --force/);
      expect(measure(stories, '--force').stderr).toMatch(/^\d+ tokens, 42 matrices\n$/);
      expect(readFileSync(matrix).equals(before)).toBe(true);
      expectFailure(
        ['imatrix', '-m', stories, '-f', text, '-o', text, '--force'],
        /the output, .* is also the input: choose another name/,
      );
      expectFailure(
        ['imatrix', '-m', stories, '-f', file('Too short.'), '-o', newPath()],
        /the text has \d+ tokens, expected at least one window of 512/,
      );
    });

    test('has a row for each expert', () => {
      const [model, experts] = [fixture('hybrid/lfm2moe-Q4_0.gguf'), newPath()];
      const args = ['imatrix', '-m', model, '-f', text, '-o', experts, '--ctx', '32'];
      expect(kinglet(args).status).toBe(0);
      expect(kinglet(['inspect', experts]).stdout).toMatch(
        /^blk\.\d+\.ffn_down_exps\.weight\.counts +F32 +\[1, 4\]/m,
      );
      const small = newPath();
      const made = kinglet(['quantize', model, small, 'Q5_0', '--imatrix', experts]);
      expect(made).toMatchObject({ status: 0, stdout: '' });
    });

    test('names the matrix in the new file', () => {
      const weighed = newPath();
      const made = kinglet(['quantize', stories, weighed, 'Q3_K_S', '--imatrix', matrix]);
      expect(made).toMatchObject({ status: 0, stdout: '' });
      expect(made.stderr).toMatch(/^before: .*\nafter: .*\n$/); // every matrix has its importance
      const { stdout } = kinglet(['inspect', weighed]);
      expect(stdout).toMatch(/^quantize\.imatrix\.entries_count +uint32 +42$/m);
      expect(stdout).toContain(`"${matrix}"`);
      const plain = kinglet(['inspect', quantized(weighed, 'Q8_0')]).stdout;
      expect(plain).not.toContain('quantize.imatrix');
      expect(readFileSync(weighed).equals(readFileSync(quantized(stories, 'Q3_K_S')))).toBe(false);
    });

    /** What a model says at each token of a text; each model is asked once. */
    const known = new Map<string, Logprobs>();
    const saidBy = (model: string): Logprobs => {
      const before = known.get(model);
      if (before) return before;
      const ids = kinglet(['tokenize', '-m', model, '--text', written('77', '200')]).stdout;
      const said = logprobsOf(model, [1, ...ids.trim().split(' ').map(Number)]);
      known.set(model, said);
      return said;
    };

    const f16 = join(root, '../shared/models/kinglet-stories-5m-f16.gguf');
    test.skipIf(!existsSync(f16)).each(['Q2_K', 'IQ4_XS'])(
      'to %s keeps as much of a model or more',
      (type) => {
        const said = saidBy(f16);
        const weighed = newPath();
        expect(kinglet(['quantize', f16, weighed, type, '--imatrix', matrix]).status).toBe(0);
        // The text is short: a fiftieth is allowed for chance.
        expect(divergence(weighed, said)).toBeLessThan(
          1.02 * divergence(quantized(f16, type), said),
        );
      },
    );

    test.each([
      ['IQ2_M', 'IQ2_S', 'IQ3_S', 0.1],
      ['IQ3_XXS', 'IQ3_XXS', 'IQ3_S', 0.1],
      ['IQ1_S', 'IQ1_S', 'IQ2_XXS', 0.4],
    ])('to %s: most matrices in %s, attention in %s', (type, most, attention, bound) => {
      const small = newPath();
      expect(kinglet(['quantize', stories, small, type, '--imatrix', matrix]).status).toBe(0);
      expect(inspected(small)).toMatchObject({
        'token_embd.weight': 'Q5_K',
        'ffn_up.weight': most,
        'attn_output.weight': attention,
        'attn_norm.weight': 'F32',
      });
      expect(divergence(small, saidBy(stories))).toBeLessThan(bound);
    });

    test('is needed for types of few bits', () => {
      const made = newPath();
      expectFailure(
        ['quantize', stories, made, 'IQ2_XS'],
        /"blk\.0\.attn_[kq]\.weight" in IQ2_XS needs an importance matrix: "kinglet imatrix /,
      );
      expect(existsSync(made)).toBe(false);
      expect(inspected(quantized(stories, 'IQ3_S'))).toMatchObject({ 'ffn_up.weight': 'IQ3_S' });
    });

    test('refuses matrices that are not of the model', () => {
      const quantize = (model: string, by: string) => [
        ...['quantize', model, newPath(), 'Q4_K_M', '--imatrix', by],
      ];
      expectFailure(
        quantize(stories, stories),
        /Q4_0\.gguf: not an importance matrix: general.type/,
      );
      expectFailure(quantize(stories, text), /GGUF/);
      expectFailure(quantize(stories, join(folder, 'none')), /none/);
      expectFailure(quantize(f32, matrix), /importance matrix of another model/);
      expectFailure(
        [...['quantize', stories, matrix, 'Q2_K', '--force', '--imatrix', matrix]],
        /is also the input: choose another name/,
      );
    });
  });

  test('stores every matrix in a type that fits it', () => {
    expect(inspected(quantized(f32, 'Q4_0'))).toMatchObject({
      'attn_q.weight': 'Q4_0',
      'attn_norm.weight': 'F32',
      'output.weight': 'Q6_K',
    });
  });

  test('leaves routers of experts as they are, and gives their down projections more', () => {
    const model = quantized(fixture('arch/qwen3moe.gguf'), 'Q4_K_M');
    expect(inspected(model)).toMatchObject({
      'ffn_gate_inp.weight': 'F32',
      'ffn_down_exps.weight': 'Q8_0', // in place of Q6_K, as the rows have 32 weights
    });
  });

  test('leaves norms for each head and learned positions as they are', () => {
    expect(inspected(quantized(fixture('arch/stablelm-parallel.gguf'), 'Q8_0'))).toMatchObject({
      'attn_q_norm.weight': 'F32',
      'attn_k_norm.weight': 'F32',
    });
    expect(inspected(quantized(fixture('arch/gpt2.gguf'), 'Q8_0'))).toMatchObject({
      'position_embd.weight': 'F32',
      'attn_qkv.weight': 'Q8_0',
    });
  });

  test('tells the mix, and the version of its blocks', () => {
    const file = quantized(f32, 'Q4_K_M');
    expect(inspected(file)).toMatchObject({
      'general.file_type': '15',
      'general.quantization_version': '2',
    });
    const floats = inspected(quantized(file, 'F16'));
    expect(floats['general.file_type']).toBe('1');
    expect(floats).not.toHaveProperty('general.quantization_version');
  });

  test('changes nothing in a file that is of this mix already', () => {
    const once = quantized(f32, 'Q3_K_M');
    expect(readFileSync(quantized(once, 'Q3_K')).equals(readFileSync(once))).toBe(true);
  });

  test('prints the sizes and the types before and after', () => {
    const { stderr } = kinglet(['quantize', stories, newPath(), 'Q8_0']);
    expect(stderr).toMatch(
      /^before: 3\.1 MB, Q4_0 \d+ %, Q6_K \d+ %, F32 0\.\d+ %\nafter: 5\.6 MB, Q8_0 100 %, F32/,
    );
    const floats = kinglet(['quantize', f32, newPath(), 'F32']).stderr.split('\n');
    expect(floats[0]!.replace('before', 'after')).toBe(floats[1]);
    expect(floats[0]).toMatch(/^before: \d\.\d MB, F32 100 %$/);
  });

  test('refuses an unknown type and a folder that is not there', () => {
    expectFailure(['quantize', f32, newPath(), 'Q9_9'], /"Q9_9" \(known: F32, F16, .*, MXFP4_MOE/);
    expectFailure(['quantize', f32, '/nowhere/out.gguf', 'Q8_0'], /cannot create/);
  });

  test.skipIf(isCrossBuilt)('never writes the file that it reads, by whatever name', () => {
    const model = newPath();
    copyFileSync(f32, model);
    const [link, hardLink] = [newPath(), newPath()];
    symlinkSync(model, link);
    linkSync(model, hardLink);
    for (const output of [model, link, hardLink, join(folder, '.', basename(model))]) {
      expectFailure(['quantize', model, output, 'Q8_0'], /the output, ".*", is also the input/);
      expectFailure(
        ['quantize', link, output, 'Q8_0', '--force'],
        /is also the input: choose another name/,
      );
    }
    expect(readFileSync(model).equals(readFileSync(f32))).toBe(true);
  });

  test.skipIf(isCrossBuilt)('leaves what was there until the new file is complete', () => {
    const target = file('before');
    const damaged = file(readFileSync(f32).subarray(0, 10_000));
    expectFailure(
      ['quantize', f32, target, 'Q8_0'],
      /the output, ".*", already exists: replace it with --force/,
    );
    expect(kinglet(['quantize', damaged, target, 'Q8_0', '--force']).status).toBe(1);
    expect(readFileSync(target, 'utf8')).toBe('before');
    const link = newPath();
    symlinkSync(target, link);
    expect(kinglet(['quantize', f32, link, 'Q8_0', '--force']).status).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(target).equals(readFileSync(quantized(f32, 'Q8_0')))).toBe(true);
    expect(readdirSync(folder).filter((name) => /\.(part|lock)$/.test(name))).toEqual([]);
  });

  test.skipIf(isCrossBuilt)('deletes what it wrote where it cannot finish', () => {
    const target = file('before');
    const command = `ulimit -f 20; exec "$0" quantize "$1" "$2" F32 --force`;
    const made = spawnSync('bash', ['-c', `trap '' XFSZ; ${command}`, program, f32, target]);
    expect(made.status).toBe(1);
    expect(String(made.stderr)).toMatch(/cannot write .*File too large/);
    expect(readFileSync(target, 'utf8')).toBe('before');
    expect(readdirSync(folder).filter((name) => /\.(part|lock)$/.test(name))).toEqual([]);
  });

  test.skipIf(isCrossBuilt)('writes to a pipe as it comes', () => {
    const command = '"$0" quantize "$1" /dev/stdout Q8_0 | cat';
    const piped = spawnSync('bash', ['-c', command, program, f32], { maxBuffer: 2 ** 28 });
    expect(piped.stdout.equals(readFileSync(quantized(f32, 'Q8_0')))).toBe(true);
  });
});

describe('tokenize and detokenize', () => {
  const text = 'Once upon a time, été 🐦.';

  test('go there and back', () => {
    const ids = kinglet(['tokenize', '-m', stories, '--text', text]).stdout.trim();
    expect(ids).toMatch(/^\d+( \d+)+$/);
    const back = kinglet(['detokenize', '-m', stories, '--ids', ids.replaceAll(' ', ',')]);
    expect(back.stdout).toBe(`${text}\n`);
  });

  test('read standard input, and put BOS in front when asked', () => {
    const plain = kinglet(['tokenize', '-m', stories], text).stdout;
    expect(plain).toBe(kinglet(['tokenize', '-m', stories, '--text', text]).stdout);
    expect(kinglet(['tokenize', '-m', stories, '--bos'], text).stdout).toBe(`1 ${plain}`);
  });

  test('recognise control tokens when asked', () => {
    const tokenize = ['tokenize', '-m', stories, '--text', '<s>'];
    expect(kinglet([...tokenize, '--special']).stdout).toBe('1\n');
    expect(kinglet(tokenize).stdout).not.toBe('1\n');
  });

  test('refuse ids outside the vocabulary', () => {
    expectFailure(['detokenize', '-m', stories, '--ids', '1,2048'], /2048/);
  });
});
