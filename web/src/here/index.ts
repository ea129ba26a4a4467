// The package with an engine that can run in the thread that loads a model. Where code cannot be
// imported later (service workers, bundles of one file), this is imported instead of `kinglet`, or
// besides it.
import createEngine from '#engine-of-one-thread';
import type { ClientMessage, WorkerMessage } from '../protocol.ts';
import { provideHere } from '../start-here.ts';
import { ModelHost } from '../worker/model-host.ts';
import { openEngine, openVision } from '../worker/open-engine.ts';
import type { StartHere } from '../worker-link.ts';

export * from '../index.ts';

/** In Node, a port may keep the process alive. */
interface NodePort {
  ref?(): void;
  unref?(): void;
}

/**
 * Connects a model host as if it were in a worker: its messages are copied, and come in turn with
 * this thread's other events.
 *
 * @internal
 */
export const startHere: StartHere = (listener, hereReason) => {
  const { port1: client, port2: own } = new MessageChannel();
  const host = new ModelHost({
    post: (message, transfer = []) => {
      own.postMessage(message, transfer);
    },
    // The same JavaScript runs both builds of one thread.
    openEngine: (...wanted) => openEngine(...wanted, createEngine),
    openVision: (...wanted) => openVision(...wanted, createEngine),
    hereReason,
  });
  own.onmessage = ({ data }: MessageEvent<ClientMessage>) => {
    host.receive(data);
  };
  client.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
    listener.onMessage(data);
  };
  const setBusy = (busy: boolean) => {
    for (const port of [client, own] as NodePort[]) {
      if (busy) port.ref?.();
      else port.unref?.();
    }
  };
  setBusy(false);
  return {
    post: (message, transfer = []) => {
      client.postMessage(message, transfer);
    },
    terminate: () => {
      client.close();
      own.close();
      host.close();
    },
    setBusy,
  };
};

provideHere(startHere);
