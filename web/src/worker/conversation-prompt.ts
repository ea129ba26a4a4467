// Makes the prompt of a conversation. The engine lays it out; its pictures are read here.
import type {
  EngineApi,
  EngineImageRows,
  EngineModule,
  EnginePrompt,
  EngineSession,
} from '#engine';
import type { VisionPart } from '#vision';
import type { Conversation, PostedImage } from '../protocol.ts';
import type { ImageProgress, OnFull } from '../types.ts';
import { unwrap } from './engine-error.ts';
import type { PicturePart, PictureReading } from './picture-reading.ts';
import type { Work } from './work.ts';

export interface ConversationPrompt extends EnginePrompt {
  /** The pictures that must be given to the session. */
  images: EngineImageRows[];
}

/** How a prompt is made for the place where it is used. */
export interface PromptPlan {
  onFull: OnFull;
  nCtx: number;
  maxTokens: number;
  addBos: boolean;
  prefix: Int32Array;
}

export interface PromptReading extends Work {
  engine: EngineModule;
  api: EngineApi;
  pictures: PictureReading;
  /** Undefined: only tokens are needed, and no picture is computed. */
  session: EngineSession | undefined;
  onImage(progress: ImageProgress): void;
}

/** @throws KingletError: those of PictureReading.read(), and of the chat template. */
export async function conversationPrompt(
  { pictures, saidLast = '', isRequest = false, ...conversation }: Conversation,
  plan: PromptPlan,
  reading: PromptReading,
): Promise<ConversationPrompt> {
  const { images = [], mark: pictureMark = '' } = pictures ?? {};
  const { isMissing, isNew } = neededRows(reading);
  const all = [...images.entries()];
  // Messages that are left out need no rows. Which they are, the engine says.
  const first = await readAll(all, plan.onFull === 'error' ? isNew : () => false, reading);
  const prompt = unwrap(
    reading.api.makePrompt({
      ...{ ...conversation, saidLast, isRequest, ...plan, pictureMark, id: reading.id },
      pictures: first.map((parts) => parts.map((part) => ({ ...imageOf(part), text: part.text }))),
    }),
  );
  const { session } = reading;
  if (!session || images.length === 0) return { ...prompt, images: [] };
  const place = (part: VisionPart) =>
    part.nRows > 0 ? prompt.tokens.lastIndexOf(firstToken(part, reading)) : -1;
  // A restored session knows its pictures without their rows. It does not need the rows while the
  // pictures keep their positions.
  const nStay = session.commonPrefix(prompt.tokens);
  const hasMoved = (part: VisionPart) => place(part) >= 0 && place(part) + part.nRows > nStay;
  const needsAll = first.flat().some((part) => isMissing(part) && !isNew(part) && hasMoved(part));
  const isKept = ([i]: [number, PostedImage]) => first[i]?.some((part) => place(part) >= 0);
  const read =
    plan.onFull === 'error' && !needsAll
      ? first
      : await readAll(all.filter(isKept), needsAll ? isMissing : isNew, reading);
  const given = read.flat().filter((part) => part.rows && isMissing(part));
  return { ...prompt, images: given.map((part) => imageOf(part, part.rows)) };
}

/** Returns which parts lack their rows in the session: all, and those that it never had. */
function neededRows(reading: PromptReading) {
  const { session } = reading;
  const held = new Set(session?.heldImages());
  const known = new Set(session?.tokens().filter((token) => token < 0));
  const isMissing = (part: VisionPart) =>
    session !== undefined && !held.has(firstToken(part, reading));
  const isNew = (part: VisionPart) => isMissing(part) && !known.has(firstToken(part, reading));
  return { isMissing, isNew };
}

/** Returns the parts of each picture. Each has its number. */
async function readAll(
  images: readonly [number, PostedImage][],
  needsRows: (part: VisionPart) => boolean,
  reading: PromptReading,
): Promise<PicturePart[][]> {
  const read: PicturePart[][] = [];
  for (const [image, posted] of images) {
    const work = {
      ...{ id: reading.id, isWanted: () => reading.isWanted(), needsRows },
      onStep: (done: number, total: number) => {
        reading.onImage({ image, done, total });
      },
    };
    read.push(await reading.pictures.read(posted, work));
  }
  return read;
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
