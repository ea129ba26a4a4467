// Matrix products with quantized weights: with the operators of onnxruntime-web, which
// transformers.js uses on a CPU, and with this project's kernels. Runs in a page, on one thread.
import { onnxModel } from './onnx-model.js';

const modules = '/build/bench/peers/node_modules';
/** Several matrices in turn, as in a layer: a single one would stay in the cache. */
const nMatrices = 8;

/** Returns the GMAC/s for 4 bits (MatMulNBits) or 8 bits (MatMulInteger). */
globalThis.productsOfOnnxruntime = async ({ bits, nRows, nColumns, nTokens }) => {
  const ort = await import(`${modules}/onnxruntime-web/dist/ort.wasm.min.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = `${modules}/onnxruntime-web/dist/`;
  const bytes = onnxModel({ bits, nMatrices, nRows, nColumns });
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  const n = nTokens * nColumns;
  const dims = [nTokens, nColumns];
  const x =
    bits === 4
      ? new ort.Tensor('float32', new Float32Array(n).fill(0.5), dims)
      : new ort.Tensor('uint8', new Uint8Array(n).fill(3), dims);
  try {
    return { gmacS: await rate({ nRows, nColumns, nTokens }, () => session.run({ x })) };
  } finally {
    await session.release();
  }
};

globalThis.productsOfKinglet = async ({ bits, nRows, nColumns, nTokens, kernels }) => {
  const wasm = await fetch(`/build/emscripten/bench/kinglet-products-${kernels}.wasm`);
  const module = await WebAssembly.compile(await wasm.arrayBuffer());
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => 0;
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports._initialize?.();
  if (!exports.prepare(bits, nMatrices, nRows, nColumns, nTokens)) {
    throw new Error('there is no memory for the matrices');
  }
  return { gmacS: await rate({ nRows, nColumns, nTokens }, () => exports.multiply()) };
};

/** Returns the best of several tries: other programs only slow it down. */
async function rate({ nRows, nColumns, nTokens }, multiply) {
  const gmac = (nMatrices * nRows * nColumns * nTokens) / 1e9;
  let best = 0;
  await multiply();
  for (let i = 0; i < 5; ++i) {
    const startedAt = performance.now();
    let calls = 0;
    let elapsed = 0;
    for (; elapsed < 50; ++calls, elapsed = performance.now() - startedAt) await multiply();
    best = Math.max(best, (calls * gmac * 1000) / elapsed);
  }
  return best;
}
