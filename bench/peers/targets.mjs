// The ratios to its peers that this project should reach on one thread, by shape and weight type.
/** Tokens of the prompt for which speeds have targets. */
export const usualPrompt = 128;

export const threads = 1;

/** How many times sooner the first token comes, from a stored file of 350 MB. */
export const firstTokenTargets = { 'wllama 2.3.1': 8, 'wllama 3.13.0': 25 };

/** The speed of opening a stored file, relative to only reading it into memory. */
export const openingTarget = 0.6;

/**
 * Matrices of the 0.5 B shape's feed-forward network, for generating a token and reading a prompt;
 * then those of a layer of the embedding models of 22 and 33 M, for a query and a passage.
 */
export const productShapes = [
  ...[4, 8].flatMap((bits) =>
    [1, 128].flatMap((nTokens) => [
      { bits, nTokens, nRows: 4864, nColumns: 896 },
      { bits, nTokens, nRows: 896, nColumns: 4864 },
    ]),
  ),
  ...[4, 8].flatMap((bits) =>
    [16, 256].flatMap((nTokens) => [
      { bits, nTokens, nRows: 384, nColumns: 384, target: 2 },
      { bits, nTokens, nRows: 1536, nColumns: 384, target: 2 },
      { bits, nTokens, nRows: 384, nColumns: 1536, target: 2 },
    ]),
  ),
];

/**
 * Embedding models and their texts: see embed-texts.js. The large model gets only a few passages,
 * because wllama needs half a minute for each.
 */
export const embedShapes = {
  'minilm-l6': { words: true, nPassages: 16 },
  'bge-small': { words: true, nPassages: 16 },
  'embeddinggemma-300m': { words: false, nPassages: 2 },
};

export const embedTypes = ['F16', 'Q8_0', 'Q4_K_M'];

export const embedTargets = [
  { ours: 'chromium relaxed-simd', peer: 'wllama 3.13.0', target: 8 },
  { ours: 'native', peer: 'llama.cpp', target: 1.5 },
];

/** Models that read pictures; below, how many times sooner a picture must be read. */
export const pictureShapes = ['smolvlm-256m', 'lfm2-vl-450m'];

export const pictureTargets = { 'wllama 3.13.0': 8 };

const small = [
  {
    ours: 'chromium relaxed-simd',
    peer: 'wllama 2.3.1',
    targets: {
      Q4_0: { decode: 3, prefill: 3.3 },
      Q8_0: { decode: 2, prefill: 2.5 },
      Q4_K_M: { decode: 2.5, prefill: 3 },
    },
  },
  {
    ours: 'chromium relaxed-simd',
    peer: 'wllama 3.13.0',
    targets: { Q4_0: { decode: 12, prefill: 14 } },
  },
  {
    ours: 'chromium simd128',
    peer: 'wllama 2.3.1',
    targets: { Q4_0: { decode: 1.4, prefill: 1.4 } },
  },
  { ours: 'chromium relaxed-simd', peer: 'llama.cpp', targets: { Q4_0: { decode: 0.6 } } },
  {
    ours: 'native',
    peer: 'llama.cpp',
    targets: {
      Q4_0: { decode: 1, prefill: 1 },
      Q8_0: { decode: 1, prefill: 1 },
      Q4_K_M: { decode: 1, prefill: 1 },
    },
  },
];

// wllama 2.3.1 does not know these architectures.
const hybrid = [
  {
    ours: 'chromium relaxed-simd',
    peer: 'wllama 3.13.0',
    targets: { Q4_0: { decode: 8 }, Q8_0: { decode: 8 } },
  },
  {
    ours: 'chromium relaxed-simd',
    peer: 'llama.cpp',
    targets: { Q4_0: { decode: 0.6 }, Q8_0: { decode: 0.6 } },
  },
  {
    ours: 'native',
    peer: 'llama.cpp',
    targets: { Q4_0: { decode: 1, prefill: 1 }, Q8_0: { decode: 1, prefill: 1 } },
  },
];

// wllama 2.3.1 does not know these types.
const oneBit = [
  {
    ours: 'chromium relaxed-simd',
    peer: 'wllama 3.13.0',
    targets: { Q1_0: { decode: 30 } },
  },
  { ours: 'chromium simd128', peer: 'wllama 3.13.0', targets: { Q1_0: { decode: 30 } } },
  {
    ours: 'native',
    peer: 'llama.cpp',
    targets: { Q1_0: { decode: 2 }, Q2_0: { decode: 2 }, TQ2_0: { decode: 2 } },
  },
];

const byShape = {
  'smollm2-135m': small,
  'lfm2-350m': hybrid,
  'qwen3.5-0.8b': hybrid,
  'granite-4.0-h-350m': hybrid,
  'falcon-h1-90m': hybrid,
  'bonsai-1.7b': oneBit,
};

/** The comparisons of a shape. One without targets is compared like the first, without verdicts. */
export function comparisonsOf(shape) {
  return byShape[shape] ?? small.map((row) => ({ ...row, targets: withoutNumbers(row.targets) }));
}

function withoutNumbers(targets) {
  return Object.fromEntries(Object.keys(targets).map((type) => [type, {}]));
}

/** The weight types with which a shape is compared. */
export function typesOf(shape) {
  return [...new Set(comparisonsOf(shape).flatMap(({ targets }) => Object.keys(targets)))];
}
