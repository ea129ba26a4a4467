// Answers requests of OpenAI's API. The engine reads them and writes their answers.
import type { EngineRefusal, EngineRequest, EngineSession } from '#engine';
import { KingletError } from '../errors.ts';
import type { PostedImage, PostedRequest } from '../protocol.ts';
import { BatchPace } from './batch-pace.ts';
import { encodeTokens } from './encode-texts.ts';
import { unwrap } from './engine-error.ts';
import type { PicturePart } from './picture-reading.ts';
import type { LoadedModel } from './run-generation.ts';
import { yieldToMessages } from './yield.ts';

/** `body` is empty if the answer was a stream. */
export interface WholeAnswer {
  status: number;
  body: string;
}

/** Writes an answer in a session. `isWanted` may throw. */
type TurnWork = (session: EngineSession, isWanted: () => boolean) => Promise<WholeAnswer>;

export interface RequestRun extends LoadedModel {
  id: number;
  request: PostedRequest;
  /** The most positions of a prompt and its answer. */
  nCtx: number;
  /** Returns whether to continue. */
  isWanted: () => boolean;
  /** Does the work when the session is free. */
  inTurn: (work: TurnWork) => Promise<WholeAnswer>;
  onEvents: (events: string) => void;
}

/** @throws KingletError of pictures, or because the session was closed. All others are answers. */
export async function answerRequest(run: RequestRun): Promise<WholeAnswer> {
  const read = await readRequest(run);
  if ('status' in read) return read;
  try {
    const texts = read.texts();
    if (texts.length > 0) return await answerEncoded(run, read, texts);
    if (read.isDone()) return { status: 200, body: read.answer() };
    return await run.inTurn((session, isWanted) => answerText(run, read, session, isWanted));
  } finally {
    read.delete();
  }
}

/** Reads the request, and its pictures if it has any. */
async function readRequest(run: RequestRun): Promise<EngineRequest | WholeAnswer> {
  const read = (pictures: PicturePart[][]) =>
    run.api().read({
      ...{ ...run.request, nCtx: run.nCtx, id: run.id },
      pictures: pictures.map(withRows),
    });
  const first = read([]);
  if (first.refusal) return first.refusal;
  const urls = first.value.pictures();
  if (urls.length === 0) return first.value;
  first.value.delete();
  const pictures: PicturePart[][] = [];
  for (const url of urls) pictures.push(await readPicture(run, url));
  const whole = read(pictures);
  return whole.refusal ?? whole.value;
}

/** Paths and file: URLs are refused, because messages may come from other people. */
function readPicture({ pictures, id, isWanted }: RequestRun, url: string): Promise<PicturePart[]> {
  if (!/^\s*(https?|data):/i.test(url)) {
    const message = 'the url of an image_url must begin with "https:", "http:" or "data:"';
    throw new KingletError('invalid_argument', message);
  }
  const image: PostedImage = { kind: 'url', url: url.trim() };
  return pictures.read(image, { id, isWanted, needsRows: () => true, onStep: () => undefined });
}

function withRows(parts: PicturePart[]) {
  return parts.map((part) => ({
    ...part,
    seesAll: Boolean(part.seesAll),
    rows: part.rows ?? new Float32Array(),
  }));
}

async function answerEncoded(
  { model, id, isWanted }: RequestRun,
  request: EngineRequest,
  texts: Int32Array[],
): Promise<WholeAnswer> {
  const work = { id, isWanted, onProgress: () => undefined };
  const rows = await encodeTokens(model, texts, request.pooling(), work);
  return { status: 200, body: request.answerWith(rows) };
}

/** Writes the answer's choices, one after the other. */
async function answerText(
  { id, onEvents }: RequestRun,
  request: EngineRequest,
  session: EngineSession,
  isWanted: () => boolean,
): Promise<WholeAnswer> {
  const sent = { events: false };
  const send = (events: string) => {
    if (events === '') return;
    sent.events = true;
    onEvents(events);
  };
  while (!request.isDone()) {
    const refusal = await writeChoice(id, request, session, isWanted, send);
    if (!refusal) continue;
    if (!sent.events) return { status: refusal.status, body: refusal.body };
    send(refusal.event);
    return { status: 200, body: '' };
  }
  send(request.lastEvents());
  return { status: 200, body: request.isStream() ? '' : request.answer() };
}

/** Nobody reads this answer. */
const cancelled: EngineRefusal = { status: 499, body: '', event: '' };

/** Returns why the choice is not whole. An error of its first step comes before all events. */
async function writeChoice(
  id: number,
  request: EngineRequest,
  session: EngineSession,
  isWanted: () => boolean,
  send: (events: string) => void,
): Promise<EngineRefusal | undefined> {
  const begun = request.beginChoice(session, id);
  if (begun.refusal) return begun.refusal;
  let events = begun.value;
  const pace = new BatchPace(session.nBatch());
  for (;;) {
    if (!isWanted()) {
      unwrap(session.cancel());
      return cancelled;
    }
    const startedAt = performance.now();
    const step = request.step(session, pace.size);
    if (step.refusal) return step.refusal;
    const { isPrompt, nComputed, isLast } = step.value;
    events += step.value.events;
    if (isPrompt) {
      pace.took(nComputed, performance.now() - startedAt);
    } else {
      send(events);
      events = '';
    }
    if (isLast) return undefined;
    await yieldToMessages();
  }
}
