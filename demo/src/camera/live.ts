// Asks the model about what the camera sees, one picture after the other, until stopLive().
import type { Session } from 'kinglet';
import { readsPictures, whyNoPictures } from '../pictures/seeing.ts';
import { generateOptions, settings } from '../settings.ts';
import { running, stop } from '../talk/conversation.ts';
import { h } from '../ui/dom.ts';
import { errorText } from '../ui/format.ts';
import { Observable } from '../ui/observable.ts';
import { defaultMaxContext, opened, sessionOptions } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';
import { closeCamera, frameOf, openCamera } from './camera.ts';

export interface LiveAnswer {
  text: string;
  /** From taking the picture to the end of the answer. */
  seconds: number;
}

/** The question about every picture; a change applies from the next picture on. */
export const question = new Observable('What do you see?');
export const isLive = new Observable(false);
/** What the model is doing, or why it stopped. */
export const status = new Observable('');
/** The error message; empty without an error. */
export const trouble = new Observable('');
/** The answer that is being written. */
export const current = new Observable('');
/** The last answers, newest first. */
export const answers = new Observable<readonly LiveAnswer[]>([]);

export const video = h('video', { playsinline: true, 'aria-label': 'What the camera sees' });
video.muted = true;

const nKept = 5;
/** One or two sentences, because the next picture waits for the answer. */
const maxTokens = 60;

let stopping: AbortController | undefined;

/** Stops the camera when something else needs the model, or the page is hidden. */
export function watchForStops(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stopLive('Stopped, as the page was hidden.');
  });
  running.subscribe((exchange) => {
    if (exchange) stopLive('Stopped for the conversation.');
  });
  opened.subscribe(() => {
    stopLive('Stopped, as the model has changed.');
  });
}

export function stopLive(why = ''): void {
  if (!stopping) return;
  stopping.abort();
  stopping = undefined;
  isLive.value = false;
  current.value = '';
  status.value = why;
}

export async function startLive(): Promise<void> {
  stopLive();
  trouble.value = '';
  const model = opened.value;
  if (!readsPictures(model)) {
    trouble.value = `The camera is off: ${whyNoPictures(model)}.`;
    return;
  }
  const { signal } = (stopping = new AbortController());
  isLive.value = true;
  answers.value = [];
  try {
    await look(model, signal);
  } catch (error) {
    if (!signal.aborted) {
      trouble.value = `The camera is off: ${errorText(error)}.`;
      stopLive();
    }
  }
}

async function look(model: WritingModel, signal: AbortSignal): Promise<void> {
  status.value = 'Opening the camera …';
  const stream = await openCamera();
  try {
    signal.throwIfAborted();
    for (const track of stream.getTracks()) {
      track.addEventListener('ended', () => {
        stopLive('The camera was taken away.');
      });
    }
    await stop(); // an answer of the conversation
    signal.throwIfAborted();
    video.srcObject = stream;
    await video.play();
    await askOn(model, signal);
  } finally {
    closeCamera(stream);
    if (video.srcObject === stream) video.srcObject = null;
  }
}

/** Asks in a separate session, so that the conversation's session does not change. */
async function askOn({ kinglet }: WritingModel, signal: AbortSignal): Promise<void> {
  const options = sessionOptions(settings.value, kinglet.info);
  const session = await kinglet.newSession({
    ...options,
    nCtx: Math.min(options.nCtx ?? defaultMaxContext, defaultMaxContext), // for one picture
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      const begun = performance.now();
      const text = await askOnce(session, signal);
      const seconds = (performance.now() - begun) / 1000;
      current.value = '';
      answers.value = [{ text, seconds }, ...answers.value].slice(0, nKept);
    }
  } finally {
    session.dispose();
  }
}

/** Asks about what the camera sees now. After a stop, nothing more is shown. */
async function askOnce(session: Session, signal: AbortSignal): Promise<string> {
  const image = await frameOf(video);
  try {
    const picture = { type: 'image', image } as const;
    const words = { type: 'text', text: question.value } as const;
    const generation = session.chat([{ role: 'user', content: [picture, words] }], {
      ...{ ...generateOptions(settings.value), maxTokens, signal },
      onImage: ({ done, total }) => {
        if (signal.aborted) return;
        status.value = `Reading the picture: ${String(done)} of ${String(total)}`;
      },
    });
    for await (const { text } of generation) {
      signal.throwIfAborted();
      status.value = 'Answering …';
      current.value += text;
    }
    signal.throwIfAborted();
    return (await generation.result).text.trim();
  } finally {
    image.close();
  }
}
