// The part of the engine that reads pictures, compared with llama.cpp's answers (tests/fixtures/README.md).
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EngineModule, EngineOverrides, EngineResult } from '#engine';
import type { VisionReader } from '#vision';
import { root } from './support.ts';

interface Answer {
  width: number;
  height: number;
  parts: ({ text: string } | { n_rows: number; rows: number[] })[];
}

async function open(variant: string, nThreads: number): Promise<EngineModule> {
  const path = `${root}build/wasm/kinglet-${variant}`;
  const { default: create } = (await import(`${path}.js`)) as {
    default: (overrides: EngineOverrides) => Promise<EngineModule>;
  };
  return create({ nThreads, wasmBinary: new Uint8Array(readFileSync(`${path}.wasm`)) });
}

const vision = await open('simd128', 1);

function value<T>(result: EngineResult<T>): T {
  if (result.error) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

function load(file: Uint8Array, module = vision): EngineResult<VisionReader> {
  const pieceBytes = 10_000;
  const loader = value(module.newVisionLoader(file.length, ''));
  for (let at = 0; at < file.length;) {
    const { address, bytes } = value(loader.reserve(pieceBytes));
    if (bytes === 0) break;
    module.HEAPU8.set(file.subarray(at, at + bytes), address);
    const committed = loader.commit(bytes);
    if (committed.error) return committed;
    at += bytes;
  }
  const reader = loader.finish();
  loader.delete();
  return reader;
}

function fixture(name: string): Uint8Array {
  return readFileSync(`${root}tests/fixtures/vision/${name}.gguf`);
}

/** Returns the same pixels as picture_of() in tests/vision/pictures.h. */
function picture(width: number, height: number): Uint8Array {
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

function read(reader: VisionReader, width: number, height: number, module = vision): void {
  const address = value(reader.reserve(width, height));
  module.HEAPU8.set(picture(width, height), address);
  let left = value(reader.begin(1));
  while (left > 0) left = value(reader.advance());
}

describe.each([
  ['simd128', 1],
  ['simd128-threads', 2],
] as const)('the module that reads pictures, %s on %i threads', (variant, nThreads) => {
  let module: EngineModule;
  beforeAll(async () => {
    module = nThreads === 1 ? vision : await open(variant, nThreads);
  });

  it.each(['idefics3-old', 'gemma3', 'gemma4v', 'lfm2', 'qwen2vl', 'qwen25vl', 'qwen3vl'])(
    'answers as llama.cpp does: %s',
    (name) => {
      const reader = value(load(fixture(name), module));
      const answers = JSON.parse(
        readFileSync(`${root}tests/fixtures/vision/${name}.json`, 'utf8'),
      ) as { pictures: Answer[] };
      for (const { width, height, parts } of answers.pictures) {
        read(reader, width, height, module);
        const found = reader.parts();
        expect(found.length).toBe(parts.length);
        for (const [i, part] of parts.entries()) {
          if ('text' in part) {
            expect(found[i]?.text).toBe(part.text);
            continue;
          }
          expect(found[i]?.nRows).toBe(part.n_rows);
          const rows = value(reader.rows(i));
          const last = rows.subarray(rows.length - 48);
          const largest = last.reduce(
            (most, number, k) => Math.max(most, Math.abs(number - (part.rows[3 * 48 + k] ?? NaN))),
            0,
          );
          expect(largest).toBeLessThan(2e-3);
        }
      }
      reader.delete();
    },
  );
});

describe('the module that reads pictures', () => {
  it('tells what it is and which models it fits', () => {
    const reader = value(load(fixture('qwen3vl-deepstack')));
    expect(reader.info()).toMatchObject({
      name: 'fixture-qwen3vl-deepstack',
      projector: 'qwen3vl_merger',
      width: 96,
      kernels: 'simd128',
    });
    expect(reader.checkFits(96).error).toBeUndefined();
    expect(reader.checkFits(48).error?.code).toBe('wrong_shape');
    const small = value(reader.scratchBytes(64, 64));
    expect(value(reader.scratchBytes(640, 640))).toBeGreaterThan(4 * small);
    reader.delete();
  });

  it('refuses in words, and reads on', () => {
    expect(load(fixture('gemma3').subarray(0, 5000)).error?.code).toBe('truncated');
    expect(load(readFileSync(`${root}tests/fixtures/arch/llama.gguf`)).error?.message).toContain(
      'is a text model, expected a picture reader',
    );
    const reader = value(load(fixture('gemma3')));
    expect(reader.reserve(0, 5).error?.code).toBe('invalid_argument');
    expect(reader.reserve(70_000, 1).error?.message).toContain('sides of 1 to 65536');
    expect(reader.begin(1).error?.code).toBe('invalid_argument');
    expect(reader.parts()).toEqual([]);
    read(reader, 30, 20);
    expect(reader.parts().map((part) => part.nRows)).toEqual([0, 9, 0]);
    expect(reader.parts()[1]?.seesAll).toBe(1);
    reader.delete();
  });

  it('hears of a cancelled call', () => {
    const reader = value(load(fixture('gemma3')));
    const address = value(reader.reserve(8, 8));
    vision.HEAPU8.set(picture(8, 8), address);
    expect(value(reader.begin(7))).toBe(4);
    value(reader.advance());
    const ids = vision.cancelledIds();
    ids[7 % ids.length] = 7;
    ids[8 % ids.length] = 8; // does not take back the other
    expect(reader.advance().error?.code).toBe('cancelled');
    ids[7 % ids.length] = 0;
    expect(reader.parts()).toEqual([]);
    reader.delete();
  });
});
