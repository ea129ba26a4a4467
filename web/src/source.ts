import { KingletError } from './errors.ts';
import type { PostedSource } from './protocol.ts';
import { isNode } from './runtime.ts';
import type { ModelSource } from './types.ts';

/**
 * The source in a form that can be posted to the worker. Buffers become a Blob, which copies them
 * once: transferring would take them from the caller, and cloning a view would send its whole
 * buffer.
 */
export function postedSource(source: ModelSource): PostedSource {
  if (typeof source === 'string' || source instanceof URL) {
    return { kind: 'url', url: absoluteUrl(source) };
  }
  if (source instanceof Blob) return { kind: 'blob', blob: source };
  if (source instanceof ArrayBuffer || source instanceof Uint8Array) {
    return { kind: 'blob', blob: new Blob([source]) };
  }
  if (source instanceof ReadableStream) return { kind: 'stream', stream: source };
  throw new KingletError(
    'invalid_argument',
    'the model source must be a URL, Blob, File, ArrayBuffer, Uint8Array or ReadableStream',
  );
}

/** Relative to the page, or in Node (where a plain string is a path) to the current folder. */
function absoluteUrl(source: string | URL): string {
  const base = isNode
    ? `file://${encodeURI(process.cwd()).replace(/[?#]/g, encodeURIComponent)}/`
    : typeof document === 'object'
      ? document.baseURI
      : location.href;
  try {
    return new URL(source, base).href;
  } catch {
    throw new KingletError('invalid_argument', `"${String(source)}" is not a URL`);
  }
}
