// The functions of the benchmarks' page, called by chromium.mjs.
import { measureLimits } from './limits.js';
import { measureKinglet } from './measure.js';
import { measureKv } from './measure-kv.js';
import { measureLookup } from './measure-lookup.js';
import { measureSchema } from './measure-schema.js';

for (const measure of [measureKinglet, measureKv, measureLookup, measureSchema]) {
  globalThis[measure.name] = async (model, options) => {
    const { Kinglet } = await import('/dist/index.js');
    return measure(Kinglet, model, options);
  };
}

globalThis.measureLimits = async (url, options) => {
  const wasm = await (await fetch(url)).arrayBuffer();
  return measureLimits(wasm, { ...options, startWorker });
};

async function startWorker() {
  const worker = new Worker(new URL('./limits-worker.js', import.meta.url), { type: 'module' });
  const nextMessage = () =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.error) reject(new Error(data.error));
        else resolve(data.value);
      };
      worker.onerror = ({ message }) => reject(new Error(message));
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
