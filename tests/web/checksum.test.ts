import { describe, expect, it } from 'vitest';
import { xxh32 } from '../../web/src/cache/checksum.ts';

const sum = (text: string) => xxh32(new TextEncoder().encode(text));

describe('XXH32', () => {
  it('gives the known sums of short and of long texts', () => {
    expect(sum('')).toBe(0x02cc5d05);
    expect(sum('a')).toBe(0x550d7456);
    expect(sum('abc')).toBe(0x32d153ff);
    expect(sum('Nobody inspects the spammish repetition')).toBe(0xe2293b2f);
  });

  it('changes with every bit, at every length', () => {
    for (let length = 1; length <= 70; ++length) {
      const bytes = Uint8Array.from({ length }, (_, i) => i * 37);
      const before = xxh32(bytes);
      for (let bit = 0; bit < 8 * length; ++bit) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(xxh32(bytes)).not.toBe(before);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    }
  });
});
