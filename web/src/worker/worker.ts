// The worker's entry point, for browsers and Node.
import { giveLifeSign } from '../life-sign.ts';
import type { ClientMessage, WorkerMessage } from '../protocol.ts';
import { isNode } from '../runtime.ts';
import { ModelHost } from './model-host.ts';
import { openEngine } from './open-engine.ts';

if (isNode) {
  const name = 'node:worker_threads';
  void import(/* webpackIgnore: true */ /* @vite-ignore */ name).then(
    ({ parentPort }: typeof import('node:worker_threads')) => {
      const host = new ModelHost({
        post: (message: WorkerMessage) => parentPort?.postMessage(message),
        openEngine,
      });
      parentPort?.on('message', (message: ClientMessage) => {
        host.receive(message);
      });
    },
  );
} else {
  const host = new ModelHost({
    post: (message) => {
      self.postMessage(message);
    },
    openEngine,
  });
  self.onmessage = (event: MessageEvent<ClientMessage>) => {
    host.receive(event.data);
  };
  giveLifeSign((sign) => {
    self.postMessage(sign);
  });
}
