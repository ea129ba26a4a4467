// The places where benchmarks run. Each place can measure:
//   limits(bytes, threads)  the limits of each kernel set, when reading `bytes` in a pass
//   speed(file, options)    the speed of a model; options: { kernels, threads, repeats }
//   kv(file, options)       that of its KV caches; options: { kinds, contexts, threads, repeats }
//   lookup(file, options)   that of guessing ahead (not in Node); options: { threads, repeats }
//   schema(file, options)   what a schema costs (only in Chromium); options: { threads, repeats }
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { launchChromium } from '../scripts/chromium.mjs';
import { serve } from '../scripts/serve.mjs';
import { root } from '../scripts/tools.mjs';
import { measureLimits } from './limits.js';
import { measureKinglet } from './measure.js';
import { runProgram } from './models.mjs';

// Each module has one kernel set, like the engine's builds.
const limitModules = ['relaxed-simd', 'simd128'].map(
  (simd) => `build/emscripten/bench/kinglet-limits-${simd}.wasm`,
);

export const places = {
  native: () => ({
    version: '',
    limits: (bytes, threads) => runProgram('limits', [String(bytes), String(threads)]),
    speed: (file, { kernels, threads, repeats }) =>
      runProgram('speed', [file, kernels, String(threads), String(repeats)])[0],
    kv: (file, { kinds, contexts, threads, repeats }) => ({
      results: runProgram('kv_speed', [file, kinds, contexts, threads, repeats].map(String)),
    }),
    lookup: (file, { threads, repeats }) =>
      runProgram('lookup_speed', [file, '', String(threads), String(repeats)]),
    close: () => undefined,
  }),

  async chromium() {
    const { server, url } = await serve(root, { isolated: true });
    const browser = await launchChromium();
    const inPage = async (name, ...args) => {
      const page = await browser.newPage();
      try {
        await page.goto(`${url}bench/page.html`);
        await page.waitForFunction((f) => f in globalThis, name);
        return await page.evaluate(([f, values]) => globalThis[f](...values), [name, args]);
      } finally {
        await page.close();
      }
    };
    return {
      version: browser.version(),
      limits: (bytes, threads) =>
        limitsOfAll(limitModules, (module) =>
          inPage('measureLimits', `/${module}`, { bytes, threads }),
        ),
      speed: (file, options) => inPage('measureKinglet', `/${file}`, options),
      kv: (file, options) => inPage('measureKv', `/${file}`, options),
      lookup: (file, options) => inPage('measureLookup', `/${file}`, options),
      schema: (file, options) => inPage('measureSchema', `/${file}`, options),
      async close() {
        await browser.close();
        server.closeAllConnections();
        server.close();
      },
    };
  },

  async node() {
    const { Kinglet } = await import(new URL('../dist/index.js', import.meta.url).href);
    return {
      version: process.versions.node,
      limits(bytes, threads) {
        const modules = limitModules.map((path) => readFileSync(join(root, path)));
        return limitsOfAll(
          modules.filter((module) => WebAssembly.validate(module)),
          (module) => measureLimits(module, { bytes, threads, startWorker }),
        );
      },
      speed: (file, options) => measureKinglet(Kinglet, join(root, file), options),
      close: () => undefined,
    };
  },
};

/** Measures one module after the other. */
async function limitsOfAll(modules, measure) {
  const limits = [];
  for (const module of modules) limits.push(...(await measure(module)));
  return limits;
}

async function startWorker() {
  const worker = new Worker(new URL('./limits-worker.js', import.meta.url));
  const nextMessage = () =>
    new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', ({ value, error }) => {
        worker.off('error', reject);
        if (error) reject(new Error(error));
        else resolve(value);
      });
    });
  await nextMessage();
  return {
    ask(message) {
      const answer = nextMessage();
      worker.postMessage(message);
      return answer;
    },
    terminate: () => worker.terminate(),
  };
}
