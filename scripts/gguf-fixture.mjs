// Shared by scripts that write fixtures: reproducible random numbers, and writing GGUF files.
import { readFileSync, writeFileSync } from 'node:fs';

const alignment = 32;

/** Values of GGUF metadata, tagged with their type (gguf_metadata_value_type). */
export const u32 = (value) => ({ type: 4, value });
export const i32 = (value) => ({ type: 5, value });
export const f32 = (value) => ({ type: 6, value });
export const bool = (value) => ({ type: 7, value });
export const text = (value) => ({ type: 8, value });
export const list = (make, values) => ({ type: 9, element: make(0).type, values });

/** A generator of numbers in [0, 1) that depend only on the seed (mulberry32). */
export function randomNumbers(seed) {
  let state = [...seed].reduce(
    (hash, c) => Math.imul(hash ^ c.charCodeAt(0), 16777619),
    2166136261,
  );
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Approximately normal numbers, without functions whose results differ between machines. */
export function normalNumbers(n, scale, random) {
  return Float32Array.from({ length: n }, () => {
    let sum = -6;
    for (let i = 0; i < 12; ++i) sum += random();
    return sum * scale;
  });
}

/** The values as half floats, truncated; numbers that are too small become 0. */
function halves(values) {
  const bits = new Uint32Array(values.buffer);
  return Uint16Array.from(bits, (word) => {
    const exponent = ((word >>> 23) & 255) - 112;
    const sign = (word >>> 16) & 0x8000;
    return exponent <= 0 ? sign : sign | (exponent << 10) | ((word >>> 13) & 1023);
  });
}

/** The values that halves() can represent. */
function keptByHalves(values) {
  const words = new Uint32Array(values.buffer).map((word) =>
    ((word >>> 23) & 255) <= 112 ? word & 0x80000000 : word & 0xffffe000,
  );
  return new Float32Array(words.buffer);
}

/** Encodes blocks of 32 numbers with a half float as scale; `code` writes the integers after it. */
function blocks(values, { bytes, largest, code }) {
  const size = 32;
  const out = Buffer.alloc((values.length / size) * bytes);
  const kept = new Float32Array(values.length);
  for (let first = 0, at = 0; first < values.length; first += size, at += bytes) {
    const block = values.subarray(first, first + size);
    const peak = block.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const scale = Float32Array.of(peak / largest);
    out.writeUInt16LE(halves(scale)[0], at);
    const [d] = keptByHalves(scale);
    const codes = Array.from(block, (x) =>
      Math.max(-largest, Math.min(largest, Math.round(x / (d || 1)))),
    );
    code(out.subarray(at + 2, at + bytes), codes);
    codes.forEach((q, i) => (kept[first + i] = d * q));
  }
  return { bytes: out, kept };
}

/** The types that can be written: the id, and a function that returns bytes and decoded numbers. */
const types = {
  F32: { id: 0, encode: (values) => ({ bytes: Buffer.from(values.buffer), kept: values }) },
  F16: {
    id: 1,
    encode: (values) => ({
      bytes: Buffer.from(halves(values).buffer),
      kept: keptByHalves(values),
    }),
  },
  Q4_0: {
    id: 2,
    encode: (values) =>
      blocks(values, {
        bytes: 18,
        largest: 7,
        code: (out, codes) => {
          for (let i = 0; i < 16; ++i) out[i] = (codes[i] + 8) | ((codes[i + 16] + 8) << 4);
        },
      }),
  },
  Q8_0: {
    id: 8,
    encode: (values) =>
      blocks(values, {
        bytes: 34,
        largest: 127,
        code: (out, codes) => codes.forEach((q, i) => out.writeInt8(q, i)),
      }),
  },
};

class GgufBytes {
  #chunks = [];
  #size = 0;

  bytes(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }
  number(write, bytes, value) {
    const chunk = Buffer.alloc(bytes);
    chunk[write](value);
    this.bytes(chunk);
  }
  u32(value) {
    this.number('writeUInt32LE', 4, value);
  }
  u64(value) {
    this.number('writeBigUInt64LE', 8, BigInt(value));
  }
  string(value) {
    const chunk = Buffer.from(value);
    this.u64(chunk.length);
    this.bytes(chunk);
  }
  value(type, value) {
    if (type === 4) this.u32(value);
    else if (type === 5) this.number('writeInt32LE', 4, value);
    else if (type === 6) this.number('writeFloatLE', 4, value);
    else if (type === 7) this.number('writeUInt8', 1, value ? 1 : 0);
    else this.string(value);
  }
  pad() {
    this.bytes(Buffer.alloc((alignment - (this.#size % alignment)) % alignment));
  }
  get size() {
    return this.#size;
  }
  concat() {
    return Buffer.concat(this.#chunks);
  }
}

/**
 * Writes a file with metadata and tensors { name, shape, values, type }. `wide` writes every tensor
 * as floats, with the values that its type would keep.
 */
export function writeGguf(path, keys, tensors, { wide = false } = {}) {
  const file = new GgufBytes();
  const data = new GgufBytes();
  const metadata = Object.entries(keys);
  file.bytes(Buffer.from('GGUF'));
  file.u32(3);
  file.u64(tensors.length);
  file.u64(metadata.length);
  for (const [key, entry] of metadata) {
    file.string(key);
    file.u32(entry.type);
    if (entry.values) {
      file.u32(entry.element);
      file.u64(entry.values.length);
      for (const value of entry.values) file.value(entry.element, value);
    } else {
      file.value(entry.type, entry.value);
    }
  }
  for (const { name, shape, values, type } of tensors) {
    file.string(name);
    file.u32(shape.length);
    for (const n of shape) file.u64(n);
    file.u32(wide ? 0 : types[type].id);
    file.u64(data.size);
    const { bytes, kept } = types[type].encode(values);
    data.bytes(wide ? Buffer.from(kept.buffer) : bytes);
    data.pad();
  }
  file.pad();
  file.bytes(data.concat());
  writeFileSync(path, file.concat());
}

/** The vocabulary of a file: its tokenizer.ggml.tokens. */
export function readTokens(path) {
  const bytes = readFileSync(path);
  let at = 8; // after the magic and the version
  const word = () => bytes.readUInt32LE((at += 4) - 4);
  const size = () => Number(bytes.readBigUInt64LE((at += 8) - 8));
  const string = () => {
    const n = size();
    return bytes.toString('utf8', at, (at += n));
  };
  const widths = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];
  const value = (type) => {
    if (type === 8) return string();
    if (type !== 9) return (at += widths[type]);
    const element = word();
    return Array.from({ length: size() }, () => value(element));
  };
  size(); // tensors
  for (let left = size(); left > 0; --left) {
    const key = string();
    const found = value(word());
    if (key === 'tokenizer.ggml.tokens') return found;
  }
  throw new Error(`${path} has no vocabulary`);
}
