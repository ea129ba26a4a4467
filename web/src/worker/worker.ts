// The worker's entry point, for browsers and Node.
import { giveLifeSign } from '../life-sign.ts';
import type { ClientMessage, WorkerMessage } from '../protocol.ts';
import { importNode, isNode } from '../runtime.ts';
import { ModelHost } from './model-host.ts';
import { openEngine, openVision } from './open-engine.ts';

if (isNode) {
  void importNode('worker_threads').then(({ parentPort }) => {
    const host = new ModelHost({
      post: (message: WorkerMessage, transfer: Transferable[] = []) => {
        parentPort?.postMessage(message, transfer as import('node:worker_threads').Transferable[]);
      },
      openEngine,
      openVision,
    });
    parentPort?.on('message', (message: ClientMessage) => {
      host.receive(message);
    });
  });
} else {
  const host = new ModelHost({
    post: (message, transfer = []) => {
      self.postMessage(message, { transfer });
    },
    openEngine,
    openVision,
  });
  const { given } = giveLifeSign((sign) => {
    self.postMessage(sign);
  });
  // A page would wait for ever for the answers of a worker that ended before it could be watched.
  self.onmessage = (event: MessageEvent<ClientMessage>) => {
    void given.then(() => {
      host.receive(event.data);
    });
  };
}
