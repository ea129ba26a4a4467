import { KingletError } from './errors.ts';
import { hubFileUrl, isHubAddress, parseHubAddress, withoutSlashes } from './hub.ts';
import type { HubRepository } from './hub.ts';
import type { PostedSource, PostedSources } from './protocol.ts';
import { isNode } from './runtime.ts';
import type { HubOptions, ModelSource } from './types.ts';

/** Returns the files that were given. Of a split model, that may be one part: see loadModel(). */
export function postedSources(
  source: ModelSource | readonly ModelSource[],
  options: HubOptions = {},
): PostedSources {
  const sources = isList(source) ? source : [source];
  return atLeastOne(sources.map((part) => postedSource(part, options)));
}

/** @internal */
export function atLeastOne<T>([first, ...others]: T[]): [T, ...T[]] {
  if (first !== undefined) return [first, ...others];
  throw new KingletError('invalid_argument', 'the model source is an empty list');
}

/** Returns a file's absolute address, the same as in postedSources(). */
export function sourceUrl(source: string | URL, options: HubOptions = {}): string {
  const posted = postedAddress(String(source), options);
  if (posted.kind === 'url') return posted.url;
  throw new KingletError(
    'invalid_argument',
    `"${String(source)}" names no file: expected hf:owner/repo/file.gguf`,
  );
}

function isList(source: ModelSource | readonly ModelSource[]): source is readonly ModelSource[] {
  return Array.isArray(source);
}

/**
 * Returns the source in a form that can be posted to the worker. Buffers become a Blob, which
 * copies them once: transferring would take them from the caller, and cloning a view would send its
 * whole buffer.
 *
 * @internal
 */
export function postedSource(source: ModelSource, options: HubOptions): PostedSource {
  if (typeof source === 'string' || source instanceof URL) {
    return postedAddress(String(source), options);
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

function postedAddress(address: string, options: HubOptions): PostedSource {
  if (!isHubAddress(address)) return { kind: 'url', url: absoluteUrl(address) };
  const { repository, path, type } = parseHubAddress(address, options);
  return path === undefined
    ? { kind: 'hub', repository: absoluteRepository(repository), type }
    : { kind: 'url', url: hubFileUrl(absoluteRepository(repository), path) };
}

function absoluteRepository(repository: HubRepository): HubRepository {
  return { ...repository, base: withoutSlashes(absoluteUrl(repository.base)) };
}

/**
 * Returns what the reading of a source gives. If the source is not found, the error says that it may
 * lack its "hf:". A server may answer with a page of its own instead of a 404.
 *
 * @internal
 */
export function withHubHint<T>(
  reading: Promise<T>,
  source: ModelSource | readonly ModelSource[],
): Promise<T> {
  const isRepository = typeof source === 'string' && /^\w[\w.-]*\/[\w.-]+(:[\w.-]+)?$/.test(source);
  if (!isRepository) return reading;
  return reading.catch((error: unknown) => {
    const isAbsent =
      error instanceof KingletError && ['not_found', 'not_gguf', 'io'].includes(error.code);
    if (!isAbsent) throw error;
    throw new KingletError(error.code, `${error.message}; for a model of the hub, hf:${source}`);
  });
}

/** @internal Returns the repository of a model's first file; undefined if it is not on the hub. */
export function hubRepositoryOf(
  source: ModelSource | readonly ModelSource[] | undefined,
  options: HubOptions,
): HubRepository | undefined {
  const first = source !== undefined && isList(source) ? source[0] : source;
  const isOnHub =
    (typeof first === 'string' || first instanceof URL) && isHubAddress(String(first));
  if (!isOnHub) return undefined;
  return absoluteRepository(parseHubAddress(String(first), options).repository);
}

/** Resolves an address relative to the page. In Node: a path, relative to the current folder. */
export function absoluteUrl(address: string | URL): string {
  const base = isNode
    ? `file://${encodeURI(process.cwd()).replace(/[?#]/g, encodeURIComponent)}/`
    : typeof document === 'object'
      ? document.baseURI
      : location.href;
  try {
    return new URL(address, base).href;
  } catch {
    throw new KingletError('invalid_argument', `"${String(address)}" is not a URL`);
  }
}
