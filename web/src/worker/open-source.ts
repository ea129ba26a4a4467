// Opens posted sources.
import { KingletError, messageOf } from '../errors.ts';
import type { NamedSource } from '../protocol.ts';
import { importNode } from '../runtime.ts';
import type { ByteSource, SourcePiece } from './byte-source.ts';
import { plainSource } from './byte-source.ts';
import type { FileCache } from './cached-download.ts';
import { Download } from './download.ts';
import type { RequestOptions } from './http.ts';
import { requestSize } from './http.ts';
import { blobReader, storedFile } from './stored-file.ts';

/** How to access files by URL. `cache` is undefined if there is none. */
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
      return openBlob(source.blob);
    case 'stream':
      return { size: 0, pieces: read(source.stream), end: () => Promise.resolve() };
    case 'url':
      if (isPath(source.url)) return openFile(source.url);
      return cache
        ? cache.openUrl(source.url, request)
        : plainSource(await Download.open(source.url, request));
  }
}

/** Returns the size of a file; undefined if that is not known without reading the file. */
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

function openBlob(blob: Blob): ByteSource {
  const reader = blobReader(blob);
  return {
    ...fromPlaces(blob.size, (at) => blob.slice(at).stream()),
    stored: reader && {
      isKept: () => true,
      open: () => Promise.resolve(storedFile(reader)),
    },
  };
}

/** `openAt` returns the bytes from position `at` on. */
function fromPlaces(
  size: number,
  openAt: (at: number) => ReadableStream<Uint8Array>,
): ByteSource & { skip: (bytes: number) => void } {
  let at = 0;
  let opened = -1;
  async function* pieces(): AsyncGenerator<SourcePiece> {
    while (opened !== at) {
      opened = at;
      for await (const piece of read(openAt(at))) {
        const next = at + piece.bytes.length;
        opened = at = next;
        yield piece;
        if (at !== next) break; // bytes were skipped
      }
    }
  }
  const skip = (bytes: number) => {
    at += bytes;
  };
  return { size, pieces: pieces(), end: () => Promise.resolve(), skip };
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
    throw new KingletError('io', `the model could not be read to the end: ${messageOf(error)}`);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

export function isPath(url: string): boolean {
  return url.startsWith('file:');
}

/** Only for Node. */
async function openFile(url: string): Promise<ByteSource> {
  const { Readable } = await importNode('stream');
  try {
    const files = await importNode('fs/promises');
    const file = await files.open(new URL(url));
    const stat = await file.stat();
    await file.close();
    if (stat.isDirectory()) throw new Error('it is a folder');
    const { size } = stat;
    const { createReadStream, openSync, readSync, closeSync } = await importNode('fs');
    const openAt = (start: number) => {
      const chunks = createReadStream(new URL(url), { start, highWaterMark: 1 << 20 });
      return Readable.toWeb(chunks) as ReadableStream<Uint8Array>;
    };
    const open = () => {
      const descriptor = openSync(new URL(url), 'r');
      return storedFile(
        (target, at) => readSync(descriptor, target, 0, target.length, at),
        () => {
          closeSync(descriptor);
        },
      );
    };
    const stored = { isKept: () => true, open: () => Promise.resolve().then(open) };
    return { ...fromPlaces(size, openAt), stored };
  } catch (error) {
    throw new KingletError('io', `cannot open ${url}: ${messageOf(error)}`);
  }
}

async function sizeOfFile(url: string): Promise<number | undefined> {
  try {
    const { stat } = await importNode('fs/promises');
    return (await stat(new URL(url))).size;
  } catch {
    return undefined; // opening the file will report the error
  }
}
