// Starts either version of wllama in a page.

const modules = '/build/bench/peers/node_modules';
/** Tokens of context; with a longer prompt, half as many more than that. */
export const nCtx = 1024;
const contextFor = (nPrompt = 0) => Math.max(nCtx, nPrompt + nCtx / 2);

export async function openWllama2(blob, { threads, nPrompt }) {
  const folder = `${modules}/wllama-2/esm`;
  const { Wllama } = await import(`${folder}/index.js`);
  const wllama = new Wllama(
    {
      'single-thread/wllama.wasm': `${folder}/single-thread/wllama.wasm`,
      'multi-thread/wllama.wasm': `${folder}/multi-thread/wllama.wasm`,
    },
    { suppressNativeLog: true },
  );
  await wllama.loadModel([blob], {
    ...{ n_threads: threads, n_ctx: contextFor(nPrompt), n_batch: 512 },
  });
  checkThreads(wllama, threads);
  return wllama;
}

/** Loads a file, or a file and its picture reader. `options` are added to the common ones. */
export async function openWllama3(files, { threads, nPrompt }, options = {}) {
  const folder = `${modules}/wllama-3/esm`;
  const { Wllama } = await import(`${folder}/index.js`);
  const wllama = new Wllama({ default: `${folder}/wasm/wllama.wasm` }, { suppressNativeLog: true });
  await wllama.loadModel([files].flat(), {
    ...{ n_threads: threads, n_ctx: contextFor(nPrompt), n_batch: 512, n_ubatch: 512 },
    ...{ n_parallel: 1, n_gpu_layers: 0 },
    ...options,
  });
  checkThreads(wllama, threads);
  return wllama;
}

function checkThreads(wllama, threads) {
  if (wllama.getNumThreads() !== threads) {
    throw new Error(`${threads} threads were asked for, ${wllama.getNumThreads()} run`);
  }
}
