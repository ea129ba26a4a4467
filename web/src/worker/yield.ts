const channel = new MessageChannel();
let resume: (() => void) | undefined;
channel.port1.onmessage = () => {
  resume?.();
};

/**
 * Lets messages that have arrived be handled. A message to oneself takes microseconds, where a
 * timer would wait at least 4 ms.
 */
export function yieldToMessages(): Promise<void> {
  return new Promise((resolve) => {
    resume = resolve;
    channel.port2.postMessage(null);
  });
}
