// What calls to the wasm module return.

/** Every call that can fail returns either a value or an error; nothing throws. */
export type EngineResult<T> = { value: T; error?: undefined } | { error: EngineError };

export interface EngineError {
  /** The snake_case name of a kinglet::ErrorCode, e.g. "wrong_shape". */
  code: string;
  message: string;
}

/** An object in the wasm heap: call delete() when it is not needed any more. */
export interface EngineHandle {
  delete(): void;
}
