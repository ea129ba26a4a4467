// Computes the tokens of a prompt, and the pictures that some of the tokens stand for.
import type { EngineImageRows, EngineModel, EngineModule, EngineSession } from '#engine';
import type { VisionPart } from '#vision';
import { markPattern } from '../pictures.ts';
import type { ChatText, Pictures, PostedEncoding, PostedImage } from '../protocol.ts';
import type { ImageProgress } from '../types.ts';
import { encoded } from './lay-out.ts';
import type { PicturePart, PictureReading } from './picture-reading.ts';
import type { Work } from './work.ts';

export interface PromptTokens {
  tokens: Int32Array;
  /** The pictures that must be given to the session. */
  images: EngineImageRows[];
}

export interface PromptReading extends Work {
  engine: EngineModule;
  model: EngineModel;
  pictures: PictureReading;
  /**
   * Pictures that it holds are not computed again. Undefined: compute none, only tokens are needed.
   */
  session: EngineSession | undefined;
  onImage(progress: ImageProgress): void;
}

/** @throws KingletError: those of PictureReading.read(). */
export async function promptTokens(
  content: string | ChatText,
  encoding: PostedEncoding,
  reading: PromptReading,
): Promise<PromptTokens> {
  const { model, session } = reading;
  if (typeof content === 'string' || !content.pictures) {
    return { tokens: encoded(model, content, encoding), images: [] };
  }
  const { images } = content.pictures;
  const pieces = piecesOf(content, content.pictures);
  const joinedWith = async (needsRows: (part: VisionPart) => boolean) =>
    joined(pieces, await readAll(pieces, images, needsRows, reading), encoding, reading);

  // A restored session knows its pictures without their rows. It does not need the rows while the
  // pictures keep their positions.
  const found = new Set(session?.tokens().filter((token) => token < 0));
  const isMissing = (part: VisionPart) => session !== undefined && !isHeld(part, reading);
  const isNew = (part: VisionPart) => !found.has(firstToken(part, reading));
  const first = await joinedWith((part) => isMissing(part) && isNew(part));
  const { nWithoutRows, ...prompt } = first;
  if (!session || nWithoutRows <= session.nKeptOf(prompt.tokens)) return prompt;
  return joinedWith(isMissing);
}

async function readAll(
  pieces: Pieces,
  images: readonly PostedImage[],
  needsRows: (part: VisionPart) => boolean,
  reading: PromptReading,
): Promise<Map<number, PicturePart[]>> {
  const read = new Map<number, PicturePart[]>();
  for (const [i, image] of images.entries()) {
    if (!pieces.includes(i)) continue; // its message was left out
    const work = {
      ...{ id: reading.id, isWanted: () => reading.isWanted(), needsRows },
      onStep: (done: number, total: number) => {
        reading.onImage({ image: i, done, total });
      },
    };
    read.set(i, await reading.pictures.read(image, work));
  }
  return read;
}

/** Returns whether the session has the rows. */
function isHeld(part: VisionPart, reading: PromptReading): boolean {
  return reading.session?.heldImages().includes(firstToken(part, reading)) ?? false;
}

function firstToken(part: VisionPart, { engine }: PromptReading): number {
  return engine.imageTokens(imageOf(part))[0] ?? 0;
}

function imageOf(
  { nRows, width, gridWidth, gridHeight, seesAll, checksum }: VisionPart,
  rows: Float32Array = new Float32Array(),
): EngineImageRows {
  return { rows, nRows, width, gridWidth, gridHeight, seesAll: Boolean(seesAll), checksum };
}

/** Texts for encode(), alternating with the numbers of the pictures between them. */
type Pieces = (string[] | number)[];

function piecesOf({ texts }: ChatText, pictures: Pictures): Pieces {
  const pieces: Pieces = [];
  const pattern = markPattern(pictures);
  let piece: string[] = [];
  for (const [i, text] of texts.entries()) {
    for (const [k, said] of text.split(pattern).entries()) {
      if (k % 2 === 1) {
        pieces.push(piece, Number(said));
        piece = [];
        continue;
      }
      if (piece.length % 2 !== i % 2) piece.push(''); // keeps messages' text at odd indices
      piece.push(said);
    }
  }
  return [...pieces, piece];
}

/** `nWithoutRows`: the tokens up to the last picture whose rows are neither known nor held. */
function joined(
  pieces: Pieces,
  pictures: ReadonlyMap<number, PicturePart[]>,
  { addBos }: PostedEncoding,
  reading: PromptReading,
): PromptTokens & { nWithoutRows: number } {
  const { engine, model } = reading;
  let nTokens = 0;
  let nWithoutRows = 0;
  const lists: Int32Array[] = [];
  const images: EngineImageRows[] = [];
  const add = (tokens: Int32Array) => {
    lists.push(tokens);
    nTokens += tokens.length;
  };
  for (const [i, piece] of pieces.entries()) {
    if (typeof piece !== 'number') {
      const addsBos = addBos && i === 0;
      const isEmpty = piece.every((text) => text === '');
      if (addsBos || !isEmpty) add(model.encode(piece, addsBos, true));
      continue;
    }
    for (const part of pictures.get(piece) ?? []) {
      if (part.nRows === 0) {
        add(model.encode([part.text], false, true));
        continue;
      }
      const image = imageOf(part, part.rows);
      add(engine.imageTokens(image));
      if (!reading.session || isHeld(part, reading)) continue;
      if (part.rows) images.push(image);
      else nWithoutRows = nTokens;
    }
  }
  return { tokens: concatenated(lists), images, nWithoutRows };
}

export function concatenated(lists: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    whole.set(list, at);
    at += list.length;
  }
  return whole;
}
