// Describes a GGUF file from the header at its beginning, without an engine.
//
// Source of the layout: the GGUF specification (ggml's docs/gguf.md), versions 2 and 3.
import { KingletError, messageOf } from './errors.ts';
import { Cursor, magic, TooShort, valueType } from './gguf-cursor.ts';
import { refuseUnknown } from './options.ts';
import { sourceUrl } from './source.ts';
import { tensorTypes, unreadTensorTypes } from './type-tables.generated.ts';
import type { HubOptions } from './types.ts';

export type MetadataScalar = string | number | boolean;

export interface FileDescription {
  version: number;
  /** The entries in the file's order. Long arrays are cut after their first elements. */
  metadata: MetadataEntry[];
  /** The tensors in the order of their data. */
  tensors: TensorDescription[];
}

export interface MetadataEntry {
  key: string;
  value: MetadataScalar | readonly MetadataScalar[];
  /** The number of elements of an array, including those left out of `value`. */
  length?: number;
}

export interface TensorDescription {
  name: string;
  /** "Q4_0", "F32", … */
  type: string;
  /** The dimensions, with the fastest-varying one first, as in the file. */
  shape: number[];
  /**
   * The tensor's bytes and the padding after them; undefined for the last tensor if the file's size
   * is not known.
   */
  bytes: number | undefined;
}

/**
 * Reads only the header of a GGUF file, and returns the metadata and the list of tensors.
 *
 * @throws {@link KingletError} `not_gguf`, `truncated`, `corrupt`, `network`
 */
export async function inspect(
  source: string | URL | Blob,
  options: HubOptions & { signal?: AbortSignal | undefined } = {},
): Promise<FileDescription> {
  refuseUnknown(options, ['hubBase', 'signal']);
  const { stream, size } = await open(source, options);
  const reader = stream.getReader();
  try {
    let bytes = new Uint8Array(0);
    for (let wanted = 1 << 16; ; wanted *= 2) {
      const chunks = [bytes];
      let length = bytes.length;
      let isEnd = false;
      while (length < wanted && !isEnd) {
        const { value, done } = await reader.read();
        isEnd = done;
        if (value) chunks.push(value as Uint8Array<ArrayBuffer>);
        length += value?.length ?? 0;
      }
      bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
      const found = describe(bytes, size);
      if (found) return found;
      if (isEnd || length > maxHeaderBytes) {
        throw new KingletError('truncated', 'the file ends before its header does');
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The longest headers are those of large vocabularies, a few MB. */
const maxHeaderBytes = 2 ** 26;
const maxShown = 8;
const maxDims = 8;

async function open(
  source: string | URL | Blob,
  options: HubOptions & { signal?: AbortSignal | undefined },
): Promise<{ stream: ReadableStream<Uint8Array>; size: number | undefined }> {
  if (source instanceof Blob) return { stream: source.stream(), size: source.size };
  const url = sourceUrl(source, options);
  const response = await fetch(url, { signal: options.signal ?? null }).catch((error: unknown) => {
    options.signal?.throwIfAborted();
    throw new KingletError('network', `${url}: ${messageOf(error)}`);
  });
  if (!response.ok || !response.body) {
    throw new KingletError('network', `${url}: the server answered ${String(response.status)}`);
  }
  const length = Number(response.headers.get('content-length'));
  return { stream: response.body, size: length || undefined };
}

/** Returns undefined if more bytes are needed. */
function describe(bytes: Uint8Array, size: number | undefined): FileDescription | undefined {
  try {
    return readHeader(new Cursor(bytes), size);
  } catch (error) {
    if (error instanceof TooShort) return undefined;
    throw error;
  }
}

function readHeader(cursor: Cursor, size: number | undefined): FileDescription {
  if (cursor.uint(4) !== magic) {
    throw new KingletError('not_gguf', 'the file does not begin with "GGUF"');
  }
  const version = cursor.uint(4);
  const nTensors = cursor.uint(8);
  const nEntries = cursor.uint(8);
  const metadata: MetadataEntry[] = [];
  for (let i = 0; i < nEntries; ++i) {
    const key = cursor.text();
    metadata.push({ key, ...readValue(cursor, cursor.uint(4)) });
  }
  const tensors: (TensorDescription & { offset: number })[] = [];
  for (let i = 0; i < nTensors; ++i) tensors.push(readTensor(cursor));
  return { version, metadata, tensors: withBytes(tensors, dataStart(cursor.at, metadata), size) };
}

function readValue(cursor: Cursor, type: number): Omit<MetadataEntry, 'key'> {
  if (type !== valueType.array) return { value: readScalar(cursor, type) };
  const elementType = cursor.uint(4);
  const length = cursor.uint(8);
  const value: MetadataScalar[] = [];
  const nShown = Math.min(length, maxShown);
  for (let i = 0; i < nShown; ++i) value.push(readScalar(cursor, elementType));
  cursor.skipValues(elementType, length - nShown);
  return { value, length };
}

function readScalar(cursor: Cursor, type: number): MetadataScalar {
  const signed = (size: number) => {
    const value = cursor.uint(size);
    return value < 2 ** (8 * size - 1) ? value : value - 2 ** (8 * size);
  };
  switch (type) {
    case 0:
      return cursor.uint(1);
    case 1:
      return signed(1);
    case 2:
      return cursor.uint(2);
    case 3:
      return signed(2);
    case 4:
      return cursor.uint(4);
    case 5:
      return signed(4);
    case 6:
      return cursor.float(4);
    case 7:
      return cursor.uint(1) !== 0;
    case 8:
      return cursor.text();
    case 10:
      return cursor.uint(8);
    case 11:
      return signed(8);
    case 12:
      return cursor.float(8);
    default:
      throw new KingletError('corrupt', `metadata of type ${String(type)}, which does not exist`);
  }
}

function readTensor(cursor: Cursor): TensorDescription & { offset: number } {
  const name = cursor.text();
  const nDims = cursor.uint(4);
  if (nDims > maxDims) {
    throw new KingletError('corrupt', `tensor ${name} has ${String(nDims)} dimensions`);
  }
  const shape = Array.from({ length: nDims }, () => cursor.uint(8));
  const number = cursor.uint(4);
  const type = tensorTypes[number] ?? unreadTensorTypes[number] ?? `type ${String(number)}`;
  return {
    ...{ name, shape, type },
    ...{ bytes: undefined, offset: cursor.uint(8) },
  };
}

function dataStart(headerBytes: number, metadata: readonly MetadataEntry[]): number {
  const found = metadata.find(({ key }) => key === 'general.alignment')?.value;
  const alignment = typeof found === 'number' && found > 0 ? found : 32;
  return Math.ceil(headerBytes / alignment) * alignment;
}

/** Each tensor ends where the next one begins, and the last one at the end of the file. */
function withBytes(
  tensors: (TensorDescription & { offset: number })[],
  start: number,
  size: number | undefined,
): TensorDescription[] {
  const ordered = tensors.sort((a, b) => a.offset - b.offset);
  return ordered.map(({ offset, ...tensor }, i) => {
    const end = ordered[i + 1]?.offset ?? (size === undefined ? undefined : size - start);
    return { ...tensor, bytes: end === undefined ? undefined : end - offset };
  });
}
