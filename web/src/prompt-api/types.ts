// The shapes of Chrome's Prompt API, as far as they are answered here. Names and meanings: the
// explainer and the interface that the Web Machine Learning group publishes.
import type { Kinglet } from '../kinglet.ts';
import type { LoadOptions, ModelSource } from '../types.ts';

/** Where the sessions' model comes from: loaded already, or to be loaded by the first `create()`. */
export type PromptApiOptions = Omit<LoadOptions, 'signal'> & {
  model: Kinglet | ModelSource | readonly ModelSource[];
};

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

export interface LanguageModelContent {
  /** Only "text". */
  type: string;
  value: unknown;
}

export interface LanguageModelMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | readonly LanguageModelContent[];
  /** Of the last message, the assistant's: the answer goes on from it, and does not repeat it. */
  prefix?: boolean;
}

/** A text is what the user says. */
export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

export interface LanguageModelTool {
  name: string;
  description: string;
  /** A JSON schema of the one argument that `execute` takes. */
  inputSchema: object;
  execute(input: never): unknown;
}

export interface LanguageModelExpected {
  type: string;
  languages?: readonly string[];
}

export interface LanguageModelCoreOptions {
  temperature?: number | undefined;
  topK?: number | undefined;
  expectedInputs?: readonly LanguageModelExpected[] | undefined;
  expectedOutputs?: readonly LanguageModelExpected[] | undefined;
  tools?: readonly LanguageModelTool[] | undefined;
}

/** Tells of a download by `downloadprogress` events: `loaded` goes from 0 to 1. */
export type DownloadMonitor = EventTarget & {
  ondownloadprogress: ((event: DownloadProgressEvent) => void) | null;
};

export type DownloadProgressEvent = Event & { readonly loaded: number; readonly total: number };

export interface LanguageModelCreateOptions extends LanguageModelCoreOptions {
  /** Aborting rejects with the signal's reason, and ends a download that nobody else waits for. */
  signal?: AbortSignal | undefined;
  monitor?: ((monitor: DownloadMonitor) => void) | undefined;
  /** What is never dropped. A system's message can only be the first. */
  initialPrompts?: readonly LanguageModelMessage[] | undefined;
}

export interface LanguageModelPromptOptions {
  signal?: AbortSignal | undefined;
  /** What the answer must be: valid under this JSON schema, or matched by this expression. */
  responseConstraint?: object | undefined;
  /** Do not tell the model of the constraint. Default false. */
  omitResponseConstraintInput?: boolean | undefined;
}

export interface LanguageModelSignalOptions {
  signal?: AbortSignal | undefined;
}

export interface LanguageModelParams {
  defaultTopK: number;
  maxTopK: number;
  defaultTemperature: number;
  maxTemperature: number;
}
