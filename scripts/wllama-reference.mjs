/* global window */
// Asks llama.cpp as the npm package @wllama/wllama contains it: as WebAssembly, in Chromium. It takes
// texts for prompts, not ids, and fails if it is to list a token that is not valid UTF-8. So the
// vocabulary must be SentencePiece with one character for each token but the first three, and
// without bytes.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launchHeadlessShell } from './chromium.mjs';
import { readTokens } from './gguf-fixture.mjs';
import { serve } from './serve.mjs';

const page = `<!doctype html><script type="module">
import { Wllama } from '/esm/index.js';
window.complete = async (requests) => {
  const wllama = new Wllama({ default: '/esm/wasm/wllama.wasm' }, { suppressNativeLog: true });
  try {
    await wllama.loadModel([await (await fetch('/model.gguf')).blob()], {
      n_ctx: 256, n_batch: 256, n_ubatch: 256, n_gpu_layers: 0, n_threads: 1, n_parallel: 1,
      cache_type_k: 'f32', cache_type_v: 'f32', flash_attn: false, warmup: false,
    });
    const answers = [];
    for (const { prompt, n } of requests) {
      answers.push(await wllama.createCompletion({
        prompt, max_tokens: n, temperature: 0, top_k: 1, ignore_eos: true, cache_prompt: false,
        n_probs: wllama.getLoadedContextInfo().n_vocab,
      }));
    }
    return { release: Wllama.getLibllamaVersion(), answers };
  } finally {
    await wllama.exit();
  }
};
</script>`;

const nSpecial = 3; // tokens: <unk>, <s>, which begins every prompt, and </s>

/** The prompt that is read as these ids. */
function textOf(file, vocabulary, [first, ...ids]) {
  if (first !== 1) throw new Error(`${file}: the first token is ${first}, not <s>`);
  const isReadable = (token) => token !== undefined && [...token].length === 1;
  const bad = ids.find((id) => id < nSpecial || !isReadable(vocabulary[id]));
  if (bad !== undefined) {
    throw new Error(`${file}: token ${bad} is ${vocabulary[bad]}, not a character`);
  }
  return ids.map((id) => vocabulary[id].replace('\u2581', ' ')).join('');
}

function logprobsOf({ top_logprobs: list }, size) {
  const logprobs = [];
  for (const { id, logprob } of list) logprobs[id] = logprob;
  if (Object.keys(logprobs).length !== size) throw new Error('not every token has a probability');
  return logprobs;
}

/** `folder`: the unpacked package. */
export async function openWllama(folder) {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const served = mkdtempSync(join(tmpdir(), 'wllama-'));
  cpSync(resolve(folder, 'esm'), join(served, 'esm'), { recursive: true });
  writeFileSync(join(served, 'index.html'), page);
  const { server, url } = await serve(served);
  const browser = await launchHeadlessShell();
  const tab = await browser.newPage();
  await tab.goto(url);
  await tab.waitForFunction(() => window.complete);

  /** The log probabilities after the tokens at these positions, and the n tokens that follow all. */
  const answer = async (file, { tokens, positions, nGreedy }) => {
    const vocabulary = readTokens(file);
    const asked = [...positions.map((position) => [position + 1, 1]), [tokens.length, nGreedy]];
    const requests = asked.map(([count, n]) => ({
      prompt: textOf(file, vocabulary, tokens.slice(0, count)),
      n,
    }));
    cpSync(file, join(served, 'model.gguf'));
    const { release, answers } = await tab.evaluate((list) => window.complete(list), requests);
    answers.forEach(({ usage }, i) => {
      if (usage.prompt_tokens !== asked[i][0]) {
        throw new Error(`${file}: ${asked[i][0]} tokens were read as ${usage.prompt_tokens}`);
      }
    });
    const contents = answers.map(({ choices }) => choices[0].logprobs.content);
    return {
      release: `${release} (wllama ${version})`,
      rows: contents.slice(0, -1).map(([next]) => logprobsOf(next, vocabulary.length)),
      greedy: contents.at(-1).map(({ id }) => id),
    };
  };
  const close = async () => {
    await browser.close();
    server.close();
    rmSync(served, { recursive: true });
  };
  return { answer, close };
}
