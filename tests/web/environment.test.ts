import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../web/src/errors.ts';
import { chooseThreads } from '../../web/src/worker/open-engine.ts';
import { detectSimd } from '../../web/src/worker/variants.ts';

describe('the choice of threads', () => {
  it.each([
    { asked: undefined, hardware: 2, canShare: true, nThreads: 1, reason: 'one_core' },
    { asked: undefined, hardware: 8, canShare: true, nThreads: 4 },
    { asked: undefined, hardware: 64, canShare: true, nThreads: 8 },
    { asked: undefined, hardware: 8, canShare: false, nThreads: 1, reason: 'not_isolated' },
    { asked: 12, hardware: 8, canShare: true, nThreads: 12 },
    { asked: 12, hardware: 8, canShare: false, nThreads: 1, reason: 'not_isolated' },
    { asked: 1, hardware: 8, canShare: true, nThreads: 1, reason: 'requested' },
  ])('$asked of $hardware, shared memory: $canShare', (row) => {
    const chosen = chooseThreads(row.asked, row.hardware, row.canShare);
    expect(chosen.nThreads).toBe(row.nThreads);
    if (row.reason) expect(chosen.reason).toBe(row.reason);
  });
});

describe('the choice of SIMD', () => {
  it('takes what WebAssembly.validate knows', () => {
    const hasRelaxed =
      Number(process.versions.node.split('.')[0]) >= 22 ||
      process.execArgv.includes('--experimental-wasm-relaxed-simd');
    expect(detectSimd()).toBe(hasRelaxed ? 'relaxed-simd' : 'simd128');
  });
});

describe('the error codes', () => {
  it('include every code of the engine', () => {
    const header = readFileSync(new URL('../../src/base/result.h', import.meta.url), 'utf8');
    const body = /enum class ErrorCode[^{]*\{([^}]*)\}/.exec(header)?.[1] ?? '';
    const names = [...body.matchAll(/^\s*(\w+),/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(Object.keys(errorCodes)).toEqual(expect.arrayContaining(names));
  });
});
