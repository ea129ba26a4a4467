// From a posted source to a stream of bytes.
import { KingletError, messageOf } from '../errors.ts';
import type { PostedSource } from '../protocol.ts';

export interface ByteSource {
  stream: ReadableStream<Uint8Array>;
  /** 0 where the source does not tell. */
  size: number;
}

export async function openSource(source: PostedSource): Promise<ByteSource> {
  switch (source.kind) {
    case 'blob':
      return { stream: source.blob.stream(), size: source.blob.size };
    case 'stream':
      return { stream: source.stream, size: 0 };
    case 'url':
      return source.url.startsWith('file:') ? openFile(source.url) : openUrl(source.url);
  }
}

async function openUrl(url: string): Promise<ByteSource> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new KingletError('network', `cannot reach ${url}: ${messageOf(error)}`);
  }
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    const words = response.statusText || (statusWords[response.status] ?? 'no model there');
    throw new KingletError(
      'network',
      `the server answered ${String(response.status)} (${words}) for ${url}`,
    );
  }
  // A compressed response announces its compressed length, which says nothing about the file's.
  const length = response.headers.has('content-encoding')
    ? null
    : response.headers.get('content-length');
  return { stream: response.body, size: Number(length ?? 0) || 0 };
}

/** For HTTP/2 and later, which send no status text. */
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

/** Node only. */
async function openFile(url: string): Promise<ByteSource> {
  // Named indirectly so that bundlers leave Node's modules alone.
  const names = { fs: 'node:fs', stream: 'node:stream' };
  const fs = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ names.fs
  )) as typeof import('node:fs');
  const { Readable } = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ names.stream
  )) as typeof import('node:stream');
  try {
    const file = await fs.promises.open(new URL(url));
    const { size } = await file.stat();
    const chunks = file.createReadStream({ highWaterMark: 1 << 20 });
    return { stream: Readable.toWeb(chunks) as ReadableStream<Uint8Array>, size };
  } catch (error) {
    throw new KingletError('io', `cannot open ${url}: ${messageOf(error)}`);
  }
}
