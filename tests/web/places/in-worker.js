// Runs tell() in a worker of any kind when a message with a port asks for it.
import { tell } from './tell.js';

const answer = async ({ data, ports: [port] }) => port.postMessage(await tell(data));

self.onmessage = answer;
self.onconnect = ({ ports: [port] }) => {
  port.onmessage = answer;
};
globalThis.chrome?.runtime?.onMessage?.addListener((search, _, reply) => {
  tell(search).then(reply);
  return true; // the reply comes later
});
