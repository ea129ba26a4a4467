// What the header of a GGUF file says about the memory that its model takes. The engine reads the
// header too, and checks it; this is for what must be known before there is an engine.
//
// Source of the layout: the GGUF specification (ggml's docs/gguf.md), versions 2 and 3.
import { Cursor, magic, TooShort } from '../gguf-cursor.ts';

/** Numbers of elements. */
export interface ModelShape {
  contextLength: number;
  nLayers: number;
  hiddenDim: number;
  ffnDim: number;
  nHeads: number;
  nKvHeads: number;
  keyDim: number;
  valueDim: number;
  vocabSize: number;
}

/**
 * The shape, from the first bytes of a file; "more" where they end too early, and undefined where
 * they are no header that says it.
 */
export function readShape(bytes: Uint8Array): ModelShape | 'more' | undefined {
  try {
    const numbers = readNumbers(new Cursor(bytes));
    return numbers && shapeOf(numbers);
  } catch (error) {
    if (error instanceof TooShort) return 'more';
    throw error;
  }
}

/** Metadata that are a number, and the lengths and largest numbers of arrays. */
type Numbers = Map<string, number>;

const valueType = { string: 8, array: 9 };
/** Of u8, i8, u16, i16, u32, i32, f32, bool, string, array, u64, i64, f64. */
const valueBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

function readNumbers(cursor: Cursor): Numbers | undefined {
  if (cursor.uint(4) !== magic || ![2, 3].includes(cursor.uint(4))) return undefined;
  const numbers: Numbers = new Map();
  cursor.skip(8); // number of tensors
  for (let n = cursor.uint(8); n > 0; --n) {
    const key = cursor.text();
    const type = cursor.uint(4);
    if (type === valueType.array) {
      if (!readArray(cursor, key, numbers)) return undefined;
    } else if (type === valueType.string) {
      if (key === 'general.architecture') numbers.set(`architecture ${cursor.text()}`, 1);
      else cursor.skipText();
    } else {
      const size = valueBytes[type];
      if (size === undefined) return undefined;
      numbers.set(key, cursor.uint(size));
    }
  }
  return numbers;
}

/** False for an array of arrays, which no key that matters has. */
function readArray(cursor: Cursor, key: string, numbers: Numbers): boolean {
  const type = cursor.uint(4);
  const length = cursor.uint(8);
  numbers.set(`${key} length`, length);
  if (type === valueType.string) {
    for (let i = 0; i < length; ++i) cursor.skipText();
    return true;
  }
  const size = valueBytes[type];
  if (!size) return false;
  if (key.endsWith('.head_count_kv') || key.endsWith('.feed_forward_length')) {
    // One a layer: the largest stands for all.
    let largest = 0;
    for (let i = 0; i < length; ++i) largest = Math.max(largest, cursor.uint(size));
    numbers.set(key, largest);
  } else {
    cursor.skip(size * length);
  }
  return true;
}

function shapeOf(numbers: Numbers): ModelShape | undefined {
  const mark = 'architecture ';
  const architecture = [...numbers.keys()].find((key) => key.startsWith(mark))?.slice(mark.length);
  const get = (key: string) => numbers.get(`${architecture ?? ''}.${key}`);
  const contextLength = get('context_length');
  const nLayers = get('block_count');
  const hiddenDim = get('embedding_length');
  const nHeads = get('attention.head_count');
  if (!contextLength || !nLayers || !hiddenDim || !nHeads) return undefined;
  const headDim = Math.ceil(hiddenDim / nHeads);
  return {
    ...{ contextLength, nLayers, hiddenDim, nHeads },
    ffnDim: get('feed_forward_length') ?? 4 * hiddenDim,
    nKvHeads: get('attention.head_count_kv') ?? nHeads,
    keyDim: get('attention.key_length') ?? headDim,
    valueDim: get('attention.value_length') ?? headDim,
    vocabSize: numbers.get('tokenizer.ggml.tokens length') ?? 0,
  };
}
