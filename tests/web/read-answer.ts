// What the engine makes of answers, without a model.
import { readFileSync } from 'node:fs';
import type { EngineModule, EngineOverrides } from '#engine';
import { AnswerReading } from '../../web/src/worker/read-answer.ts';
import type { KnownTool } from '../../web/src/protocol.ts';
import { root } from './support.ts';

const { default: createEngine } = (await import(`${root}build/wasm/kinglet-simd128.js`)) as {
  default: (overrides: EngineOverrides) => Promise<EngineModule>;
};

const engine = await createEngine({
  wasmBinary: new Uint8Array(readFileSync(`${root}build/wasm/kinglet-simd128.wasm`)),
});

/** Reads answers of a model with this template, to a prompt that ends like this. */
export function answerReading(
  chatTemplate: string,
  tools: readonly KnownTool[] = [],
  prompt = '',
  isConstrained = false,
): AnswerReading {
  return new AnswerReading(engine, { chatTemplate, tools, prompt, isConstrained });
}
