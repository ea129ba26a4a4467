// What the engine makes of answers, without a model.
import { readFileSync } from 'node:fs';
import type { EngineCallFormat, EngineModel, EngineModule, EngineOverrides } from '#engine';
import { AnswerReading } from '../../web/src/worker/read-answer.ts';
import type { KnownTool } from '../../web/src/protocol.ts';
import { unwrap } from '../../web/src/worker/engine-error.ts';
import { smallVocabulary } from './laid-out.ts';
import { root } from './support.ts';

const { default: createEngine } = (await import(`${root}build/wasm/kinglet-simd128.js`)) as {
  default: (overrides: EngineOverrides) => Promise<EngineModule>;
};

const engine = await createEngine({
  wasmBinary: new Uint8Array(readFileSync(`${root}build/wasm/kinglet-simd128.wasm`)),
});

function smallModel(): EngineModel {
  const bytes = smallVocabulary();
  const loader = unwrap(engine.newLoader(bytes.length, '', undefined));
  const { address } = unwrap(loader.reserve(bytes.length));
  engine.HEAPU8.set(bytes, address);
  unwrap(loader.commit(bytes.length));
  const model = unwrap(loader.finish(false));
  loader.delete();
  return model;
}

const model = smallModel();

/** How a model with this template writes calls whose vocabulary has no tokens for marks. */
export function callFormat(chatTemplate: string): EngineCallFormat {
  return model.toolFormat(chatTemplate).calls;
}

/** Reads answers of a model with this template, to a prompt that ends like this. */
export function answerReading(
  chatTemplate: string,
  tools: readonly KnownTool[] = [],
  prompt = '',
  isConstrained = false,
): AnswerReading {
  return new AnswerReading(engine, { chatTemplate, tools, prompt, isConstrained });
}
