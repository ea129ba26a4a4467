import { unlessAborted } from '../when-aborted.ts';
import { domError } from './errors.ts';

/**
 * Rejects as soon as the signal aborts, with its reason. Other errors are converted to those of the
 * Prompt API.
 */
export async function abortable<T>(done: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await unlessAborted(signal, done);
  } catch (error) {
    signal?.throwIfAborted();
    throw domError(error);
  }
}
