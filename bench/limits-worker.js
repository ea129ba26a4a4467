// One thread of limits.js.
import { answerInWorker } from './limits.js';

const answer = answerInWorker();
const isNode = Boolean(globalThis.process?.versions?.node);
const port = isNode ? (await import('node:worker_threads')).parentPort : globalThis;
const reply = async (message) => {
  try {
    port.postMessage({ value: await answer(message) });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
};
if (isNode) port.on('message', reply);
else port.onmessage = ({ data }) => reply(data);
port.postMessage('started');
