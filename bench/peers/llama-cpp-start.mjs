// Starts llama.cpp as node-llama-cpp ships it, to be called below its queue, so that nothing but
// llama.cpp is measured.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/tools.mjs';

/** { llama, model }; `file` is a path within the project. */
export async function startLlama(file, threads) {
  const module = join(root, 'build/bench/peers/node_modules/node-llama-cpp/dist/index.js');
  const { getLlama, LlamaLogLevel } = await import(pathToFileURL(module).href);
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.error,
    maxThreads: threads,
  });
  return { llama, model: await llama.loadModel({ modelPath: join(root, file) }) };
}

/** Prints what was measured, and the most memory that the process had. */
export function printResult(result) {
  console.log(JSON.stringify({ ...result, peakBytes: process.resourceUsage().maxRSS * 1024 }));
}
