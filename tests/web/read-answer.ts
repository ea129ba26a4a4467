// Reads answers with the engine, without the weights of a model.
import { readFileSync } from 'node:fs';
import type { EngineAnswer, EngineModel, EngineModule, EngineOverrides } from '#engine';
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

/**
 * Returns a reader of a model's answers with this template. `tools` is JSON; `prompt` is the end of the
 * prompt; `hasSchema`: the answer must match a schema.
 */
export function answerReading(
  chatTemplate: string,
  tools = '[]',
  prompt = '',
  hasSchema = false,
): EngineAnswer {
  const demands = { mustCall: false, mayCallSeveral: true, schema: hasSchema ? '{}' : '' };
  const answer = model.newAnswer({
    ...{ chatTemplate, tools, prompt, ...demands },
    ...{ indent: 0, openObjects: false, grammar: '', prefix: '', isDivided: true },
    ...{ maxThinkingTokens: -1, id: 1 },
  });
  return unwrap(answer);
}
