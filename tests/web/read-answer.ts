// Reads answers with the engine, without the weights of a model.
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

/** Returns how a model with this template, and no tokens for marks, writes calls. */
export function callFormat(chatTemplate: string): EngineCallFormat {
  return model.toolFormat(chatTemplate).calls;
}

/** Returns a reader of a model's answers with this template; `prompt` is the end of the prompt. */
export function answerReading(
  chatTemplate: string,
  tools: readonly KnownTool[] = [],
  prompt = '',
  isConstrained = false,
): AnswerReading {
  return new AnswerReading(engine, { chatTemplate, tools, prompt, isConstrained });
}
