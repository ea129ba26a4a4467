// Writes GGUF files that hold only a vocabulary.
import { writeFileSync } from 'node:fs';

export interface VocabularyFile {
  /** "gpt2" or "llama". */
  model: string;
  pre?: string;
  tokens: string[];
  /** 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte. Default: all are normal. */
  types?: number[];
  scores?: number[];
  merges?: string[];
  /** Further metadata: numbers are stored as uint32. */
  extra?: Record<string, string | number | boolean>;
}

// The value types of the GGUF specification.
const uint32 = 4;
const int32 = 5;
const float32 = 6;
const boolean = 7;
const string = 8;
const array = 9;

export function writeVocabulary(path: string, vocabulary: VocabularyFile): void {
  const { model, pre, tokens, types, scores, merges, extra } = vocabulary;
  const entries = [
    entry('tokenizer.ggml.model', string, text(model)),
    ...(pre === undefined ? [] : [entry('tokenizer.ggml.pre', string, text(pre))]),
    entry('tokenizer.ggml.tokens', array, list(string, tokens.map(text))),
    entry(
      'tokenizer.ggml.token_type',
      array,
      list(
        int32,
        tokens.map((_, i) => u32(types?.[i] ?? 1)),
      ),
    ),
    ...(scores ? [entry('tokenizer.ggml.scores', array, list(float32, scores.map(f32)))] : []),
    ...(merges ? [entry('tokenizer.ggml.merges', array, list(string, merges.map(text)))] : []),
    ...Object.entries(extra ?? {}).map(([key, value]) =>
      typeof value === 'string'
        ? entry(key, string, text(value))
        : typeof value === 'number'
          ? entry(key, uint32, u32(value))
          : entry(key, boolean, Buffer.from([Number(value)])),
    ),
  ];
  const head = [Buffer.from('GGUF'), u32(3), u64(0), u64(entries.length)];
  writeFileSync(path, Buffer.concat([...head, ...entries]));
}

function entry(key: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([text(key), u32(type), value]);
}

function list(type: number, elements: Buffer[]): Buffer {
  return Buffer.concat([u32(type), u64(elements.length), ...elements]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
