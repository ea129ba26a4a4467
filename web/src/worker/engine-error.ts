import type { EngineResult } from '#engine';
import { isErrorCode, KingletError } from '../errors.ts';

/** The engine's value, or its error thrown. */
export function unwrap<T>(result: EngineResult<T>): T {
  if (!result.error) return result.value;
  const { code, message } = result.error;
  // A code this package does not know means that the two were not built together.
  if (!isErrorCode(code)) throw new Error(`unknown engine error "${code}": ${message}`);
  throw new KingletError(code, message);
}
