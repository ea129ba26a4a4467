import { dataOfUrl, isDataUrl } from './data-url.ts';
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
  throw new KingletError('invalid_argument', 'the model source is an empty array');
}

/** Returns a file's absolute address, the same as in postedSources(). */
export function sourceUrl(source: string | URL, options: HubOptions = {}): string {
  const posted = postedSource(source, options);
  if (posted.kind === 'url') return posted.url;
  throw new KingletError(
    'invalid_argument',
    `"${String(source)}" does not name a file: expected hf:owner/repo/file.gguf`,
  );
}

function isList(source: ModelSource | readonly ModelSource[]): source is readonly ModelSource[] {
  return Array.isArray(source);
}

/**
 * Returns the source in a form that can be posted to the worker. Buffers become a Blob, which
 * copies them once: transferring would take them from the caller, and cloning a view would send its
 * whole buffer. `name`: what it is, for errors.
 *
 * @internal
 */
export function postedSource(
  source: ModelSource,
  options: HubOptions,
  name = 'the model source',
): PostedSource {
  if (source === '') throw new KingletError('invalid_argument', `${name} is empty`);
  if (typeof source === 'string' || source instanceof URL) {
    return postedAddress(source, options);
  }
  if (source instanceof Blob) return { kind: 'blob', blob: source };
  if (source instanceof ArrayBuffer || source instanceof Uint8Array) {
    return { kind: 'blob', blob: new Blob([source]) };
  }
  if (source instanceof ReadableStream) return { kind: 'stream', stream: source };
  throw new KingletError(
    'invalid_argument',
    `${name} must be a URL, Blob, File, ArrayBuffer, Uint8Array or ReadableStream`,
  );
}

function postedAddress(source: string | URL, options: HubOptions): PostedSource {
  const address = String(source);
  if (isDataUrl(address)) return { kind: 'blob', blob: new Blob([dataOfUrl(address)]) };
  if (!isHubAddress(address)) return { kind: 'url', url: fileUrl(source) };
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
    throw new KingletError(
      error.code,
      `${error.message}; for a model from the hub, write hf:${source}`,
    );
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

/**
 * Returns the absolute address of a file to read, without a fragment: that names no other file, which
 * would be cached twice.
 *
 * @throws KingletError `invalid_argument` if it is a path, which pages cannot read.
 */
export function fileUrl(file: string | URL): string {
  const [url = ''] = absoluteUrl(file).split('#');
  if (isNode || !/^(?:file|[a-z]):/i.test(url)) return url;
  throw new KingletError(
    'invalid_argument',
    `a page cannot read ${url}: let the user pick the file (<input type="file">) and pass that ` +
      'File, or serve it over HTTP',
  );
}

/** Resolves an address relative to the page. In Node: also a path, relative to the current folder. */
export function absoluteUrl(address: string | URL): string {
  const isPath = isNode && typeof address === 'string' && !hasScheme(address);
  try {
    if (isPath) return urlOfPath(address);
    const page = () => (typeof document === 'object' ? document.baseURI : location.href);
    return new URL(address, isNode ? urlOfPath('') : page()).href;
  } catch {
    const message = `${JSON.stringify(String(address))} is not a ${isPath ? 'path' : 'URL'}`;
    throw new KingletError('invalid_argument', message);
  }
}

/** A file may have a colon in its name, and a path of Windows begins with one letter and a colon. */
function hasScheme(text: string): boolean {
  return /^\s*(?:(?:https?|file|blob|data|hf):|[a-z][a-z\d+.-]+:\/\/)/i.test(text);
}

/** Returns the URL of a path, in which no character has another meaning than in the path. */
function urlOfPath(path: string): string {
  const isWindows = process.platform === 'win32';
  const encoded = (text: string) =>
    encodeURI(isWindows ? text.replaceAll('\\', '/') : text).replace(/[?#]/g, encodeURIComponent);
  const absolute = (text: string) => {
    const way = encoded(text);
    if (!isWindows) return `file://${way}`;
    return way.startsWith('//') ? `file:${way}` : `file:///${way}`; // of a server, or of a drive
  };
  if (isWindows ? /^(?:[a-z]:|[\\/]{2})/i.test(path) : path.startsWith('/')) {
    return new URL(absolute(path)).href;
  }
  const way = encoded(path);
  return new URL(way.startsWith('/') ? way : `./${way}`, `${absolute(process.cwd())}/`).href;
}
