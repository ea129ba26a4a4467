// The program with pictures: PNG and JPEG files, and models with random weights that read them.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { progressiveJpeg, png, turnedJpeg, type Pixel } from './picture-files.ts';
import { expectFailure, fixture, kinglet, stories } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'kinglet-pictures-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const model = fixture('arch/llama-linear.gguf');
const mmproj = fixture('vision/idefics3.gguf');

/** Returns the answer to a prompt with a picture: random, but the same for the same pixels. */
function look(prompt: string, picture: string): string {
  return lookWith(mmproj, prompt, [picture]);
}

function lookWith(reader: string, prompt: string, pictures: string[]): string {
  const images = pictures.flatMap((path) => ['--image', path]);
  const options = ['-m', model, '--mmproj', reader, '-n', '6', '--temp', '0', '-p', prompt];
  const { status, stdout, stderr } = kinglet(['generate', ...options, ...images]);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

const red: Pixel = [254, 0, 0, 255];
const blue: Pixel = [0, 0, 254, 255];

describe('kinglet generate --image', () => {
  const pattern = file(
    'pattern.png',
    png(40, 30, (x, y) => [x * 6, y * 8, 99, 255]),
  );
  const other = file(
    'other.png',
    png(40, 30, (x, y) => [y * 8, x * 6, 11, 255]),
  );

  test('puts pictures where the prompt says, or else in front', () => {
    expect(look('a b', pattern)).not.toBe(look('a b', other));
    expect(look('a b', pattern)).toBe(look('<image>a b', pattern));
    expect(look('a <image> b', pattern)).not.toBe(look('<image>a b', pattern));
    const lookAtBoth = (...pictures: string[]) =>
      lookWith(fixture('vision/gemma3.gguf'), 'a <image> b <image>', pictures);
    expect(lookAtBoth(pattern, other)).not.toBe(lookAtBoth(other, pattern));
  });

  test('puts what is transparent on white', () => {
    const glass = file(
      'glass.png',
      png(16, 16, () => [7, 8, 9, 0]),
    );
    const white = file(
      'white.png',
      png(16, 16, () => [255, 255, 255, 255]),
    );
    expect(look('a', glass)).toBe(look('a', white));
  });

  test('turns a photograph as its EXIF says', () => {
    // Flat colours: JPEG changes them only by rounding.
    const turned = file('turned.jpg', turnedJpeg);
    const upright = file(
      'upright.png',
      png(16, 32, (_, y) => (y < 16 ? red : blue)),
    );
    const lying = file(
      'lying.png',
      png(32, 16, (x) => (x < 16 ? red : blue)),
    );
    expect(look('a', turned)).toBe(look('a', upright));
    expect(look('a', turned)).not.toBe(look('a', lying));
  });

  test('says what is wrong', () => {
    const options = ['generate', '-m', model, '-p', 'a', '--image'];
    const withReader = ['generate', '-m', model, '-p', 'a', '--mmproj', mmproj, '--image'];
    expectFailure(
      [...options, pattern],
      /has no mmproj file: .* set the option mmproj to its mmproj file/,
    );
    expectFailure([...withReader, '/nowhere.png'], /cannot open \/nowhere.png/);
    expectFailure([...withReader, model], /is neither a PNG nor a JPEG file/);
    const gif = file('a.gif', Buffer.from('GIF89a'));
    expectFailure([...withReader, gif], /is neither a PNG nor a JPEG file/);
    const cut = file('cut.png', png(16, 16, () => [1, 2, 3, 255]).subarray(0, 60));
    expectFailure([...withReader, cut], /cut.png cannot be read as a picture/);
    // Fewer than 150 bytes, for which decoding would take gigabytes.
    const wide = file('wide.jpg', progressiveJpeg(16_000, 16_000, 1));
    expectFailure([...withReader, wide], / bytes, too few for 16000 x 16000 pixels/);
    const slow = file('slow.jpg', progressiveJpeg(500, 500, 1000));
    expectFailure([...withReader, slow], /has more than 100 scans/);
    const torn = file('torn.jpg', turnedJpeg.subarray(0, 300));
    expectFailure([...withReader, torn], /torn.jpg cannot be read as a picture/);
    expectFailure(
      ['generate', '-m', model, '-p', '<image><image>', '--mmproj', mmproj, '--image', pattern],
      /has places for 2 pictures, but 1 were given/,
    );
    expectFailure(
      ['generate', '-m', stories, '-p', 'a', '--mmproj', mmproj, '--image', pattern],
      /makes rows of 48 numbers, but the model reads rows of 256/,
    );
    expectFailure(
      ['generate', '-m', model, '-p', 'a', '--mmproj', model, '--image', pattern],
      /is a text model, expected a picture reader/,
    );
    expectFailure(
      ['generate', '-m', mmproj, '-p', 'a'],
      /is a picture reader \(mmproj\), not a model/,
    );
  });
});

test('kinglet chat takes a picture in front of the first message, read by the file beside', () => {
  const beside = join(folder, 'model.gguf');
  symlinkSync(model, beside);
  symlinkSync(mmproj, join(folder, 'mmproj-model.gguf'));
  const template = file(
    'said.jinja',
    Buffer.from('{% for m in messages %}{{ m.content }}{% endfor %}'),
  );
  const picture = file(
    'chat.png',
    png(20, 20, (x, y) => [x, y, 5, 255]),
  );
  const options = ['-m', beside, '--chat-template', template, '-n', '4', '--temp', '0', '--speed'];
  const { status, stderr } = kinglet(['chat', ...options, '--image', picture], 'a\nb\n');
  expect(status).toBe(0);
  const [first, second] = [...stderr.matchAll(/prompt: (\d+) tokens, (\d+) of them known/g)];
  expect(Number(first![1])).toBeGreaterThan(60);
  expect(Number(second![2])).toBeGreaterThan(60); // the picture is not computed again
});

describe('kinglet quantize of a file that reads pictures', () => {
  const pattern = file(
    'quantized.png',
    png(40, 30, (x, y) => [x * 6, y * 8, 99, 255]),
  );

  /** The types of a file's tensors, by their names. */
  function typesOf(path: string): Record<string, string> {
    const { stdout } = kinglet(['inspect', path]);
    const lines = stdout.matchAll(/^(\S+)\s+(\S+)\s+\[[^\]]*\]\s+\d+ bytes/gm);
    return Object.fromEntries(Array.from(lines, ([, name = '', type = '']) => [name, type]));
  }

  test.each([
    ['F16', 'F16', 'F16'],
    ['Q8_0', 'Q8_0', 'Q8_0'],
    ['Q4_0', 'Q4_0', 'Q4_0'],
    ['Q4_K_M', 'Q5_0', 'Q8_0'], // rows are too short for blocks of K types
  ])('to %s keeps what is delicate, and reads the same picture', (mix, query, down) => {
    const path = join(folder, `mmproj-${mix}.gguf`);
    expect(kinglet(['quantize', mmproj, path, mix])).toMatchObject({ status: 0, stdout: '' });
    expect(typesOf(path)).toMatchObject({
      ...{ 'v.patch_embd.weight': 'F16', 'v.position_embd.weight': 'F32' },
      ...{ 'v.blk.0.ln1.weight': 'F32', 'v.blk.0.attn_q.weight': query },
      'v.blk.1.ffn_down.weight': down,
    });
    expect(lookWith(path, 'a b', [pattern])).not.toBe('');
  });

  test.each(['gemma3', 'gemma4v', 'lfm2', 'qwen2vl', 'qwen25vl', 'qwen3vl-deepstack'])(
    'of %s',
    (name) => {
      const path = join(folder, `mmproj-${name}.gguf`);
      const source = fixture(`vision/${name}.gguf`);
      expect(kinglet(['quantize', source, path, 'Q4_0'])).toMatchObject({ status: 0, stdout: '' });
      expect(Object.values(typesOf(path))).toContain('Q4_0');
      if (name === 'gemma3') {
        expect(typesOf(path)['mm.input_projection.weight']).toBe('F16');
      }
    },
  );
});
