// npm run test:bundlers: builds small pages that use the package with common bundlers, and runs the
// pages. The bundlers (400 MB) are installed below build/, only for these tests.
import { cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildAll } from './package.mjs';
import { cmakeBuild, root, run } from './tools.mjs';

run('scripts/setup', ['wasm', 'native', 'browser']);
cmakeBuild('build/native', [], { targets: ['kinglet'] });
await buildAll();

const folder = join(root, 'build/bundlers');
const stamp = join(folder, 'installed.stamp');
mkdirSync(folder, { recursive: true });
cpSync(join(root, 'tests/bundlers'), folder, { recursive: true });
if (changed(join(root, 'tests/bundlers/package-lock.json')) > changed(stamp)) install();

run(process.execPath, [
  ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'tests/bundlers/vitest.config.ts'],
  ...['--reporter=default', '--reporter=json'],
  '--outputFile.json=build/test-results/bundlers.json',
]);

/** Installs the bundlers. The lock file's hashes check the downloads. */
function install() {
  console.log('Installing bundlers ...');
  // Not `npm ci`: it refuses a lock file without the packages that only other systems need.
  const options = ['--no-save', '--prefer-offline', '--loglevel=error', '--prefix', folder];
  run('npm', ['install', ...options], { quiet: true });
  writeFileSync(stamp, '');
}

function changed(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
