// Embeddings of texts, by this project and by wllama 3, in a page.
import { measureEmbedding } from '../embed-texts.js';
import { openWllama3 } from './wllama.js';

/** Ids, not texts of bytes: engines treat a space that is not in the vocabulary differently. */
globalThis.embedKinglet = async (file, { kernels, threads, texts: of }) => {
  const { Kinglet } = await import('/dist/index.js');
  const model = await Kinglet.load(file, { nThreads: threads, kernels, nCtx: 64 });
  try {
    return await measureEmbedding(of, async (texts) => {
      const inputs = texts.map(({ text, tokens }) => (of.words ? text : tokens));
      const { nTokens } = await model.embedCounted(inputs, {});
      checkTokens(texts, sum(nTokens));
    });
  } finally {
    model.dispose();
  }
};

/** One text per call, because wllama answers only the first text of a list. */
globalThis.embedWllama3 = async (file, { threads, texts: of }) => {
  const blob = await (await fetch(file)).blob();
  const wllama = await openWllama3(blob, { threads }, { embeddings: true });
  return measureEmbedding(of, async (texts) => {
    for (const text of texts) {
      const { usage } = await wllama.createEmbedding({ input: text.text });
      checkTokens([text], usage.prompt_tokens);
    }
  });
};

function checkTokens(texts, nTokens) {
  const expected = sum(texts.map(({ tokens }) => tokens.length));
  if (nTokens !== expected) throw new Error(`${nTokens} tokens were read, not ${expected}`);
}

function sum(numbers) {
  return numbers.reduce((total, n) => total + n, 0);
}
