// Answers requests of OpenAI's API. The engine reads them and writes their answers.
import type { EngineAnswered, EngineRequest, EngineRequestEvent, EngineSession } from '#engine';
import { KingletError } from '../errors.ts';
import type { PostedImage, PostedRequest } from '../protocol.ts';
import { giveRows, partsOf } from './conversation-pictures.ts';
import type { LoadedModel } from './run-generation.ts';

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
  const { value: request, refusal } = run.model.newRequest({
    ...{ ...run.request, nCtx: run.nCtx, id: run.id },
  });
  if (refusal) return refusal;
  try {
    const images = request.pictures().map(imageAt);
    const use = { ...run, onImage: () => undefined };
    if (images.length > 0) {
      const read = request.read(await partsOf(images, use));
      if (read.refusal) return read.refusal;
    }
    if (request.isDone()) return { status: 200, body: request.answer() };
    if (request.isEncoding()) return await answer(run, request, undefined, () => run.isWanted());
    return await run.inTurn(async (session, isWanted) => {
      if (images.length > 0) {
        await giveRows(session, images, request.missingPictures(session), { ...use, isWanted });
      }
      await run.prompts.restore(session, () => request.storedPrompt(session));
      return answer(run, request, session, isWanted);
    });
  } finally {
    request.delete();
  }
}

/** Paths and file: URLs are refused, because messages may come from other people. */
function imageAt(url: string): PostedImage {
  if (/^\s*(https?|data):/i.test(url)) return { kind: 'url', url: url.trim() };
  const message = 'the url of an image_url must begin with "https:", "http:" or "data:"';
  throw new KingletError('invalid_argument', message);
}

/** Computes vectors or scores, or writes the answer's choices, one after the other. */
async function answer(
  { id, model, loop, onEvents }: RequestRun,
  request: EngineRequest,
  session: EngineSession | undefined,
  isWanted: () => boolean,
): Promise<WholeAnswer> {
  const sent = { events: false };
  const send = (events: string) => {
    if (events === '') return;
    sent.events = true;
    onEvents(events);
  };
  while (!request.isDone()) {
    if (!isWanted()) return cancelled;
    const { refusal } = await loop.run<EngineAnswered<EngineRequestEvent>>({
      isWanted,
      begin: (onEvent) => {
        if (session) request.beginChoice(session, id, onEvent);
        else request.encode(id, onEvent);
      },
      read: (event) => {
        send(event.value?.events ?? '');
        return event.refusal !== undefined || event.value.isLast;
      },
      cancel: () => {
        if (session) session.cancel();
        else model.cancel(id);
      },
    });
    if (!isWanted()) return cancelled;
    if (!refusal) continue;
    if (!sent.events) return { status: refusal.status, body: refusal.body };
    send(refusal.event);
    return { status: 200, body: '' };
  }
  send(request.lastEvents());
  return { status: 200, body: request.isStream() ? '' : request.answer() };
}

/** Nobody reads this answer. */
const cancelled: WholeAnswer = { status: 499, body: '' };
