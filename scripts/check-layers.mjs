// Checks the layers: includes and imports go in one direction, and imports form no cycle.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './tools.mjs';

// Each folder below src/, and the other folders that it may include.
const allowed = {
  base: [],
  json: ['base'],
  tensor: ['base'],
  gguf: ['base', 'tensor'],
  kernels: ['base', 'tensor'],
  kv: ['base', 'tensor', 'kernels'],
  model: ['base', 'tensor', 'gguf', 'kernels', 'kv'],
  vision: ['base', 'tensor', 'gguf', 'kernels', 'model'],
  text: ['base', 'json', 'gguf'],
  hub: ['base', 'json', 'tensor', 'gguf'],
  grammar: ['base'],
  schema: ['base', 'grammar', 'json', 'text'],
  session: [
    'base',
    'grammar',
    'tensor',
    'gguf',
    'kernels',
    'kv',
    'model',
    'json',
    'text',
    'vision',
  ],
  chat: ['base', 'gguf', 'json', 'text', 'model', 'vision', 'grammar', 'schema', 'session'],
};
allowed.search = ['base', 'gguf', 'kernels', 'model', 'session', 'tensor', 'text'];
allowed.answers = Object.keys(allowed);
allowed.openai = Object.keys(allowed);
const layers = Object.keys(allowed);
allowed.server = layers;
allowed.cli = [...layers, 'server'];
const wasmMayInclude = ['wasm', ...layers];

const violations = [];
/** The files that each TypeScript file imports. */
const importsOf = new Map();

for (const folder of subfolders('src')) {
  if (!(folder in allowed)) {
    violations.push(`src/${folder}: scripts/check-layers.mjs does not know this folder`);
    continue;
  }
  for (const file of files(`src/${folder}`, /\.(h|cpp)$/)) {
    checkIncludes(file, [folder, ...allowed[folder]]);
  }
}
for (const file of files('wasm', /\.(h|cpp)$/)) checkIncludes(file, wasmMayInclude);
for (const file of files('wasm', /\.d\.ts$/)) {
  checkImports(file, (target) => target.startsWith('wasm/'));
}

// The package may import only the engine's built modules and their types. Some entries may also import
// what they are for: the types of the AI SDK, React, the types of JSX, and the libraries that render
// Markdown.
const packages = {
  'web/src/ai-sdk': ['@ai-sdk/provider'],
  'web/src/react': ['react'],
  'web/src/element': ['react', 'preact'],
  'web/src/markdown': ['marked', 'dompurify'],
};
for (const file of files('web/src', /\.ts$/)) {
  const others = packages[dirname(file)] ?? [];
  checkImports(
    file,
    (target) =>
      target.startsWith('web/src/') ||
      ['#engine', '#engine-of-one-thread', '#vision', ...others].includes(target),
  );
}
// The page may import only the package's public entries, and lit-html.
for (const file of files('demo/src', /\.(ts|js)$/)) {
  checkImports(
    file,
    (target) =>
      target.startsWith('demo/src/') ||
      ['kinglet', 'kinglet/catalogue', 'kinglet/markdown', 'kinglet/search', 'lit-html'].includes(
        target,
      ),
  );
}

checkCircles();

if (violations.length > 0) {
  console.error(violations.join('\n'));
  process.exit(1);
}
console.log('Layers: every include and import points the right way, and none in a circle.');

function checkIncludes(file, folders) {
  for (const [, path] of text(file).matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)) {
    const [folder, ...rest] = path.split('/');
    if (rest.length === 0 || !folders.includes(folder)) {
      violations.push(`${file} must not include "${path}"; it may include ${folders.join(', ')}`);
    }
  }
}

function checkImports(file, mayImport) {
  const specifiers = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"]+)\1/g;
  for (const [, , specifier] of text(file).matchAll(specifiers)) {
    if (specifier.startsWith('node:')) continue;
    const target = specifier.startsWith('.')
      ? relative(root, join(root, dirname(file), specifier))
      : specifier;
    if (!mayImport(target)) violations.push(`${file} must not import "${specifier}"`);
    importsOf.set(file, [...(importsOf.get(file) ?? []), target]);
  }
}

/** Imports of types count, too: what two files need from each other belongs in a third file. */
function checkCircles() {
  const done = new Set();
  const follow = (file, path) => {
    if (path.includes(file)) {
      const circle = [...path.slice(path.indexOf(file)), file];
      violations.push(`imports in a circle: ${circle.join(' -> ')}`);
    }
    if (done.has(file)) return;
    done.add(file);
    for (const target of importsOf.get(file) ?? []) follow(target, [...path, file]);
  };
  for (const file of importsOf.keys()) follow(file, []);
}

function text(file) {
  return readFileSync(join(root, file), 'utf8');
}

function subfolders(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function files(folder, pattern) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => pattern.test(file) && !file.startsWith(join(folder, 'dist')));
}
