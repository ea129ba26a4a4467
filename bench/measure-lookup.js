// What guessing tokens ahead gains and costs, measured through the package. A grammar forces every
// token of the answer; the texts are made like those of lookup_speed.cpp, which describes them.

const documentTokens = 400;
const answerTokens = 256;
const editDistance = 32; // average distance of two changes, about; tokens

/** Runs with and without guesses take turns. Returns tokens per second of every repeat. */
export async function measureLookup(Kinglet, source, { threads, repeats }) {
  const model = await Kinglet.load(source, { nThreads: threads, nCtx: 64 });
  try {
    const session = await model.newSession({ nCtx: 1024 });
    const { kernels, nThreads } = model.info.runtime;
    const results = [];
    for (const [text, task] of Object.entries(tasks())) {
      const result = { text, kernels, threads: nThreads, without: [], with: [] };
      for (let i = 0; i < repeats; ++i) {
        result.without.push((await runOnce(session, task, 0)).tokensPerSecond);
        const { tokensPerSecond, guessedTokens, keptTokens } = await runOnce(session, task);
        result.with.push(tokensPerSecond);
        Object.assign(result, { guessed: guessedTokens, kept: keptTokens });
      }
      results.push(result);
    }
    return results;
  } finally {
    model.dispose();
  }
}

function tasks() {
  const document = letters(documentTokens, 26, 1);
  return {
    copy: { prompt: document, answer: edited(document.slice(50, 50 + answerTokens)) },
    new: { prompt: document, answer: letters(answerTokens, 26, 2) },
    chance: { prompt: letters(documentTokens, 6, 1), answer: letters(answerTokens, 6, 2) },
  };
}

async function runOnce(session, { prompt, answer }, lookup) {
  await session.truncate(0);
  // Each letter is a token: the beginning of sequence is 1, and bytes begin at 3.
  const tokens = [1, ...Array.from(prompt, (letter) => 3 + letter.charCodeAt(0))];
  const options = { grammar: `root ::= "${answer}"`, maxTokens: answerTokens, temperature: 0 };
  const { text, timings } = await session.generate(tokens, { ...options, lookup }).result;
  if (text !== answer) throw new Error('the grammar did not force the answer');
  return timings;
}

function letters(n, nLetters, seed) {
  const random = generator(seed);
  return Array.from({ length: n }, () => String.fromCharCode(65 + (random() % nLetters))).join('');
}

function edited(text) {
  const random = generator(3);
  const changed = [...text];
  let at = editDistance / 2;
  for (; at < changed.length; at += editDistance / 2 + (random() % editDistance)) changed[at] = '#';
  return changed.join('');
}

/** Returns random integers of 31 bits (Park and Miller, 1988). */
function generator(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647);
}
