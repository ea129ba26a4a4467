// The speed of the package as its user sees it, from the call to the token. In a page and in Node.

const shortPrompt = 128;
const longPrompt = 512;
const decoded = 64;
const nCtx = 1024;

/**
 * Returns a prompt of so many tokens, as text and as ids. The models' vocabularies have single
 * bytes, and words that are in no text. So every engine cuts the text into its bytes, after the
 * beginning of sequence and the three bytes of the mark for a space. Each index gives another
 * prompt.
 */
export function promptOf(nTokens, index = 0) {
  const start = [1, ...[0xe2, 0x96, 0x81].map(tokenOfByte)];
  const bytes = Array.from(
    { length: nTokens - start.length },
    (_, i) => 33 + ((7 * i + index) % 94),
  );
  return {
    text: String.fromCharCode(...bytes),
    tokens: [...start, ...bytes.map(tokenOfByte)],
  };
}

function tokenOfByte(byte) {
  return 3 + byte;
}

/**
 * Reads a prompt of 128 tokens, generates 64 tokens, and reads a prompt of 512. Returns the tokens
 * per second of every repeat. The time for reading includes the first token.
 */
export async function measureKinglet(Kinglet, source, { kernels, threads, repeats, long = true }) {
  const model = await Kinglet.load(source, { nThreads: threads, kernels, nCtx: 64 });
  try {
    const runtime = checkedRuntime(model, threads);
    const session = await model.newSession({ nCtx });
    const result = {
      kernels: runtime.kernels,
      threads: runtime.nThreads,
      variant: runtime.variant,
      prefill128: [],
      prefill512: [],
      decode64: [],
    };
    const [short, longer] = [shortPrompt, longPrompt].map((n) => promptOf(n).tokens);
    await runOnce(session, short, 8);
    for (let i = 0; i < repeats; ++i) {
      const { prefill, decode } = await runOnce(session, short, decoded);
      result.prefill128.push(prefill);
      result.decode64.push(decode);
      if (long) result.prefill512.push((await runOnce(session, longer, 0)).prefill);
    }
    return result;
  } finally {
    model.dispose();
  }
}

/**
 * Returns the tokens per second of reading a prompt, and of generating `nDecoded` tokens after it.
 * `prompts`: one for practice, and the one that is measured.
 */
export async function measureAnswer(Kinglet, source, { kernels, threads, prompts, nDecoded }) {
  const model = await Kinglet.load(source, { nThreads: threads, kernels, nCtx: 64 });
  try {
    checkedRuntime(model, threads);
    const [practice, measured] = prompts.map(({ tokens }) => tokens);
    const session = await model.newSession({ nCtx: Math.max(nCtx, measured.length + nCtx / 2) });
    await runOnce(session, practice, 8);
    return await runOnce(session, measured, nDecoded);
  } finally {
    model.dispose();
  }
}

function checkedRuntime(model, threads) {
  const { runtime } = model.info;
  if (runtime.nThreads === threads) return runtime;
  throw new Error(`${threads} threads were asked for and ${runtime.nThreads} started`);
}

/** Options for the models of make_model: their random weights must not end a text early. */
const endToken = 2;

/** Returns tokens per second: for reading a prompt, and for `nDecoded` tokens after the first. */
async function runOnce(session, prompt, nDecoded) {
  await session.truncate(0);
  const times = [];
  const startedAt = performance.now();
  const generation = session.generate(prompt, {
    maxTokens: nDecoded + 1,
    temperature: 0,
    lookup: 0,
    logitBias: { [endToken]: -100 },
  });
  for await (const piece of generation) {
    if (piece.token >= 0) times.push(performance.now());
  }
  if (times.length !== nDecoded + 1) {
    throw new Error(`the model ended after ${times.length} tokens, before the measurement did`);
  }
  return {
    prefill: (prompt.length * 1000) / (times[0] - startedAt),
    decode: (nDecoded * 1000) / (times[nDecoded] - times[0]),
  };
}
