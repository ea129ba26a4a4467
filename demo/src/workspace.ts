// The model in use, the session that the page talks to, and loading another model.
import { Kinglet } from 'kinglet';
import type { LoadOptions, ModelInfo, Session, SessionOptions } from 'kinglet';
import { readerOf } from './catalogue.ts';
import { showLoad } from './loading.ts';
import type { Loading } from './loading.ts';
import type { ModelFiles } from './models/own-files.ts';
import { followModel, settings } from './settings.ts';
import type { Settings } from './settings.ts';
import { Observable } from './ui/observable.ts';

export interface ModelChoice {
  name: string;
  /** An address, or the visitor's file or all parts of it. */
  source: string | URL | File | ModelFiles;
  /** The file that reads pictures for the model. */
  reader?: File | undefined;
}

export interface OpenModel {
  choice: ModelChoice;
  name: string;
  kinglet: Kinglet;
  /** Undefined if the file has only a vocabulary, and no weights. */
  session: Session | undefined;
}

/** A model that can write. */
export type WritingModel = OpenModel & { session: Session };

export function canWrite(model: OpenModel | undefined): model is WritingModel {
  return model?.session !== undefined;
}

/** The address of a model; undefined for files of the visitor's. */
export function addressOf(source: ModelChoice['source']): string | undefined {
  return typeof source === 'string' || source instanceof URL ? String(source) : undefined;
}

/** The file with a model's header: the whole model, or its first part. */
export function firstFile(source: ModelChoice['source']): string | URL | File {
  return isList(source) ? source[0] : source;
}

function isList(source: ModelChoice['source']): source is ModelFiles {
  return Array.isArray(source);
}

export const embedded: ModelChoice = {
  name: 'Kinglet Stories 5M',
  source: new URL('../models/kinglet-stories-5m-Q4_0.gguf', import.meta.url),
};

export const opened = new Observable<OpenModel | undefined>(undefined);
export const loading = new Observable<Loading | undefined>(undefined);

/**
 * Replaces the model when the new one is ready; until then, and after an error, the old one stays.
 * Returns false if cancelled, or if a later call replaced this one.
 *
 * @throws KingletError
 */
export async function openModel(choice: ModelChoice): Promise<boolean> {
  const isOpen = await showLoad(loading, choice.name, async (listeners) => {
    const mmproj = choice.reader ?? readerOf(choice.source);
    const kinglet = await loadKinglet(choice, settings.value.kernels, { ...listeners, mmproj });
    const session = await firstSession(kinglet);
    if (listeners.signal.aborted) {
      kinglet.dispose();
      return false;
    }
    opened.value?.kinglet.dispose();
    followModel(kinglet.info);
    const isOwn = addressOf(choice.source) === undefined;
    if (!isOwn && choice.source !== embedded.source) keepDownloads();
    const name = isOwn ? choice.name : kinglet.info.name || choice.name;
    opened.value = { choice, name, kinglet, session };
    return true;
  });
  return isOpen ?? false;
}

/** Asks the browser not to delete the models when it needs space. */
function keepDownloads(): void {
  const { storage } = navigator as { storage?: StorageManager }; // only on HTTPS and localhost
  void storage?.persist();
}

/** Loads a model with the given kernels; the other options come from the settings. */
export function loadKinglet(
  { source }: ModelChoice,
  kernels: string | undefined,
  options: Pick<LoadOptions, 'signal' | 'onProgress' | 'mmproj'> = {},
): Promise<Kinglet> {
  return Kinglet.load(source, {
    ...options,
    kernels,
    nThreads: settings.value.nThreads,
    hubBase: hubBase(),
    // The page makes its own sessions, which it can replace; the first session should cost nothing.
    nCtx: 1,
    spareMemory: 2 ** 30,
    cache: source !== embedded.source, // the service worker stores the embedded model
    keepPrompts: { maxBytes: 2 ** 28 }, // of questions about the same document
  });
}

/** The model was made for something other than text. */
export class OtherPurpose extends Error {
  readonly purpose: ModelInfo['purpose'];

  constructor({ architecture, purpose }: ModelInfo) {
    super(`this ${architecture} model was made for ${purpose} and does not write text`);
    this.purpose = purpose;
  }
}

async function firstSession(kinglet: Kinglet): Promise<Session | undefined> {
  if (!kinglet.info.hasWeights) return undefined;
  try {
    if (kinglet.info.purpose !== 'text') throw new OtherPurpose(kinglet.info);
    return await kinglet.newSession(sessionOptions(settings.value, kinglet.info));
  } catch (error) {
    kinglet.dispose();
    throw error;
  }
}

let renewal = Promise.resolve();

/**
 * Gives the open model a new, empty session with the current settings. Waits for the renewals
 * before it, so that of two quick changes the later one holds.
 */
export function renewSession(): Promise<void> {
  renewal = renewal.catch(() => undefined).then(replaceSession);
  return renewal;
}

async function replaceSession(): Promise<void> {
  const model = opened.value;
  if (!canWrite(model)) return;
  const session = await model.kinglet.newSession(
    sessionOptions(settings.value, model.kinglet.info),
  );
  if (opened.value !== model) {
    session.dispose();
    return;
  }
  model.session.dispose();
  opened.value = { ...model, session };
}

/** Enough for a conversation; the full length of long-context models would not fit in memory. */
export const defaultMaxContext = 2048;
/** A picture may take as many tokens as a thousand words. */
export const defaultSeeingContext = 4096;

export function sessionOptions(
  { nCtx, kvKeys, kvValues }: Settings,
  { contextLength, images }: ModelInfo,
): SessionOptions {
  const usual = images ? defaultSeeingContext : defaultMaxContext;
  return {
    nCtx: Math.min(nCtx ?? usual, contextLength),
    kv: { k: kvKeys, v: kvValues },
  };
}

/** The address of a hub mirror, from the page's address: ?hub=https://… */
export function hubBase(): string | undefined {
  return new URLSearchParams(location.search).get('hub') ?? undefined;
}
