// Builds dist/ and demo/dist/ from the sources; each part only if one of its inputs is newer.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  copyFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { root, runBin, runNode } from './tools.mjs';

export async function buildAll({ withTests = false } = {}) {
  runNode('scripts/build-wasm.mjs', withTests ? ['--tests'] : []);
  await buildPackage();
  buildDemo();
}

export async function buildPackage() {
  const types = ['wasm/engine.d.ts', 'wasm/vision.d.ts'];
  const inputs = ['web', ...types, 'build/wasm', 'tsconfig.json', 'package.json'];
  if (isCurrent('build/package.stamp', inputs)) return;
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  runBin('typescript', 'tsc', ['-p', 'web/tsconfig.types.json']);
  await buildModules();
  await copyEngine();
  stamp('build/package.stamp');
}

/**
 * Builds one module for each entry, and some for shared code: a page without a bundler waits for
 * each level of imports in turn. The shared modules are next to index.js, because the worker's URL
 * is relative to that place. Removes white space and comments, except the comments that tell
 * bundlers which imports and URLs to leave alone.
 */
async function buildModules() {
  const { rolldown } = await import('rolldown');
  const names = ['index', 'ai-sdk/index', 'openai/index', 'prompt-api/index', 'worker/worker'];
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, `web/src/${name}.ts`])),
    platform: 'neutral',
    external: /^node:/,
  });
  await bundle.write({
    ...{ dir: 'dist', format: 'es', sourcemap: true },
    ...{ entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    comments: { legal: true, annotation: true, jsdoc: false },
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  await bundle.close();
}

/** Copies the modules, and minifies their glue, which an -O1 link does not do. */
async function copyEngine() {
  const { minify } = await import('vite');
  const from = join(root, 'build/wasm');
  const to = join(root, 'dist/engine');
  mkdirSync(to, { recursive: true });
  for (const file of readdirSync(from)) {
    if (file.endsWith('.wasm')) copyFileSync(join(from, file), join(to, file));
    if (!file.endsWith('.js')) continue;
    const { code, errors } = await minify(file, readFileSync(join(from, file), 'utf8'), {
      module: true,
    });
    if (errors.length > 0) throw new Error(`${file} cannot be minified: ${errors[0].message}`);
    writeFileSync(join(to, file), code);
  }
}

function buildDemo() {
  if (isCurrent('build/demo.stamp', ['demo', 'build/package.stamp'])) return;
  runBin('vite', 'vite', ['build', 'demo', '--logLevel', 'warn']);
  stamp('build/demo.stamp');
}

function stamp(file) {
  writeFileSync(join(root, file), '');
}

function isCurrent(stampFile, inputs) {
  const built = statSync(join(root, stampFile), { throwIfNoEntry: false })?.mtimeMs;
  return built !== undefined && inputs.every((input) => newest(join(root, input)) <= built);
}

/** The time of the latest change of a file, or of the files below a folder except outputs. */
function newest(path) {
  const status = statSync(path, { throwIfNoEntry: false });
  if (!status) return 0;
  if (!status.isDirectory()) return status.mtimeMs;
  return Math.max(
    status.mtimeMs,
    ...readdirSync(path)
      .filter((name) => name !== 'dist')
      .map((name) => newest(join(path, name))),
  );
}
