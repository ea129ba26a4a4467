import { domError } from './errors.ts';

/**
 * Rejects as soon as the signal aborts, with its reason. Other errors are converted to those of the
 * Prompt API.
 */
export async function abortable<T>(done: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let stopListening: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', reject);
    stopListening = () => signal?.removeEventListener('abort', reject);
  });
  try {
    signal?.throwIfAborted();
    return await Promise.race([done, aborted]);
  } catch (error) {
    signal?.throwIfAborted();
    throw domError(error);
  } finally {
    stopListening();
  }
}
