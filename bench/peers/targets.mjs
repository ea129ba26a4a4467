// What this project should reach beside its peers: on one thread, in the shape of SmolLM2-135M.
export const shape = 'smollm2-135m';
export const threads = 1;

/** Ratios by weight type. */
export const comparisons = [
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
    peer: 'wllama 3.8.1',
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
