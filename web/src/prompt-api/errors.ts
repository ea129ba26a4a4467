// Converts errors to those of the Prompt API.
import { KingletError } from '../errors.ts';
import type { KingletErrorCode } from '../errors.ts';

/** Codes that are not listed become an OperationError. */
const names: Partial<Record<KingletErrorCode, string>> = {
  ...{ invalid_argument: 'NotSupportedError', unsupported_feature: 'NotSupportedError' },
  ...{ invalid_grammar: 'NotSupportedError', missing_tensor: 'NotSupportedError' },
  ...{ network: 'NetworkError', not_found: 'NetworkError', access_denied: 'NetworkError' },
  ...{ cors: 'NetworkError', io: 'NetworkError', file_changed: 'NetworkError' },
  ...{ disposed: 'InvalidStateError', worker_crashed: 'InvalidStateError' },
  ...{ prompt_too_long: 'QuotaExceededError', context_full: 'QuotaExceededError' },
};

/** Converts an error of the package to one of the Prompt API; returns other errors unchanged. */
export function domError(error: unknown): unknown {
  if (!(error instanceof KingletError)) return error;
  return new DOMException(error.message, names[error.code] ?? 'OperationError');
}

export function notSupported(message: string): DOMException {
  return new DOMException(message, 'NotSupportedError');
}

export function syntaxError(message: string): DOMException {
  return new DOMException(message, 'SyntaxError');
}

export function destroyedError(): DOMException {
  return new DOMException('The session has been destroyed.', 'InvalidStateError');
}

/** Returns the error of a prompt, or of its answer, with `requested` tokens if only `quota` fit. */
export function quotaError(
  requested: number,
  quota: number,
  message = `The input needs ${String(requested)} tokens, but the quota is ${String(quota)}.`,
): DOMException {
  const error = new DOMException(message, 'QuotaExceededError');
  return Object.assign(error, { requested, quota });
}
