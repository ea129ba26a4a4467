import { generateRules } from '../options.ts';
import type { ModelInfo } from '../types.ts';
import { domError, notSupported } from './errors.ts';
import { readInitialPrompts } from './messages.ts';
import { PromptSession } from './session.ts';
import type { SessionParts } from './session.ts';
import { SharedModel } from './shared-model.ts';
import type {
  Availability,
  DownloadMonitor,
  DownloadProgressEvent,
  LanguageModelCoreOptions,
  LanguageModelCreateOptions,
  LanguageModelParams,
  PromptApiOptions,
} from './types.ts';

/** The static side of Chrome's class `LanguageModel`. */
export interface LanguageModelStatic {
  readonly prototype: PromptSession;
  /** Returns whether a session with these options is possible, and whether it needs a download. */
  availability(options?: LanguageModelCoreOptions): Promise<Availability>;
  /** Makes a session with a conversation of its own. The first call loads the model. */
  create(options?: LanguageModelCreateOptions): Promise<PromptSession>;
  /** Returns the defaults and the largest values of the sampling options. */
  params(): Promise<LanguageModelParams>;
}

/**
 * Returns a class like Chrome's `LanguageModel` that uses your model:
 *
 * ```js
 * const LanguageModel = languageModelClass({ model: url });
 * const session = await LanguageModel.create();
 * console.log(await session.prompt('Hello'));
 * ```
 *
 * All sessions of the class share the model. Errors have the same names as Chrome's.
 */
export function languageModelClass(options: PromptApiOptions): LanguageModelStatic {
  const shared = new SharedModel(options);
  return class LanguageModel extends PromptSession {
    /** @internal */
    constructor(parts?: SessionParts) {
      if (!parts) throw new TypeError('Illegal constructor: use LanguageModel.create().');
      super(parts);
    }

    static async availability(wanted?: LanguageModelCoreOptions): Promise<Availability> {
      return refusal(wanted ?? {}) ? 'unavailable' : shared.availability();
    }

    static async create(options?: LanguageModelCreateOptions): Promise<PromptSession> {
      const wanted = options ?? {}; // null, too, as in Chrome
      const { signal, tools = [] } = wanted;
      const refused = refusal(wanted);
      if (refused) throw notSupported(refused);
      checkSampling(wanted);
      const initial = readInitialPrompts(wanted.initialPrompts ?? []);
      const onProgress = progressTeller(wanted.monitor);
      const model = await shared.get({ signal, onProgress });
      const sampling = samplingOf(wanted, model.info);
      const session = await model.newSession().catch((error: unknown) => {
        throw domError(error);
      });
      const made = new LanguageModel({ model, session, initial, tools, ...sampling });
      try {
        await made.begin(signal);
      } catch (error) {
        made.destroy();
        throw error;
      }
      return made;
    }

    static params(): Promise<LanguageModelParams> {
      return Promise.resolve(paramsOf(shared.loaded?.info));
    }
  };
}

/**
 * Defines the global `LanguageModel` if the browser has none. With `replace`, it also replaces the
 * browser's own. Returns the global that is then defined.
 */
export function installPromptApi({
  replace = false,
  ...options
}: PromptApiOptions & { replace?: boolean | undefined }): LanguageModelStatic {
  const scope = globalThis as { LanguageModel?: LanguageModelStatic };
  if (replace || !scope.LanguageModel) scope.LanguageModel = languageModelClass(options);
  return scope.LanguageModel;
}

/** Returns why a session with these options is not possible, or undefined if it is. */
function refusal(options: LanguageModelCoreOptions): string | undefined {
  const { temperature, topK, expectedInputs = [], expectedOutputs = [] } = options;
  if ((temperature === undefined) !== (topK === undefined)) {
    return 'temperature and topK must both be given, or neither.';
  }
  const others = [...expectedInputs, ...expectedOutputs].filter(
    ({ type }) => !['text', 'tool-call', 'tool-response'].includes(type),
  );
  return others[0] && `The model reads and writes text only, not "${others[0].type}".`;
}

/** @throws RangeError if an option is too small. */
function checkSampling({ temperature, topK }: LanguageModelCoreOptions): void {
  if (temperature !== undefined && !(temperature >= 0)) {
    throw new RangeError('temperature must be 0 or more.');
  }
  if (topK !== undefined && !(topK >= 1)) throw new RangeError('topK must be 1 or more.');
}

/** Returns the options or their defaults. Values that are too large become the largest allowed. */
function samplingOf({ temperature, topK }: LanguageModelCoreOptions, info: ModelInfo) {
  const params = paramsOf(info);
  return {
    temperature: Math.min(temperature ?? params.defaultTemperature, params.maxTemperature),
    topK: Math.min(Math.floor(topK ?? params.defaultTopK), params.maxTopK),
  };
}

function paramsOf(info: ModelInfo | undefined): LanguageModelParams {
  const { temperature, topK } = generateRules;
  const recommended = info?.sampling ?? {};
  return {
    defaultTopK: recommended.topK ?? topK.default ?? 1,
    maxTopK: topK.max,
    defaultTemperature: recommended.temperature ?? temperature.default ?? 1,
    maxTemperature: temperature.max,
  };
}

/** Returns a function that reports the downloaded share to a monitor. It reports only increases. */
function progressTeller(
  monitor: ((monitor: DownloadMonitor) => void) | undefined,
): (share: number) => void {
  if (!monitor) return () => undefined;
  const target = Object.assign(new EventTarget(), {
    ondownloadprogress: null,
  }) as DownloadMonitor;
  monitor(target);
  let reported = -1;
  return (share) => {
    if (share <= reported) return;
    reported = share;
    const event: DownloadProgressEvent = Object.assign(new Event('downloadprogress'), {
      ...{ loaded: share, total: 1, lengthComputable: true },
    });
    target.ondownloadprogress?.(event);
    target.dispatchEvent(event);
  };
}
