// Reads pictures for a text model, and remembers the results.
import type { VisionPart, VisionReader } from '#vision';
import { isDataUrl } from '../data-url.ts';
import { KingletError } from '../errors.ts';
import type { PostedImage } from '../protocol.ts';
import type { ImageReaderInfo } from '../types.ts';
import type { DecodedPicture, PictureData } from './decode-picture.ts';
import { decodePicture, pictureData } from './decode-picture.ts';
import { unwrap } from './engine-error.ts';
import type { RequestOptions } from './http.ts';
import type { LoadedVision } from './load-vision.ts';
import type { Work } from './work.ts';
import { checkWanted } from './work.ts';
import { yieldToMessages } from './yield.ts';

/** A part of a picture: either a text or rows. */
export interface PicturePart extends VisionPart {
  /** [nRows][width]; undefined for a text, and while nobody needed the rows. */
  rows: Float32Array | undefined;
}

export interface PictureWork extends Work {
  /** Whether the rows must be computed if they are not known. */
  needsRows: boolean;
  onStep(done: number, total: number): void;
}

interface BegunPicture {
  image: PostedImage;
  key: string;
  /** Of the work that can end it. */
  id: number;
  reader: VisionReader;
  /** The number of steps. */
  total: number;
  found: VisionPart[];
}

/** The most bytes of rows to remember. The last picture is remembered in any case. */
const maxKeptBytes = 2 ** 26;

export class PictureReading {
  /** Throws if the model cannot have a picture reader. */
  readonly #check: () => void;
  readonly #load: (work: Work) => Promise<LoadedVision>;
  readonly #request: RequestOptions;
  #loaded: LoadedVision | undefined;
  /** The remembered parts by the key of the picture's data. The last used picture is at the end. */
  readonly #kept = new Map<string, PicturePart[]>();
  /** The key of the data that was found at each URL. */
  readonly #keyOfUrl = new Map<string, string>();
  /** What was fetched of pictures whose rows are not computed yet. */
  readonly #dataOf = new WeakMap<PostedImage, PictureData>();
  /** The picture that the reader knows, if nothing of it is computed yet. */
  #begun: BegunPicture | undefined;
  /** Settles when the earlier pictures are read: the reader reads one picture at a time. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(
    check: () => void,
    load: (work: Work) => Promise<LoadedVision>,
    request: RequestOptions,
  ) {
    this.#check = check;
    this.#load = load;
    this.#request = request;
  }

  /** Loads the picture reader. */
  async open(work: Work): Promise<ImageReaderInfo> {
    const { module, reader } = (this.#loaded ??= await this.#load(work));
    const { name, projector, weightBytes } = reader.info();
    return { name, projector, weightBytes, heapBytes: module.HEAPU8.length };
  }

  /**
   * @throws KingletError: those of a load and of pictureData(); invalid_argument (a picture that
   * cannot be read); cancelled.
   */
  read(image: PostedImage, work: PictureWork): Promise<PicturePart[]> {
    const done = this.#tail.then(() => this.#read(image, work));
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #read(image: PostedImage, work: PictureWork): Promise<PicturePart[]> {
    checkWanted(work);
    this.#check(); // before anything is fetched
    const begun = this.#begun;
    if (work.needsRows && begun?.image === image && begun.id === work.id) {
      return this.#compute(begun, work);
    }
    const url = image.kind === 'url' && !isDataUrl(image.url) ? image.url : undefined;
    const known = this.#keptFor(url && this.#keyOfUrl.get(url), work);
    if (known) return known;
    const data = this.#dataOf.get(image) ?? (await pictureData(image, this.#request));
    this.#dataOf.set(image, data);
    const key = await keyOf(data);
    if (url && key) this.#keyOfUrl.set(url, key);
    const same = this.#keptFor(key, work);
    if (same) return same;
    const picture = await decodePicture(data);
    this.#loaded ??= await this.#load(work);
    return this.#begin(this.#loaded, image, picture, key, work);
  }

  /** Returns the remembered parts, if they have all rows that are needed. */
  #keptFor(key: string | undefined, { needsRows }: PictureWork): PicturePart[] | undefined {
    const parts = key === undefined ? undefined : this.#kept.get(key);
    if (key === undefined || (needsRows && parts?.some(isUnknown))) return undefined;
    if (parts) this.#keep(key, parts);
    return parts;
  }

  async #begin(
    { module, reader }: LoadedVision,
    image: PostedImage,
    { width, height, write }: DecodedPicture,
    keyOfData: string | undefined,
    work: PictureWork,
  ): Promise<PicturePart[]> {
    const nBytes = 3 * width * height;
    this.#begun = undefined;
    const address = unwrap(reader.reserve(width, height));
    write(module.HEAPU8.subarray(address, address + nBytes));
    const total = unwrap(reader.begin(work.id));
    const found = reader.parts();
    const key = keyOfData ?? found.map(({ checksum }) => checksum).join();
    this.#begun = { image, key, id: work.id, reader, total, found };
    const known = this.#keptFor(key, work);
    if (known) return known;
    if (work.needsRows) return this.#compute(this.#begun, work);
    return this.#keep(key, found.map(withoutRows));
  }

  async #compute(
    { image, key, reader, total, found }: BegunPicture,
    work: PictureWork,
  ): Promise<PicturePart[]> {
    this.#begun = undefined;
    this.#dataOf.delete(image);
    for (let left = total; left > 0;) {
      work.onStep(total - left, total);
      await yieldToMessages();
      checkWanted(work);
      left = unwrap(reader.advance());
    }
    work.onStep(total, total);
    const parts = found.map((part, i) =>
      part.nRows > 0 ? { ...part, rows: unwrap(reader.rows(i)).slice() } : withoutRows(part),
    );
    return this.#keep(key, parts);
  }

  #keep(key: string, parts: PicturePart[]): PicturePart[] {
    this.#kept.delete(key);
    this.#kept.set(key, parts);
    let nBytes = [...this.#kept.values()].reduce((sum, kept) => sum + bytesOf(kept), 0);
    for (const [oldest, kept] of this.#kept) {
      if (nBytes <= maxKeptBytes || oldest === key) break;
      this.#kept.delete(oldest);
      nBytes -= bytesOf(kept);
    }
    return parts;
  }
}

function isUnknown({ nRows, rows }: PicturePart): boolean {
  return nRows > 0 && rows === undefined;
}

function withoutRows(part: VisionPart): PicturePart {
  return { ...part, rows: undefined };
}

function bytesOf(parts: PicturePart[]): number {
  return parts.reduce((sum, { rows }) => sum + (rows?.byteLength ?? 0), 0);
}

/** Returns undefined for a bitmap, and in pages without HTTPS, where browsers have no digests. */
async function keyOf(data: PictureData): Promise<string | undefined> {
  const subtle = (crypto as Partial<Crypto>).subtle;
  if (!subtle || (!(data instanceof Uint8Array) && data.kind === 'bitmap')) return undefined;
  const [bytes, size] =
    data instanceof Uint8Array ? [data, ''] : [data.data, `${String(data.width)} `];
  const digest = await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return size + new Uint8Array(digest).join();
}

/** Returns the error for a model that was loaded without a reader, and not from the hub. */
export function noReader(): KingletError {
  return new KingletError(
    'invalid_argument',
    'the messages have a picture, but no picture reader was loaded: set the option mmproj of ' +
      'Kinglet.load() to the file of the model whose name contains "mmproj"',
  );
}
