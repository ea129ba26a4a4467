// The pictures of conversations: their parts are in the prompt, and a session needs their rows.
import type { EnginePicturePart, EngineSession } from '#engine';
import { isConversation } from '../conversation.ts';
import type { PostedImage, PostedPrompt } from '../protocol.ts';
import type { ImageProgress } from '../types.ts';
import type { PicturePart, PictureReading } from './picture-reading.ts';
import type { Work } from './work.ts';

export interface PictureUse extends Work {
  pictures: PictureReading;
  onImage: (progress: ImageProgress) => void;
}

/**
 * Returns the parts of each picture, without rows.
 *
 * @throws KingletError: those of PictureReading.read().
 */
export async function partsOf(
  images: readonly PostedImage[],
  use: PictureUse,
): Promise<EnginePicturePart[][]> {
  const parts: EnginePicturePart[][] = [];
  for (const [i, image] of images.entries())
    parts.push((await read(image, i, false, use)).map(forEngine));
  return parts;
}

/** Gives the session the rows of the pictures with these indices. */
export async function giveRows(
  session: EngineSession,
  images: readonly PostedImage[],
  missing: Uint32Array,
  use: PictureUse,
): Promise<void> {
  const given: PicturePart[] = [];
  for (const [i, image] of images.entries()) {
    if (missing.includes(i)) given.push(...(await read(image, i, true, use)));
  }
  for (const part of given) if (part.rows) session.giveImage(forEngine(part));
}

/** Frees the pixels of a prompt's bitmaps, which are not read any more. */
export function closeBitmaps(content: PostedPrompt['content']): void {
  const pictures = isConversation(content) ? content.pictures : undefined;
  for (const image of pictures?.images ?? []) if (image.kind === 'bitmap') image.bitmap.close();
}

function read(
  image: PostedImage,
  index: number,
  needsRows: boolean,
  { pictures, onImage, ...work }: PictureUse,
): Promise<PicturePart[]> {
  const onStep = (done: number, total: number) => {
    onImage({ image: index, done, total });
  };
  return pictures.read(image, { ...work, needsRows, onStep });
}

function forEngine(part: PicturePart): EnginePicturePart {
  return { ...part, seesAll: Boolean(part.seesAll), rows: part.rows ?? new Float32Array() };
}
