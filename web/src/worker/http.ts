// Requests a file, describes errors, and finds out the version of the file.
import { KingletError, messageOf } from '../errors.ts';
import type { FileVersion } from '../file-version.ts';
import { isNode } from '../runtime.ts';
import { controllerOf } from '../when-aborted.ts';

export interface RequestOptions {
  headers: Record<string, string>;
  /** The most milliseconds to wait for an answer or for a byte. */
  stallTimeout: number;
  /** "no-store" if the bytes are cached elsewhere: a browser's own cache fails on large files. */
  cache: 'default' | 'no-store';
  /** Ends the transfer when it aborts. Its reason is a KingletError. */
  signal?: AbortSignal | undefined;
  /** Called when a transfer broke off and is about to be tried again. */
  onRetry?: () => void;
}

export interface FileResponse {
  version: FileVersion;
  /** The position in the file at which the body begins. */
  offset: number;
  body: ReadableStream<Uint8Array>;
  /** Ends the transfer. */
  abort(): void;
}

/**
 * Requests the file from byte `offset` on. A server may begin at 0 instead. Returns undefined if
 * the file has no such byte.
 *
 * @throws KingletError: network (worth trying again), cors, not_found, access_denied, not_gguf; the
 * signal's reason.
 */
export async function requestFile(
  url: string,
  { headers, stallTimeout, cache, signal: ending }: RequestOptions,
  offset: number,
): Promise<FileResponse | undefined> {
  ending?.throwIfAborted();
  const { controller } = controllerOf(ending);
  const timer = setTimeout(() => {
    controller.abort(new Error(`no answer within ${String(stallTimeout)} ms`));
  }, stallTimeout);
  try {
    // There is no If-Range: with a range alone, browsers need no preflight request to other sites.
    const range = offset > 0 ? { range: `bytes=${String(offset)}-` } : {};
    const response = await fetch(url, {
      headers: { ...headers, ...range },
      cache: offset > 0 ? 'no-store' : cache,
      signal: controller.signal,
    });
    const abort = () => {
      controller.abort();
    };
    if (response.status === 416) {
      abort();
      return undefined;
    }
    if (!response.ok || !response.body || isWebPage(response)) {
      abort();
      throw refusal(url, response);
    }
    return { ...placeOf(response, offset), body: response.body, abort };
  } catch (error) {
    if (error instanceof KingletError) throw error;
    ending?.throwIfAborted();
    // Some browsers do not throw the reason that abort() was given.
    const { signal } = controller;
    throw await unreachable(url, signal.aborted ? signal.reason : error);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the file's size, if the server answers a HEAD request with it. */
export async function requestSize(
  url: string,
  { headers, stallTimeout }: RequestOptions,
): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(stallTimeout);
    const response = await fetch(url, { method: 'HEAD', headers, signal });
    return response.ok ? placeOf(response, 0).version.size : undefined;
  } catch {
    return undefined; // the download will report the error
  }
}

function placeOf(
  { status, headers }: Response,
  asked: number,
): { version: FileVersion; offset: number } {
  // The length and the ranges of a compressed answer are those of the compressed bytes.
  if (headers.has('content-encoding')) {
    return { version: { etag: undefined, lastModified: undefined, size: undefined }, offset: 0 };
  }
  const length = wholeNumber(headers.get('content-length'));
  const etag = headers.get('etag') ?? undefined;
  const lastModified = headers.get('last-modified') ?? undefined;
  if (status !== 206) return { version: { etag, lastModified, size: length }, offset: 0 };
  // Servers hide this header from other sites. Then the range is assumed to be as requested.
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
  const offset = wholeNumber(range[1]) ?? asked;
  const size = wholeNumber(range[2]) ?? (length === undefined ? undefined : offset + length);
  return { version: { etag, lastModified, size }, offset };
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

function isWebPage({ headers }: Response): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '');
}

function refusal(url: string, response: Response): KingletError {
  const { status } = response;
  if (response.ok) {
    const hint = url.includes('/blob/')
      ? 'on the hub, links to files have /resolve/ where pages about them have /blob/'
      : 'probably there is no such file, and the server answers every unknown address with a page, ' +
        'as development servers do (they send the files in their folder "public")';
    return new KingletError(
      'not_gguf',
      `the server answered with a web page instead of a file for ${url}; ${hint}`,
    );
  }
  const words = response.statusText || (statusWords[status] ?? 'no file there');
  const answer = `the server answered ${String(status)} (${words}) for ${url}`;
  if (status === 401 || status === 403) {
    return new KingletError(
      'access_denied',
      `${answer}: it requires permission, or there is no such file; for a gated model, accept ` +
        "its conditions and load it with headers: { Authorization: 'Bearer …' }",
    );
  }
  if (status === 404 || status === 410) return new KingletError('not_found', answer);
  return new KingletError('network', answer);
}

/** Status texts for HTTP/2 and later, which do not send any. */
const statusWords: Partial<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  410: 'Gone',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/**
 * Browsers do not say why a request failed. A second request finds out whether CORS is the cause.
 */
async function unreachable(url: string, error: unknown): Promise<KingletError> {
  const message = `cannot reach ${url}: ${messageOf(error)}`;
  if (isNode || new URL(url).origin === location.origin) {
    return new KingletError('network', message);
  }
  if (!(await answersBlindly(url))) {
    // An isolated page may not even ask a server that does not know of it.
    const hint = crossOriginIsolated
      ? '; if there is a server, it does not let pages of ' +
        `${location.origin} read the file: it must send the header Access-Control-Allow-Origin`
      : '';
    return new KingletError('network', message + hint);
  }
  return new KingletError(
    'cors',
    `${message}; there is a server, but it does not let pages of ${location.origin} read the ` +
      'file: it must send the header Access-Control-Allow-Origin',
  );
}

async function answersBlindly(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(5000);
    await fetch(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', signal });
    return true;
  } catch {
    return false;
  }
}
