// The types of the supported part of Chrome's Prompt API. Source of names and meanings: the
// explainer and the interface that the Web Machine Learning group publishes.
import type { Kinglet } from '../kinglet.ts';
import type { LoadOptions, ModelSource } from '../types.ts';

/** The sessions' model, or its source, from which the first `create()` loads it. */
export type PromptApiOptions = Omit<LoadOptions, 'signal'> & {
  model: Kinglet | ModelSource | readonly ModelSource[];
};

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

export interface LanguageModelContent {
  /** Only "text" is supported. */
  type: string;
  value: unknown;
}

export interface LanguageModelMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | readonly LanguageModelContent[];
  /**
   * For a last message of the assistant: the answer continues this message and does not repeat it.
   */
  prefix?: boolean;
}

/** A text stands for a message of the user. */
export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

export interface LanguageModelTool {
  name: string;
  description: string;
  /** A JSON schema of the argument of `execute`. */
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

/** Reports a download with `downloadprogress` events: `loaded` goes from 0 to 1. */
export interface DownloadMonitor extends EventTarget {
  ondownloadprogress: ((event: DownloadProgressEvent) => void) | null;
  addEventListener(
    type: 'downloadprogress',
    listener: (event: DownloadProgressEvent) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  addEventListener(...given: Parameters<EventTarget['addEventListener']>): void;
}

export type DownloadProgressEvent = Event & { readonly loaded: number; readonly total: number };

export interface LanguageModelCreateOptions extends LanguageModelCoreOptions {
  /** Aborting rejects with the signal's reason, and ends a download that nobody else waits for. */
  signal?: AbortSignal | undefined;
  monitor?: ((monitor: DownloadMonitor) => void) | undefined;
  /** Messages that are never dropped. Only the first can be a system message. */
  initialPrompts?: readonly LanguageModelMessage[] | undefined;
}

export interface LanguageModelPromptOptions {
  signal?: AbortSignal | undefined;
  /**
   * A JSON schema or a regular expression that the answer must match. If the context is full before
   * the answer is complete, the call rejects with a `QuotaExceededError`.
   */
  responseConstraint?: object | undefined;
  /** Do not describe the constraint to the model. Default false. */
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
