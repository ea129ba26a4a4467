// The limits of the machine, measured in WebAssembly by bench/limits, in a page and in Node. Each
// thread is a worker with its own instance and memory; all measure at the same time.

const operands = ['nibbles', 'bytes', 'floats'];

/** Returns the sums over all threads, for each kernel set: GB/s of reads, GMAC/s by operands. */
export async function measureLimits(wasm, { bytes, threads, startWorker }) {
  const workers = await Promise.all(Array.from({ length: threads }, startWorker));
  try {
    await Promise.all(workers.map((worker) => worker.ask({ wasm, bytes: bytes / threads })));
    const shares = await Promise.all(workers.map((worker) => worker.ask('measure')));
    return shares[0].map(({ kernels }, set) => {
      const total = (rate) => shares.reduce((sum, share) => sum + rate(share[set]), 0);
      return {
        kernels,
        threads,
        readGbS: total((share) => share.readGbS),
        gmacS: Object.fromEntries(operands.map((kind) => [kind, total((s) => s.gmacS[kind])])),
      };
    });
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

/** Runs in the worker: receives the module first, then measures when a message asks for it. */
export function answerInWorker() {
  let limits;
  return async (message) => {
    if (message === 'measure') return measureHere(limits);
    limits = await instantiate(message.wasm);
    limits.bytes = Math.floor(message.bytes / 1024) * 1024;
    if (!limits.allocate(limits.bytes)) throw new Error(`no memory for ${limits.bytes} bytes`);
    return 'ready';
  };
}

async function instantiate(wasm) {
  const module = await WebAssembly.compile(wasm);
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => undefined;
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports._initialize?.();
  return { ...exports };
}

function measureHere(limits) {
  const steps = 20_000;
  const sets = [];
  for (let set = 0; limits.name(set) !== 0; ++set) {
    const gmacS = operands.map((kind, i) => {
      const rate = bestRate(() => limits.multiply(set, i, steps));
      return [kind, (rate * steps * limits.multiplyAddsPerStep(set, i)) / 1e9];
    });
    sets.push({
      kernels: textAt(limits.memory, limits.name(set)),
      readGbS: (bestRate(() => limits.read(set)) * limits.bytes) / 1e9,
      gmacS: Object.fromEntries(gmacS),
    });
  }
  return sets;
}

/** Returns the calls per second, the best of several tries: other programs only slow it down. */
function bestRate(call) {
  let best = 0;
  for (let i = 0; i < 5; ++i) {
    const startedAt = performance.now();
    let calls = 0;
    let elapsed = 0;
    while (elapsed < 50) {
      call();
      ++calls;
      elapsed = performance.now() - startedAt;
    }
    best = Math.max(best, (calls * 1000) / elapsed);
  }
  return best;
}

function textAt(memory, address) {
  const bytes = new Uint8Array(memory.buffer, address);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}
