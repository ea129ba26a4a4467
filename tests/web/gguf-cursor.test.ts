import { describe, expect, it } from 'vitest';
import { Cursor } from '../../web/src/gguf-cursor.ts';

describe('a text of a file', () => {
  it('keeps a U+FEFF in front', () => {
    const text = '\ufeff\ufefftoken';
    const bytes = new TextEncoder().encode(text);
    const file = new Uint8Array(8 + bytes.length);
    new DataView(file.buffer).setUint32(0, bytes.length, true);
    file.set(bytes, 8);
    expect(new Cursor(file).text()).toBe(text);
  });
});
