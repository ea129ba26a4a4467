// From a posted source to its bytes.
import { KingletError, messageOf } from '../errors.ts';
import type { NamedSource } from '../protocol.ts';
import { importNode } from '../runtime.ts';
import type { ByteSource, SourcePiece } from './byte-source.ts';
import { plainSource } from './byte-source.ts';
import type { FileCache } from './cached-download.ts';
import { Download } from './download.ts';
import type { RequestOptions } from './http.ts';
import { requestSize } from './http.ts';

/** How the files of URLs are had; `cache` is undefined where there is none. */
export interface Access {
  request: RequestOptions;
  cache: FileCache | undefined;
}

export async function openSource(
  source: NamedSource,
  { request, cache }: Access,
): Promise<ByteSource> {
  switch (source.kind) {
    case 'blob':
      return streamed(source.blob.stream(), source.blob.size);
    case 'stream':
      return streamed(source.stream, 0);
    case 'url':
      if (isPath(source.url)) return openFile(source.url);
      return cache
        ? cache.openUrl(source.url, request)
        : plainSource(await Download.open(source.url, request));
  }
}

/** Bytes of a file that is not open yet; undefined where they cannot be told without reading it. */
export async function sizeOfSource(
  source: NamedSource,
  { request, cache }: Access,
): Promise<number | undefined> {
  switch (source.kind) {
    case 'blob':
      return source.blob.size;
    case 'stream':
      return undefined;
    case 'url':
      if (isPath(source.url)) return sizeOfFile(source.url);
      return (await cache?.sizeOf(source.url)) ?? requestSize(source.url, request);
  }
}

function streamed(stream: ReadableStream<Uint8Array>, size: number): ByteSource {
  return { size, pieces: read(stream), end: () => Promise.resolve() };
}

async function* read(stream: ReadableStream<Uint8Array>): AsyncGenerator<SourcePiece> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      if (!value) return;
      yield { bytes: value, phase: 'read' };
    }
  } catch (error) {
    throw new KingletError('io', `the model could not be read to its end: ${messageOf(error)}`);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

export function isPath(url: string): boolean {
  return url.startsWith('file:');
}

/** Node only. */
async function openFile(url: string): Promise<ByteSource> {
  const { Readable } = await importNode('stream');
  try {
    const { open } = await importNode('fs/promises');
    const file = await open(new URL(url));
    const { size } = await file.stat();
    const chunks = file.createReadStream({ highWaterMark: 1 << 20 });
    return streamed(Readable.toWeb(chunks) as ReadableStream<Uint8Array>, size);
  } catch (error) {
    throw new KingletError('io', `cannot open ${url}: ${messageOf(error)}`);
  }
}

async function sizeOfFile(url: string): Promise<number | undefined> {
  try {
    const { stat } = await importNode('fs/promises');
    return (await stat(new URL(url))).size;
  } catch {
    return undefined; // opening it will tell what is wrong
  }
}
