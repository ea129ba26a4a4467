// The options of the sampler, as the core's table has them.
import { samplingOptions } from './option-tables.generated.ts';

/** As requests spell it: top_k. */
export type SamplingName = keyof typeof samplingOptions;

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** As `generate()` spells it: topK. */
export type SamplingOption = CamelCase<SamplingName>;

export const samplingNames = Object.keys(samplingOptions) as SamplingName[];

export function camelCase<Name extends string>(name: Name): CamelCase<Name> {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>;
}

/** The range and the default of each. */
export const samplingRules = Object.fromEntries(
  samplingNames.map((name) => [camelCase(name), samplingOptions[name]]),
) as Record<SamplingOption, (typeof samplingOptions)[SamplingName]>;
