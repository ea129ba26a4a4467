// The engines to compare, including this project's.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchChromiumWithProfile } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { root, run } from '../../scripts/tools.mjs';
import { folder, runProgram } from '../models.mjs';
import { peakOfRenderers } from './memory.mjs';

const nDecoded = 64;
const nFirstPrompt = 64; // tokens of the prompt before the first token

// In this order, so that the two engines of a comparison run within seconds of each other.
const engines = {
  'chromium simd128': inPage('runKinglet', 'simd128'),
  'wllama 2.3.1': inPage('runWllama2'),
  'chromium relaxed-simd': inPage('runKinglet', 'relaxed-simd'),
  'llama.cpp': (_, file, threads, prompts) => {
    const args = ['bench/peers/llama-cpp.mjs', file, threads, nDecoded].map(String);
    const input = JSON.stringify(prompts.map(({ tokens }) => tokens));
    return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', input }));
  },
  native: (_, file, threads, [, { tokens }]) => {
    if (tokens.length !== 128) throw new Error('natively, only prompts of 128 tokens are measured');
    const [speed] = runProgram('speed', [file, 'fastest', String(threads), '1']);
    const { prefill128, decode64, peakBytes } = speed;
    return { prefill: prefill128[0], decode: decode64[0], peakBytes };
  },
  'wllama 3.13.0': inPage('runWllama3'),
};

export const engineNames = Object.keys(engines);

/** The engines that embed texts. */
const embedders = {
  'chromium relaxed-simd': embedInPage('embedKinglet', 'relaxed-simd'),
  'wllama 3.13.0': embedInPage('embedWllama3'),
  'llama.cpp': (_, file, threads, texts) => {
    const args = ['bench/peers/llama-cpp-embed.mjs', file, String(threads), JSON.stringify(texts)];
    return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }));
  },
  native: (_, file, threads) => {
    const [speed] = runProgram('embed_speed', [file, 'fastest', String(threads), '1']);
    const { passages, queries, peakBytes } = speed;
    return { passages: passages[0], queries: queries[0], peakBytes };
  },
};

export const embedderNames = Object.keys(embedders);

/** Functions that measure the time from a stored file to the first token; this project's first. */
const firstTokens = {
  'chromium relaxed-simd': ['firstTokenKinglet', 'relaxed-simd'],
  'wllama 2.3.1': ['firstTokenWllama2'],
  'wllama 3.13.0': ['firstTokenWllama3'],
};

export const firstTokenNames = Object.keys(firstTokens);

/**
 * Functions that measure reading a picture. Without llama.cpp: it is measured through
 * node-llama-cpp, which has no calls for pictures.
 */
const pictureReaders = {
  'chromium relaxed-simd': ['readPictureKinglet', 'relaxed-simd'],
  'wllama 3.13.0': ['readPictureWllama3'],
};

export const pictureReaderNames = Object.keys(pictureReaders);

/** Functions that measure matrix products; this project's first. */
const products = {
  'chromium relaxed-simd': ['productsOfKinglet', 'relaxed-simd'],
  'onnxruntime-web 1.30.0': ['productsOfOnnxruntime'],
};

export const productNames = Object.keys(products);

/**
 * Installs the peers in a folder of their own. Not with `npm ci`, and without optional packages:
 * those are half a gigabyte of llama.cpp for GPUs, and a lock file made on one system lists only
 * some of them.
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

/**
 * Opens the browser, and returns the functions that measure:
 * run(name, file, threads, prompts): tokens per second { prefill, decode }, with a newly loaded
 * model; `prompts`: one for practice, and the one that is measured.
 * embed(name, file, threads, texts): texts per second { passages, queries }, see embed-texts.js.
 * keep(file, threads), then firstToken(name, file, threads): milliseconds by phases; readKept():
 * { bytes, ms } of only reading the same file.
 * readPicture(name, { model, reader }, threads): milliseconds, see pictures.js.
 * multiply(name, shape): GMAC/s.
 * Results of pages also have peakBytes, the most memory that the page's process had.
 */
export async function openEngines() {
  const { server, url } = await serve(root, { isolated: true });
  const profile = join(root, folder, 'profile');
  rmSync(profile, { recursive: true, force: true });
  const browser = await launchChromiumWithProfile(profile);
  const inNewPage = async (work) => {
    const page = await browser.newPage();
    try {
      await page.goto(`${url}bench/peers/page.html`);
      const result = await work(page);
      return { ...result, peakBytes: result?.peakBytes ?? peakOfRenderers(profile) };
    } finally {
      await page.close();
    }
  };
  const call = (name, ...args) => inNewPage((page) => callInPage(page, name, args));
  return {
    run: (name, file, threads, prompts) =>
      inNewPage((page) => engines[name](page, file, threads, prompts)),
    embed: (name, file, threads, texts) =>
      inNewPage((page) => embedders[name](page, file, threads, texts)),
    keep: (file, threads) => call('keepFile', `/${file}`, { threads }),
    firstToken(name, file, threads) {
      const [f, kernels] = firstTokens[name];
      return call(f, `/${file}`, { threads, kernels, nPrompt: nFirstPrompt });
    },
    readKept: () => call('readKept'),
    readPicture(name, { model, reader }, threads) {
      const [f, kernels] = pictureReaders[name];
      return call(f, { model: `/${model}`, reader: `/${reader}` }, { threads, kernels });
    },
    multiply(name, shape) {
      const [f, kernels] = products[name];
      return call(f, { ...shape, kernels });
    },
    async close() {
      await browser.close();
      rmSync(profile, { recursive: true, force: true });
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Calls a function of page.js when the page has defined it. */
async function callInPage(page, name, args) {
  await page.waitForFunction((f) => f in globalThis, name);
  return page.evaluate(([f, values]) => globalThis[f](...values), [name, args]);
}

function inPage(name, kernels) {
  return (page, file, threads, prompts) =>
    callInPage(page, name, [`/${file}`, { threads, kernels, prompts, nDecoded }]);
}

function embedInPage(name, kernels) {
  return (page, file, threads, texts) =>
    callInPage(page, name, [`/${file}`, { threads, kernels, texts }]);
}
