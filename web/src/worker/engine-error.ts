import type { EngineResult } from '#engine';
import { isErrorCode, KingletError } from '../errors.ts';

/** Returns the value of an engine's result, or throws its error. */
export function unwrap<T>(result: EngineResult<T>): T {
  if (!result.error) return result.value;
  const { code, message } = result.error;
  // An unknown code means that the engine and this package are of different versions.
  if (!isErrorCode(code)) throw new Error(`unknown engine error "${code}": ${message}`);
  throw new KingletError(code, message);
}
