// From a posted source to its bytes.
import { KingletError, messageOf } from '../errors.ts';
import type { PostedSource } from '../protocol.ts';
import type { LoadPhase } from '../types.ts';
import { Download } from './download.ts';
import type { RequestOptions } from './http.ts';
import { requestSize } from './http.ts';

/** A file that is open. */
export interface ByteSource {
  /** Bytes of the file; 0 where the source does not tell. */
  size: number;
  /** From the first byte to the last; each piece is valid until the next one is asked for. */
  pieces: AsyncIterable<SourcePiece>;
}

export interface SourcePiece {
  bytes: Uint8Array;
  phase: LoadPhase;
}

export async function openSource(
  source: PostedSource,
  request: RequestOptions,
): Promise<ByteSource> {
  switch (source.kind) {
    case 'blob':
      return { size: source.blob.size, pieces: read(source.blob.stream()) };
    case 'stream':
      return { size: 0, pieces: read(source.stream) };
    case 'url':
      return isPath(source.url) ? openFile(source.url) : openUrl(source.url, request);
  }
}

/** Bytes of a file that is not open yet; undefined where they cannot be told without reading it. */
export async function sizeOfSource(
  source: PostedSource,
  request: RequestOptions,
): Promise<number | undefined> {
  switch (source.kind) {
    case 'blob':
      return source.blob.size;
    case 'stream':
      return undefined;
    case 'url':
      return isPath(source.url) ? sizeOfFile(source.url) : requestSize(source.url, request);
  }
}

async function openUrl(url: string, request: RequestOptions): Promise<ByteSource> {
  const download = await Download.open(url, request);
  return { size: download.version.size ?? 0, pieces: labelled(download.pieces()) };
}

async function* labelled(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<SourcePiece> {
  for await (const bytes of pieces) yield { bytes, phase: 'download' };
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

function isPath(url: string): boolean {
  return url.startsWith('file:');
}

/** Node only. */
async function openFile(url: string): Promise<ByteSource> {
  // Named indirectly so that bundlers leave Node's modules alone.
  const name = 'node:stream';
  const { Readable } = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  )) as typeof import('node:stream');
  try {
    const file = await (await files()).open(new URL(url));
    const { size } = await file.stat();
    const chunks = file.createReadStream({ highWaterMark: 1 << 20 });
    return { size, pieces: read(Readable.toWeb(chunks) as ReadableStream<Uint8Array>) };
  } catch (error) {
    throw new KingletError('io', `cannot open ${url}: ${messageOf(error)}`);
  }
}

async function sizeOfFile(url: string): Promise<number | undefined> {
  try {
    return (await (await files()).stat(new URL(url))).size;
  } catch {
    return undefined; // opening it will tell what is wrong
  }
}

async function files(): Promise<typeof import('node:fs/promises')> {
  const name = 'node:fs/promises';
  return (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  )) as typeof import('node:fs/promises');
}
