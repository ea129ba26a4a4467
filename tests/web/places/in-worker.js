// Runs tell() or probe() in a worker of any kind when a message with a port asks for it.
import { probe } from './probe.js';
import { tell } from './tell.js';

const run = (asked) => (typeof asked === 'string' ? tell(asked) : probe(asked));
const answer = async ({ data, ports: [port] }) => port.postMessage(await run(data));

self.onmessage = answer;
self.onconnect = ({ ports: [port] }) => {
  port.onmessage = answer;
};
globalThis.chrome?.runtime?.onMessage?.addListener((asked, _, reply) => {
  run(asked).then(reply);
  return true; // the reply comes later
});
