// A page in which Vite makes the worker.
import { Kinglet } from 'kinglet';
import KingletWorker from 'kinglet/worker?worker';

const output = document.querySelector('output');
Kinglet.load('model.gguf', { worker: () => new KingletWorker() })
  .then((model) => model.generate('Once upon a time', { maxTokens: 40, temperature: 0 }).result)
  .then(
    ({ text }) => output.append(text),
    (error) => output.append(error),
  );
