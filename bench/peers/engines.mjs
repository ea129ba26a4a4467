// The engines that are compared, this project's own among them.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchChromium } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { root, run } from '../../scripts/tools.mjs';
import { folder, runProgram } from '../models.mjs';

const nPrompt = 128;
const nDecoded = 64;

// In this order, so that the two of a comparison run within seconds of each other.
const engines = {
  'chromium simd128': inPage('runKinglet', 'simd128'),
  'wllama 2.3.1': inPage('runWllama2'),
  'chromium relaxed-simd': inPage('runKinglet', 'relaxed-simd'),
  'llama.cpp': (_, file, threads) => {
    const args = ['bench/peers/llama-cpp.mjs', file, threads, nPrompt, nDecoded].map(String);
    return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }));
  },
  native: (_, file, threads) => {
    const [speed] = runProgram('speed', [file, 'fastest', String(threads), '1']);
    return { prefill: speed.prefill128[0], decode: speed.decode64[0] };
  },
  'wllama 3.8.1': inPage('runWllama3'),
};

export const engineNames = Object.keys(engines);

/**
 * In a folder of their own. Not `npm ci`, and without optional packages: they are half a gigabyte of
 * llama.cpp for GPUs, of which a lock file made on one system knows only a part.
 */
export function installPeers() {
  const target = join(root, folder, 'peers');
  const lock = readFileSync(join(root, 'bench/peers/package-lock.json'), 'utf8');
  const stamp = join(target, 'installed.json');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.error(`Installing the peers in ${folder}/peers ...`);
  cpSync(join(root, 'bench/peers'), target, { recursive: true });
  run('npm', ['install', '--ignore-scripts', '--omit=optional', '--prefix', target]);
  writeFileSync(stamp, lock);
}

/** run(name, file, threads): tokens per second { prefill, decode }, the model loaded anew. */
export async function openEngines() {
  const { server, url } = await serve(root, { isolated: true });
  const browser = await launchChromium();
  return {
    async run(name, file, threads) {
      const page = await browser.newPage();
      try {
        await page.goto(`${url}bench/peers/page.html`);
        return await engines[name](page, file, threads);
      } finally {
        await page.close();
      }
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A function of page.js, once the page has it. */
function inPage(name, kernels) {
  return async (page, file, threads) => {
    await page.waitForFunction((f) => f in globalThis, name);
    return page.evaluate(
      ([f, url, options]) => globalThis[f](url, options),
      [name, `/${file}`, { threads, kernels, nPrompt, nDecoded }],
    );
  };
}
