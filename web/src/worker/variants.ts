// Chooses the build of the engine that runs here, and finds its files.
import { isNode } from '../runtime.ts';

export type Simd = 'simd128' | 'relaxed-simd';
export type Variant = Simd | `${Simd}-threads`;

export interface VariantFiles {
  glue: URL;
  wasm: URL;
}

/** `folder`: where the files are; undefined for those that belong to this script. */
export function variantFiles(variant: Variant, folder: string | undefined): VariantFiles {
  if (folder === undefined) return filesBeside(variant);
  const file = (type: string) => new URL(`kinglet-${variant}.${type}`, folder);
  return { glue: file('js'), wasm: file('wasm') };
}

// Written out because bundlers find assets by exactly this expression. Only used files are fetched.
function filesBeside(variant: Variant): VariantFiles {
  switch (variant) {
    case 'simd128':
      return {
        glue: new URL('../engine/kinglet-simd128.js', import.meta.url),
        wasm: new URL('../engine/kinglet-simd128.wasm', import.meta.url),
      };
    case 'simd128-threads':
      return {
        glue: new URL('../engine/kinglet-simd128-threads.js', import.meta.url),
        wasm: new URL('../engine/kinglet-simd128-threads.wasm', import.meta.url),
      };
    case 'relaxed-simd':
      return {
        glue: new URL('../engine/kinglet-relaxed-simd.js', import.meta.url),
        wasm: new URL('../engine/kinglet-relaxed-simd.wasm', import.meta.url),
      };
    case 'relaxed-simd-threads':
      return {
        glue: new URL('../engine/kinglet-relaxed-simd-threads.js', import.meta.url),
        wasm: new URL('../engine/kinglet-relaxed-simd-threads.wasm', import.meta.url),
      };
  }
}

// A module of one function: (func (result v128) <body>).
function validates(body: number[]): boolean {
  const code = [0, ...body, 0x0b];
  return WebAssembly.validate(
    // prettier-ignore
    new Uint8Array([
      0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
      1, 5, 1, 0x60, 0, 1, 0x7b,
      3, 2, 1, 0,
      10, code.length + 2, 1, code.length, ...code,
    ]),
  );
}

const i32Const0 = [0x41, 0];
const i8x16Splat = [0xfd, 15];
const v128Zero = [...i32Const0, ...i8x16Splat];
const relaxedSwizzle = [0xfd, 0x80, 0x02];

/**
 * Node 20 has relaxed SIMD behind a flag, but its baseline compiler computes the dot products wrong.
 */
function relaxedSimdIsBroken(): boolean {
  return isNode && Number.parseInt(process.versions.node) < 22;
}

/** Returns the best SIMD that runs here; undefined if there is none, or no WebAssembly. */
export function detectSimd(): Simd | undefined {
  if (typeof WebAssembly === 'undefined') return undefined;
  if (!relaxedSimdIsBroken() && validates([...v128Zero, ...v128Zero, ...relaxedSwizzle])) {
    return 'relaxed-simd';
  }
  return validates(v128Zero) ? 'simd128' : undefined;
}
