// The peers that run in a page. Each reads the prompt and generates tokens greedily, as this
// project does in ../measure.js.
import { measureAnswer } from '../measure.js';
import './embed.js';
import './first-token.js';
import './pictures.js';
import './products.js';
import { openWllama2, openWllama3 } from './wllama.js';

/** wllama 2: uses the lower-level calls of its createCompletion(), because these take tokens. */
globalThis.runWllama2 = async (file, { threads, prompts, nDecoded }) => {
  const [practice, measured] = prompts;
  const blob = await (await fetch(file)).blob();
  const wllama = await openWllama2(blob, { threads, nPrompt: measured.tokens.length });
  const run = async (prompt, n) => {
    await wllama.kvClear();
    await wllama.samplingInit({ temp: 0 });
    const times = [];
    const startedAt = performance.now();
    let next = prompt.tokens;
    for (let i = 0; i <= n; ++i) {
      await wllama.samplingAccept(next);
      await wllama.decode(next, {});
      next = [(await wllama.samplingSample()).token];
      times.push(performance.now());
    }
    return rates(prompt.tokens.length, startedAt, times);
  };
  await run(practice, 8);
  return run(measured, nDecoded);
};

/** wllama 3 has only a call that takes text. Its last chunk contains the number of tokens. */
globalThis.runWllama3 = async (file, { threads, prompts, nDecoded }) => {
  const [practice, measured] = prompts;
  const blob = await (await fetch(file)).blob();
  const wllama = await openWllama3(blob, { threads, nPrompt: measured.tokens.length });
  const run = async (prompt, n) => {
    const times = [];
    let last;
    const startedAt = performance.now();
    await wllama.createCompletion({
      prompt: prompt.text,
      max_tokens: n + 1,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: false,
      stream: true,
      onData: (chunk) => {
        last = chunk;
        times.push(performance.now());
      },
    });
    const { prompt_n: nPromptTokens, predicted_n: nPredicted } = last.timings;
    if (nPromptTokens !== prompt.tokens.length || nPredicted !== n + 1) {
      throw new Error(`wllama 3 read ${nPromptTokens} tokens and drew ${nPredicted}`);
    }
    return rates(prompt.tokens.length, startedAt, times.slice(0, n + 1));
  };
  await run(practice, 8);
  return run(measured, nDecoded);
};

/** This project, through the package. */
globalThis.runKinglet = async (file, options) => {
  const { Kinglet } = await import('/dist/index.js');
  return measureAnswer(Kinglet, file, options);
};

/** Computes speeds from the start time and the times of the tokens. */
function rates(nPrompt, startedAt, times) {
  const nDecoded = times.length - 1;
  return {
    prefill: (nPrompt * 1000) / (times[0] - startedAt),
    decode: (nDecoded * 1000) / (times[nDecoded] - times[0]),
  };
}
