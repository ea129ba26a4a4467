// npm start [words]: builds what is missing, tells a story in the terminal (beginning with the
// words, if given), then serves the demo page.
//   --once            stop after the story
//   --no-wasm         take the modules in build/wasm as they are
//   --port N          the port of the page
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildWasm } from './build-wasm.mjs';
import { buildDemo, buildPackage } from './package.mjs';
import { serve } from './serve.mjs';
import { fail, root, run } from './tools.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    once: { type: 'boolean' },
    'no-wasm': { type: 'boolean' },
    port: { type: 'string', default: '8080' },
  },
});
const prompt = positionals.join(' ') || 'Once upon a time';

run('scripts/setup', ['wasm']);
// Node and the page, which is served with isolation, both use the modules with threads.
const onlyThreads = true;
if (!values['no-wasm']) buildWasm({ onlyThreads });
await buildPackage();
await tellStory();
if (!values.once) {
  buildDemo({ onlyThreads });
  const { url } = await servePage(Number(values.port));
  console.log(`The demo page: ${url} (Ctrl+C ends it)`);
}

/** Tells a story with the same package and wasm that the page loads. */
async function tellStory() {
  const { Kinglet } = await import('../dist/index.js');
  const bytes = await readFile(join(root, 'demo/models/kinglet-stories-5m-Q4_0.gguf'));
  const model = await Kinglet.load(bytes).catch((error) => fail(error.message));
  process.stdout.write(prompt);
  const generation = model.generate(prompt, { maxTokens: 160, temperature: 0.7 });
  for await (const { text } of generation) process.stdout.write(text);
  const { usage, timings } = await generation.result;
  const { variant, nThreads } = model.info.runtime;
  console.log(
    `\n\n${usage.completionTokens} tokens, ${timings.tokensPerSecond.toFixed(0)} per second ` +
      `(${variant}, ${nThreads} ${nThreads === 1 ? 'thread' : 'threads'})`,
  );
  await model.dispose();
}

/** Serves the page on the given port, or on a free port if that one is in use. */
function servePage(port) {
  const folder = join(root, 'demo/dist');
  return serve(folder, { port }).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return serve(folder);
  });
}
