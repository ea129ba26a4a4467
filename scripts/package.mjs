// Builds dist/ and demo/dist/ from the sources; each part only if one of its inputs is newer.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  copyFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buildWasm, variants } from './build-wasm.mjs';
import { root, runBin } from './tools.mjs';

/** `options`: those of buildWasm(). */
export async function buildAll(options = {}) {
  buildWasm(options);
  await buildPackage();
  buildDemo(options);
}

export async function buildPackage() {
  const types = ['engine', 'result', 'vision'].map((name) => `wasm/${name}.d.ts`);
  const inputs = ['web', ...types, 'build/wasm', 'tsconfig.json', 'package.json'];
  if (isCurrent('build/package.stamp', inputs)) return;
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  runBin('typescript', 'tsc', ['-p', 'web/tsconfig.types.json']);
  await buildModules();
  copyFileSync(join(root, 'web/isolate.js'), join(root, 'dist/isolate.js'));
  writeNotices();
  await copyEngine();
  stamp('build/package.stamp');
}

/** What the engine in place is made with. */
const oneThread = '#engine-of-one-thread';

/**
 * Builds one module for each entry, and some for shared code: a page without a bundler waits for
 * each level of imports in turn. The shared modules are next to index.js, because the worker's URL
 * is relative to that place. Removes white space and comments, except the comments that tell
 * bundlers which imports and URLs to leave alone.
 */
async function buildModules() {
  const { rolldown } = await import('rolldown');
  const entries = [
    'ai-sdk',
    'catalogue',
    'openai',
    'prompt-api',
    'react',
    'search',
    'element',
    'markdown',
    'here',
  ];
  const names = ['index', ...entries.map((entry) => `${entry}/index`), 'worker/worker'];
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, `web/src/${name}.ts`])),
    platform: 'neutral',
    external: [/^node:/, 'react', oneThread],
    transform: { define: { kingletVersion: JSON.stringify(version) } },
  });
  await bundle.write({
    ...{ dir: 'dist', format: 'es', sourcemap: true },
    entryFileNames: '[name].js',
    // What finds the engine's files is one folder below dist, as the worker is.
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.some((id) => id.endsWith('/variants.ts')) ? 'worker/[name].js' : '[name].js',
    paths: { [oneThread]: '../engine/kinglet-simd128.js' }, // for here/index.js
    comments: { legal: true, annotation: true, jsdoc: false },
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  await bundle.close();
}

/** Writes the licences of the libraries that `kinglet/markdown` contains. */
function writeNotices() {
  const notices = ['marked', 'dompurify'].map((name) => {
    const text = (file) => readFileSync(join(root, 'node_modules', name, file), 'utf8');
    return `${name} ${JSON.parse(text('package.json')).version}\n\n${text('LICENSE').trim()}\n`;
  });
  const heading = 'dist/markdown.js contains these libraries, under their own licences.\n';
  writeFileSync(join(root, 'dist/third-party-licenses.txt'), [heading, ...notices].join('\n'));
}

/** Copies the modules, and minifies their glue, which an -O1 link does not do. */
async function copyEngine() {
  const { minify } = await import('vite');
  const from = join(root, 'build/wasm');
  const to = join(root, 'dist/engine');
  mkdirSync(to, { recursive: true });
  for (const variant of variants) {
    const name = `kinglet-${variant}`;
    if (!existsSync(join(from, `${name}.wasm`))) continue; // npm start does not build all
    copyFileSync(join(from, `${name}.wasm`), join(to, `${name}.wasm`));
    const glue = readFileSync(join(from, `${name}.js`), 'utf8');
    const { code, errors } = await minify(`${name}.js`, glue, {
      module: true,
      // Of glue with short names, webpack's minifier makes code that lacks variables.
      mangle: false,
    });
    if (errors.length > 0) throw new Error(`${name}.js cannot be minified: ${errors[0].message}`);
    // Bundlers for browsers also read what only Node runs.
    const ignored = 'import(/* webpackIgnore: true */ /* @vite-ignore */ ';
    writeFileSync(join(to, `${name}.js`), code.replaceAll(/\bimport\((?=["'`]node:)/g, ignored));
  }
}

export function buildDemo({ onlyThreads = false } = {}) {
  if (isCurrent('build/demo.stamp', ['demo', 'build/package.stamp'])) return;
  // Vite warns of modules that were not built.
  runBin('vite', 'vite', ['build', 'demo', '--logLevel', onlyThreads ? 'error' : 'warn']);
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
