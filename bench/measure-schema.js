// What a schema costs for each token that is generated, measured through the package.

const nTokens = 128;
const endToken = 2; // of the models of make_model: random weights must not end a text early
const jsonSchema = {
  type: 'array',
  minItems: nTokens,
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 40 },
      n: { type: 'integer' },
      on: { type: 'boolean' },
    },
    required: ['name', 'n', 'on'],
  },
};

/** Runs with and without a schema take turns. Returns milliseconds per token of every repeat. */
export async function measureSchema(Kinglet, source, { threads, repeats }) {
  const model = await Kinglet.load(source, { nThreads: threads, nCtx: 64 });
  try {
    const session = await model.newSession({ nCtx: 512 });
    const { kernels, nThreads } = model.info.runtime;
    const result = { kernels, threads: nThreads, without: [], with: [] };
    await runOnce(session, { jsonSchema });
    for (let i = 0; i < repeats; ++i) {
      result.without.push(await runOnce(session, {}));
      result.with.push(await runOnce(session, { jsonSchema }));
    }
    return result;
  } finally {
    model.dispose();
  }
}

/** Leaves out the first token, before which the prompt is read and the schema is compiled. */
async function runOnce(session, constraint) {
  await session.truncate(0);
  const times = [];
  const generation = session.generate([1], {
    ...constraint,
    maxTokens: nTokens + 1,
    seed: 1,
    lookup: 0,
    logitBias: { [endToken]: -100 },
  });
  for await (const { token } of generation) {
    if (token >= 0) times.push(performance.now());
  }
  if (times.length !== nTokens + 1) throw new Error(`the text ended after ${times.length} tokens`);
  return (times[nTokens] - times[0]) / nTokens;
}
