// Loads a model as a query asks, ?load={ "from": the package, options of Kinglet.load() }, and
// returns the text that the model generates, or the error.
import * as ownPackage from './kinglet/index.js';

export async function tell(search, more) {
  const given = JSON.parse(new URLSearchParams(search).get('load') ?? '{}');
  const { from, ...options } = given;
  const { Kinglet } = from ? await import(from) : ownPackage;
  try {
    const model = await Kinglet.load('model.gguf', { cache: false, ...options, ...more });
    const greedy = { maxTokens: 40, temperature: 0 };
    const { text } = await model.generate('Once upon a time', greedy).result;
    const { nThreads } = model.info.runtime;
    model.dispose();
    return { text, nThreads };
  } catch ({ name, code, message }) {
    return { name, code, message };
  }
}
