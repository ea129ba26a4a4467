// Reads a picture's format, and for PNG and JPEG its size, from the first bytes of its file, before
// it is decoded.
// Sources: PNG (section 5.3, 11.2.2), ITU T.81 (B.2.2), GIF89a, RFC 9649, ISO 23008-12.
import { KingletError } from '../errors.ts';
import { maxPicturePixels, maxPictureSide } from '../option-tables.generated.ts';

export type PictureFormat = 'png' | 'jpeg' | 'webp' | 'avif' | 'bmp';

/** @throws KingletError: invalid_argument for an unknown format or too many pixels. */
export function checkedFormat(file: Uint8Array): PictureFormat {
  const format = formatOf(file);
  const size = format === 'png' ? pngSize(file) : format === 'jpeg' ? jpegSize(file) : undefined;
  if (size) checkSize(size.width, size.height);
  return format;
}

/** @throws KingletError: invalid_argument. */
export function checkSize(width: number, height: number): void {
  const isRight =
    [width, height].every((side) => side > 0 && side <= maxPictureSide) &&
    width * height <= maxPicturePixels;
  if (isRight) return;
  throw new KingletError(
    'invalid_argument',
    `the picture is ${String(width)} x ${String(height)} pixels, expected sides of 1 to ` +
      `${String(maxPictureSide)} and at most ${String(maxPicturePixels)} pixels: scale it down first`,
  );
}

function formatOf(file: Uint8Array): PictureFormat {
  const start = String.fromCharCode(...file.subarray(0, 12));
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (/^RIFF[^]{4}WEBP/.test(start)) return 'webp';
  if (/^[^]{4}ftypavi[fs]/.test(start)) return 'avif';
  if (start.startsWith('BM')) return 'bmp';
  const what = /^GIF8[79]a/.test(start)
    ? 'is a GIF, and a model can see only one of its frames: pass that frame'
    : 'is not in a supported format: pass it';
  throw new KingletError('invalid_argument', `the image ${what} as PNG or JPEG`);
}

interface PictureSize {
  width: number;
  height: number;
}

function pngSize(file: Uint8Array): PictureSize | undefined {
  if (file.length < 24) return undefined;
  const header = new DataView(file.buffer, file.byteOffset);
  return { width: header.getUint32(16), height: header.getUint32(20) };
}

/** Goes from marker to marker until it finds the start of a frame. */
function jpegSize(file: Uint8Array): PictureSize | undefined {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  for (let at = 2; at + 9 <= file.length; at += 2 + view.getUint16(at + 2)) {
    while (at + 9 < file.length && view.getUint8(at + 1) === 0xff) ++at; // padding
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || marker === 0xda) return undefined;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return undefined;
}
