// A page as its author would write it. The query ?load={…} gives the options of Kinglet.load().
import { Kinglet, KingletError } from 'kinglet';

async function tell() {
  const options = JSON.parse(new URLSearchParams(location.search).get('load') ?? '{}');
  const model = await Kinglet.load('model.gguf', options);
  const story = model.generate('Once upon a time', { maxTokens: 40, temperature: 0 });
  const { text } = await story.result;
  model.dispose();
  return text;
}

const output = document.querySelector('output');
tell().then(
  (text) => output.append(text),
  (error) =>
    output.append(error instanceof KingletError ? `${error.code}: ${error.message}` : error),
);
