// Maps OpenAI's parameters to the options of generate().
import { KingletError } from '../errors.ts';
import { camelCase, samplingNames } from '../sampling-rules.ts';
import type { GenerateOptions } from '../types.ts';
import type { RequestOptions, SamplingParams } from './types.ts';

/** Parameters that have no effect here, or matter only to a service. */
const withoutEffect = [
  ...['model', 'metadata', 'store', 'user', 'safety_identifier', 'service_tier', 'verbosity'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'prediction'],
];

const common: readonly string[] = [
  ...[...samplingNames, 'dry_sequence_breakers', 'logit_bias', 'n', 'seed', 'stop', 'stream'],
  ...['stream_options', 'max_tokens', 'logprobs'],
];

/** Refuses parameters that would otherwise be ignored silently. */
export function refuseUnknown(params: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(params) as [string, unknown][]) {
    if (value === null || value === undefined) continue;
    if (common.includes(name) || known.includes(name) || withoutEffect.includes(name)) continue;
    throw new KingletError('invalid_argument', `the parameter "${name}" is not supported`);
  }
}

export function samplingOptions(
  params: SamplingParams,
  { signal }: RequestOptions,
): GenerateOptions {
  const { stop } = params;
  return present({
    signal,
    ...Object.fromEntries(samplingNames.map((name) => [camelCase(name), params[name]])),
    drySequenceBreakers: params.dry_sequence_breakers,
    logitBias: params.logit_bias,
    seed: params.seed,
    stop: typeof stop === 'string' ? [stop] : stop,
  });
}

/** Returns the number of answers to make. */
export function numberOfChoices({ n }: SamplingParams): number {
  const count = n ?? 1;
  if (Number.isInteger(count) && count >= 1 && count <= 128) return count;
  throw new KingletError('invalid_argument', `n is ${String(n)}, expected 1 to 128`);
}

/** Returns the options of one of several answers to a prompt: each has its own seed. */
export function optionsOfChoice(options: GenerateOptions, choice: number): GenerateOptions {
  const { seed } = options;
  return seed === undefined ? options : { ...options, seed: seed + choice };
}

export function present<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], null | undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], null | undefined> };
}
