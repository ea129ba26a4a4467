// Builds the wasm, the npm package into dist/ and the demo page into demo/dist/.
import { buildAll } from './package.mjs';
import { run } from './tools.mjs';

run('scripts/setup', ['wasm']);
await buildAll();
