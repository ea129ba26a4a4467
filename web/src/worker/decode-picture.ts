// Decodes a posted picture to pixels of red, green and blue. Transparent parts become white.
import { dataOfUrl, isDataUrl } from '../data-url.ts';
import { KingletError, messageOf } from '../errors.ts';
import type { PostedImage } from '../protocol.ts';
import { importNode, importOptional } from '../runtime.ts';
import type { RequestOptions } from './http.ts';
import { requestFile } from './http.ts';
import { isPath } from './open-source.ts';
import { checkedFormat, checkSize } from './picture-file.ts';

/** The bytes of a file, or pixels that need no decoding. */
export type PictureData = Uint8Array<ArrayBuffer> | Exclude<PostedImage, { kind: 'file' | 'url' }>;

export interface DecodedPicture {
  width: number;
  height: number;
  /** Writes [height][width][3]. */
  write: (rgb: Uint8Array) => void;
}

const maxFileBytes = 2 ** 28;

/** @throws KingletError: those of a request, io, invalid_argument. */
export async function pictureData(
  image: PostedImage,
  request: RequestOptions,
): Promise<PictureData> {
  if (image.kind === 'file') return bytesOf(image.blob.stream(), 'the image');
  if (image.kind !== 'url') return image;
  const { url } = image;
  if (isDataUrl(url)) return dataOfUrl(url);
  if (isPath(url)) return dataOfFile(url);
  try {
    const response = await requestFile(url, request, 0);
    return await bytesOf(response?.body ?? new Blob().stream(), url);
  } catch (error) {
    if (!(error instanceof KingletError) || error.code !== 'not_gguf') throw error;
    throw new KingletError('invalid_argument', `${url} is a web page, not a picture`);
  }
}

async function bytesOf(
  stream: ReadableStream<Uint8Array>,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let nBytes = 0;
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); next.value; next = await reader.read()) {
      pieces.push(next.value.slice());
      nBytes += next.value.length;
      if (nBytes > maxFileBytes) {
        const most = `${String(maxFileBytes)} bytes`;
        throw new KingletError('invalid_argument', `${name} has more than ${most}`);
      }
    }
  } catch (error) {
    if (error instanceof KingletError) throw error;
    throw new KingletError('io', `${name} could not be read to the end: ${messageOf(error)}`);
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Only for Node. */
async function dataOfFile(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const { readFile } = await importNode('fs/promises');
  try {
    return new Uint8Array(await readFile(new URL(url)));
  } catch (error) {
    throw new KingletError('io', `cannot read ${url}: ${messageOf(error)}`);
  }
}

/** @throws KingletError: invalid_argument (corrupt, too large), unsupported_environment. */
export async function decodePicture(data: PictureData): Promise<DecodedPicture> {
  if (!(data instanceof Uint8Array)) {
    return data.kind === 'pixels' ? ofPixels(data) : ofBitmap(data.bitmap);
  }
  const format = checkedFormat(data);
  const name = format.toUpperCase();
  try {
    if (typeof createImageBitmap !== 'function') return await decodeInNode(data, name);
    const options = { imageOrientation: 'from-image' } as const;
    return ofBitmap(
      await createImageBitmap(new Blob([data], { type: `image/${format}` }), options),
    );
  } catch (error) {
    if (error instanceof KingletError) throw error;
    const message = `the image is a ${name} that cannot be read, perhaps damaged or cut off`;
    throw new KingletError('invalid_argument', `${message}: ${messageOf(error)}`);
  }
}

type Pixels = Pick<Extract<PostedImage, { kind: 'pixels' }>, 'width' | 'height' | 'data'>;

function ofPixels({ width, height, data }: Pixels): DecodedPicture {
  checkSize(width, height);
  const nChannels = data.length / (width * height);
  const write = (rgb: Uint8Array) => {
    if (nChannels === 3) {
      rgb.set(data);
      return;
    }
    for (let from = 0, to = 0; from < data.length; from += 4, to += 3) {
      const alpha = data[from + 3] ?? 0;
      const white = 255 * (255 - alpha) + 127; // 127 rounds to the nearest
      for (let c = 0; c < 3; ++c) {
        rgb[to + c] = Math.floor(((data[from + c] ?? 0) * alpha + white) / 255);
      }
    }
  };
  return { width, height, write };
}

/** Large pictures are read in blocks, because some browsers refuse large canvases. */
const blockSide = 1024;

function ofBitmap(bitmap: ImageBitmap): DecodedPicture {
  const { width, height } = bitmap;
  if (width === 0) {
    throw new KingletError('invalid_argument', 'the image is an ImageBitmap that was closed');
  }
  checkSize(width, height);
  const write = (rgb: Uint8Array) => {
    const canvas = new OffscreenCanvas(Math.min(width, blockSide), Math.min(height, blockSide));
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context)
      throw new KingletError('unsupported_environment', 'this browser has no canvas in workers');
    context.fillStyle = 'white';
    for (let y = 0; y < height; y += blockSide) {
      for (let x = 0; x < width; x += blockSide) {
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.drawImage(bitmap, -x, -y);
        const [nColumns, nLines] = [
          Math.min(blockSide, width - x),
          Math.min(blockSide, height - y),
        ];
        const { data } = context.getImageData(0, 0, nColumns, nLines);
        for (let line = 0, from = 0; line < nLines; ++line) {
          let to = 3 * ((y + line) * width + x);
          for (const end = from + 4 * nColumns; from < end; from += 4, to += 3) {
            rgb[to] = data[from] ?? 0;
            rgb[to + 1] = data[from + 1] ?? 0;
            rgb[to + 2] = data[from + 2] ?? 0;
          }
        }
      }
    }
  };
  return { width, height, write };
}

/** The part of the package `sharp` that is used. */
interface Sharp {
  rotate(): Sharp;
  flatten(options: { background: string }): Sharp;
  toColourspace(space: string): Sharp;
  raw(): Sharp;
  toBuffer(options: { resolveWithObject: true }): Promise<{
    data: Uint8Array;
    info: { width: number; height: number; channels: number };
  }>;
}

async function decodeInNode(file: Uint8Array, name: string): Promise<DecodedPicture> {
  let sharp: (file: Uint8Array) => Sharp;
  try {
    ({ default: sharp } = await importOptional<{ default: typeof sharp }>('sharp'));
  } catch {
    throw new KingletError(
      'unsupported_environment',
      `the image is a ${name}, which Node decodes with the package sharp: install it, or pass ` +
        'pixels ({ width, height, data })',
    );
  }
  const { data, info } = await sharp(file)
    .rotate() // applies the file's orientation
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels === 3) return ofPixels({ width, height, data });
  // The picture is gray.
  return {
    ...{ width, height },
    write: (rgb) => {
      for (let i = 0; i < width * height; ++i) rgb.fill(data[i * channels] ?? 0, 3 * i, 3 * i + 3);
    },
  };
}
