// The options of the sampler: the public types and the core's table name the same ones. `tsc -p .`
// checks the types.
import type { GenerateOptions, RecommendedSampling } from 'kinglet';
import type { OwnSamplingParams, ResponseParams, SamplingParams } from 'kinglet/openai';
import { expect, it } from 'vitest';
import { generateRules } from '../../web/src/options.ts';
import type { GenerateNumbers } from '../../web/src/protocol.ts';
import { camelCase, samplingNames } from '../../web/src/sampling-rules.ts';
import type { SamplingName, SamplingOption } from '../../web/src/sampling-rules.ts';

type NumbersOf<T> = {
  [K in keyof T]-?: T[K] extends number | null | undefined ? K : never;
}[keyof T];
type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

it('are typed as the table names them', () => {
  // Numbers that are not the sampler's are listed here.
  const ofGenerate: Equal<
    Exclude<NumbersOf<GenerateOptions>, 'maxTokens' | 'seed' | 'logprobs' | 'lookup' | 'indent'>,
    SamplingOption
  > = true;
  const ofRequests: Equal<Exclude<NumbersOf<SamplingParams>, 'n' | 'seed'>, SamplingName> = true;
  const ofResponses: Equal<
    Exclude<SamplingName, NumbersOf<ResponseParams>>,
    'frequency_penalty' | 'presence_penalty'
  > = true;
  const own: Equal<Exclude<NumbersOf<OwnSamplingParams>, SamplingName>, never> = true;
  const ofFiles: Equal<Exclude<keyof RecommendedSampling, SamplingOption>, never> = true;
  expect([ofGenerate, ofRequests, ofResponses, own, ofFiles]).not.toContain(false);
});

it('have ranges and defaults from the table', () => {
  expect(samplingNames.map(camelCase)).toContain('repeatLastN');
  expect(generateRules.temperature).toMatchObject({ default: 0.8, min: 0, max: 100 });
  expect(generateRules.topK).toMatchObject({ default: 40, integer: true, max: 2 ** 31 - 1 });
  const others = ['maxTokens', 'seed', 'logprobs', 'lookup'] satisfies (keyof GenerateNumbers)[];
  const names = Object.keys(generateRules).filter((name) => !(others as string[]).includes(name));
  expect(names).toEqual(samplingNames.map(camelCase));
});
