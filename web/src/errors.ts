/**
 * Every code that a {@link KingletError} can have, and its meaning. The first group comes from the
 * engine, the second from the package around it. A call that a signal cancels has none of these
 * codes: it rejects with the signal's own reason, an `AbortError` unless you gave another.
 */
export const errorCodes = {
  invalid_argument: "a caller's value is out of its documented range",
  io: 'a file cannot be opened or read',
  not_gguf: 'the bytes are not a GGUF file',
  unsupported_version: 'a GGUF version or byte order that is not supported',
  truncated: 'the file ends earlier than its header says',
  corrupt: 'the file contradicts itself',
  unsupported_type: 'a tensor or metadata type that is not known',
  unsupported_architecture: 'general.architecture names a model that is not implemented',
  unsupported_tokenizer: 'tokenizer.ggml.model names a tokenizer that is not implemented',
  unsupported_feature: 'a known model asks for something that is not implemented',
  missing_metadata: 'a required metadata key is absent',
  missing_tensor: 'a required tensor is absent',
  wrong_type: 'a tensor or metadata value has an unexpected type',
  wrong_shape: "a tensor's shape contradicts the model's configuration",
  context_full: 'the KV cache has no room for the tokens of this step',
  prompt_too_long: 'a prompt does not fit the context',
  out_of_memory: 'there is not enough memory',
  not_finite: 'NaN or infinity where a number is needed',
  invalid_grammar: 'the grammar is not valid',
  grammar_dead_end: 'the grammar allows no token, and the answer is not at its end',
  cancelled: 'the work was cancelled',

  too_large: 'the model does not fit into the 4 GB of WebAssembly memory; nothing was downloaded',
  network: 'the server did not answer, answered with an error, or broke off',
  not_found: 'the server has no such file (404, 410)',
  access_denied: 'the server requires permission (401, 403), for example for a gated model',
  cors: 'the server does not let pages of other sites read its files',
  file_changed: 'the file changed on the server during the download, more than once',
  cache_unavailable: 'there is no storage here, access to it is denied, or another tab is using it',
  cache_full: 'the storage has no room for the file',
  cache_corrupt: 'a cached file differs from its checksums',
  disposed: 'the model was used after dispose()',
  worker_crashed: 'the worker died; load the model again',
  host_gone:
    'the tab that ran the shared model is gone, and this cannot go on in another; call again',
  worker_unavailable: "the package's worker or engine was not found at its address",
  unsupported_environment: 'this browser or runtime lacks something the package needs',
} as const;

export type KingletErrorCode = keyof typeof errorCodes;

/** An error of the package: a message to read, and a code to branch on. */
export class KingletError extends Error {
  override readonly name = 'KingletError';

  constructor(
    readonly code: KingletErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export function isErrorCode(code: string): code is KingletErrorCode {
  return Object.hasOwn(errorCodes, code);
}

/** Returns the message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
