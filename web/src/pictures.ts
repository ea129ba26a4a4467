// Takes the pictures out of a conversation, because chat templates read only text, and converts
// them to a form that can be posted.
import { isDataUrl } from './data-url.ts';
import { KingletError } from './errors.ts';
import type { Pictures, PostedImage } from './protocol.ts';
import { randomDigits } from './random-digits.ts';
import { fileUrl } from './source.ts';
import type { ChatMessage, ContentPart, ImagePixels, ImageSource } from './types.ts';

/** A message whose content is text. */
export type TextMessage = Omit<ChatMessage, 'content'> & { content: string };

/**
 * Returns the messages with marks in place of the pictures, and the pictures.
 *
 * @throws KingletError `invalid_argument` if a part or a picture is not valid.
 */
export function takePictures(messages: readonly ChatMessage[]): {
  texts: TextMessage[];
  pictures: Pictures | undefined;
} {
  const pictures: Pictures = { mark: `<picture ${randomDigits(16)}>`, images: [] };
  const textOf = (part: ContentPart): string => {
    const given: unknown = part;
    if (typeof given !== 'object' || given === null) throw noPart();
    if (part.type === 'text' && typeof part.text === 'string') return part.text;
    if ((part.type as string) !== 'image' || !('image' in part)) throw noPart();
    pictures.images.push(postedImage(part.image));
    return pictures.mark;
  };
  const texts = messages.map((message) => {
    const { content } = message;
    return {
      ...message,
      content: typeof content === 'string' ? content : (content ?? []).map(textOf).join(''),
    };
  });
  return { texts, pictures: pictures.images.length > 0 ? pictures : undefined };
}

function noPart(): KingletError {
  return new KingletError(
    'invalid_argument',
    "the parts of a message's content must be { type: 'text', text } or { type: 'image', image }",
  );
}

function postedImage(image: ImageSource): PostedImage {
  if (typeof image === 'string' || image instanceof URL) {
    const url = String(image);
    return { kind: 'url', url: isDataUrl(url) ? url : fileUrl(image) };
  }
  if (image instanceof Blob) return { kind: 'file', blob: image };
  if (image instanceof Uint8Array) return { kind: 'file', blob: new Blob([image]) };
  if (typeof ImageBitmap === 'function' && image instanceof ImageBitmap) {
    return { kind: 'bitmap', bitmap: image };
  }
  if (isPixels(image)) return postedPixels(image);
  throw new KingletError(
    'invalid_argument',
    'an image must be a Blob, ImageBitmap, ImageData, URL, Uint8Array of a file, or ' +
      '{ width, height, data }; make one of an element or a video with createImageBitmap()',
  );
}

function isPixels(image: unknown): image is ImagePixels {
  if (typeof image !== 'object' || image === null || !('data' in image)) return false;
  return image.data instanceof Uint8Array || image.data instanceof Uint8ClampedArray;
}

function postedPixels({ width, height, data }: ImagePixels): PostedImage {
  const isSide = (side: unknown) => Number.isInteger(side) && (side as number) > 0;
  const nBytes = isSide(width) && isSide(height) ? data.length / (width * height) : NaN;
  if (nBytes !== 3 && nBytes !== 4) {
    throw new KingletError(
      'invalid_argument',
      `an image of ${String(width)} x ${String(height)} pixels has ${String(data.length)} bytes, ` +
        'expected sides of at least 1, and 3 bytes per pixel (red, green, blue) or 4 (with alpha)',
    );
  }
  // A view would be posted with its whole buffer.
  const { buffer, byteOffset, byteLength } = data;
  const isWhole = byteLength === buffer.byteLength;
  const bytes = isWhole ? new Uint8Array(buffer, byteOffset, byteLength) : Uint8Array.from(data);
  return { kind: 'pixels', width, height, data: bytes };
}
