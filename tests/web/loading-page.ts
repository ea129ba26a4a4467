// Loads models in a page and returns what happened.
import type { ModelInfo } from 'kinglet';
import type { Page } from 'playwright-core';
import type { AnyPage } from './any-browser.ts';

declare global {
  /** The package, in a page of the faulty server. */
  const kinglet: typeof import('kinglet');
}

/** The options of Kinglet.load() that can be sent to a page. */
export interface PageLoadOptions {
  [option: string]: unknown;
  /** Aborts the load when this many bytes have been loaded. */
  abortAt?: number;
}

export interface LoadOutcome {
  /** The text that the model generated; undefined if it could not be loaded. */
  text: string | undefined;
  /** The code of the error, or its name if it is not the package's error. */
  code: string | undefined;
  message: string | undefined;
  /** The phases in their order. */
  phases: string[];
  progress: { loaded: number; total: number | undefined }[];
  /** The codes of the warnings. */
  warnings: string[];
  info: ModelInfo | undefined;
}

export const opening = 'Once upon a time';
export const nTokens = 20;

const nothing = { text: undefined, code: undefined, message: undefined, info: undefined };

/** Loads the model and generates the beginning of its greedy story. */
export async function loadInPage(
  page: Page | AnyPage,
  source: string | string[],
  options: PageLoadOptions = {},
): Promise<LoadOutcome> {
  const told = await (page as AnyPage).evaluate(
    async ([from, { abortAt, ...loadOptions }, prompt, maxTokens]) => {
      const { Kinglet } = kinglet;
      const controller = new AbortController();
      const outcome: Partial<LoadOutcome> & Pick<LoadOutcome, 'phases' | 'progress' | 'warnings'> =
        { phases: [], progress: [], warnings: [] };
      try {
        const model = await Kinglet.load(from, {
          nThreads: 1,
          ...loadOptions,
          signal: controller.signal,
          onWarning: ({ code }) => outcome.warnings.push(code),
          onProgress: ({ phase, loaded, total }) => {
            if (outcome.phases.at(-1) !== phase) outcome.phases.push(phase);
            outcome.progress.push({ loaded, total });
            if (abortAt !== undefined && loaded >= abortAt) controller.abort();
          },
        });
        outcome.info = model.info;
        const generation = model.generate(prompt, { temperature: 0, maxTokens });
        outcome.text = (await generation.result).text;
        model.dispose();
      } catch (error) {
        const { name, message } = error as Error;
        outcome.code = error instanceof kinglet.KingletError ? error.code : name;
        outcome.message = message;
      }
      return outcome;
    },
    [source, options, opening, nTokens] as const,
  );
  return { ...nothing, ...told };
}
