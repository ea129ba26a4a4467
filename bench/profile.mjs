// npm run bench -- --profile: shows in which functions the engine spends its time in Chromium.
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { wasmBuild } from '../scripts/build-wasm.mjs';
import { launchChromium } from '../scripts/chromium.mjs';
import { serve } from '../scripts/serve.mjs';
import { root, runNode } from '../scripts/tools.mjs';
import { promptOf } from './measure.js';
import { folder } from './models.mjs';
import { markdownTable } from './table.mjs';

const nFunctions = 20;
const phases = {
  prefill: { nPrompt: 512, nDecoded: 1 },
  decode: { nPrompt: 128, nDecoded: 256 },
};

/** Prints for each phase and thread the functions that took the most time, without callees. */
export async function profile({ file }, { kernels, threads }) {
  copyPackageWithNames(threads);
  const { server, url } = await serve(root, { isolated: true });
  const browser = await launchChromium();
  const page = await browser.newPage();
  await page.goto(`${url}bench/page.html`);
  await page.evaluate(loadModel, [`/${folder}/named/index.js`, `/${file}`, { kernels, threads }]);
  for (const [phase, { nPrompt, nDecoded }] of Object.entries(phases)) {
    const prompt = promptOf(nPrompt).tokens;
    await page.evaluate(generate, [prompt, nDecoded]);
    await browser.startTracing(page, { categories: ['disabled-by-default-v8.cpu_profiler'] });
    await page.evaluate(generate, [prompt, nDecoded]);
    const trace = JSON.parse((await browser.stopTracing()).toString());
    for (const functions of selfTimes(trace.traceEvents)) print(phase, functions);
  }
  await browser.close();
  server.closeAllConnections();
  server.close();
}

/** Copies the package as it ships, but with the names of functions in its wasm. */
function copyPackageWithNames(threads) {
  const target = join(root, folder, 'named');
  rmSync(target, { recursive: true, force: true });
  cpSync(join(root, 'dist'), target, { recursive: true });
  for (const simd of ['simd128', 'relaxed-simd']) {
    const variant = threads > 1 ? `${simd}-threads` : simd;
    const linked = `${wasmBuild}/linked/kinglet-${variant}.js`;
    if (existsSync(join(root, linked))) {
      runNode('scripts/finish-wasm.mjs', [linked, join(target, 'engine'), '--names']);
    }
  }
}

// The next two functions run in the page.

async function loadModel([module, file, { kernels, threads }]) {
  const { Kinglet } = await import(module);
  const model = await Kinglet.load(file, { nThreads: threads, kernels, nCtx: 64 });
  globalThis.session = await model.newSession({ nCtx: 1024 });
}

async function generate([prompt, nDecoded]) {
  const { session } = globalThis;
  await session.truncate(0);
  // Without guesses: each token is then one step.
  const options = { maxTokens: nDecoded, temperature: 0, lookup: 0 };
  await session.generate(prompt, options).result;
}

/** For each busy thread, [name, milliseconds] from V8's samples, longest time first. */
function selfTimes(events) {
  const threads = new Map();
  for (const { name, pid, id, args } of events) {
    if (name !== 'ProfileChunk') continue;
    const key = `${pid} ${id}`;
    if (!threads.has(key)) threads.set(key, { names: new Map(), times: new Map() });
    const { names, times } = threads.get(key);
    const { cpuProfile = {}, timeDeltas = [] } = args.data;
    for (const node of cpuProfile.nodes ?? []) names.set(node.id, node.callFrame.functionName);
    for (const [i, node] of (cpuProfile.samples ?? []).entries()) {
      const functionName = names.get(node);
      if (/^\((idle|program|root)\)$/.test(functionName)) continue;
      times.set(functionName, (times.get(functionName) ?? 0) + timeDeltas[i] / 1000);
    }
  }
  return [...threads.values()]
    .map(({ times }) => [...times].sort(([, a], [, b]) => b - a))
    .filter((functions) => totalOf(functions) > 50);
}

function totalOf(functions) {
  return functions.reduce((sum, [, time]) => sum + time, 0);
}

function print(phase, functions) {
  const total = totalOf(functions);
  console.log(`\n${phase}, a thread that was busy for ${total.toFixed(0)} ms\n`);
  console.log(
    markdownTable(
      functions.slice(0, nFunctions).map(([name, time]) => ({
        ms: time.toFixed(1),
        '%': ((100 * time) / total).toFixed(1),
        function: shortened(name),
      })),
    ),
  );
}

/** A function's name without common namespaces and without parameters. */
function shortened(name) {
  return name
    .replace(/kinglet::|\(anonymous namespace\)::|std::__2::/g, '')
    .replace(/^void |\(.*$/g, '');
}
