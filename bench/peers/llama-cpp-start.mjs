// Starts llama.cpp as shipped in node-llama-cpp. It is called without node-llama-cpp's queue, so
// that only llama.cpp is measured.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/tools.mjs';

/** Returns { llama, model }. `file` is a path within the project. */
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

/** Prints the result, and the most memory that the process had. */
export function printResult(result) {
  console.log(JSON.stringify({ ...result, peakBytes: process.resourceUsage().maxRSS * 1024 }));
}
