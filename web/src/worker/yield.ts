import { isNode } from '../runtime.ts';

/** How long messages wait at most, unless a single step takes longer. */
export const turnMs = 25;

/** Lets messages that have arrived be handled. */
export const yieldToMessages: () => Promise<void> = isNode ? yieldInNode : browserYield();

// Node delivers up to a thousand messages of one port before those of the next port, so a message
// to oneself does not work here.
function yieldInNode(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A message to oneself takes microseconds; a timer would wait at least 4 ms. */
function browserYield(): () => Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
}
