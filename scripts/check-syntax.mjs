// Reads every C++ source with the compiler of a build folder, which needs only be configured, and
// reports errors and warnings; nothing is compiled: node scripts/check-syntax.mjs FOLDER
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fail, mapInParallel, root } from './tools.mjs';

const folder = process.argv[2];
const commands = JSON.parse(readFileSync(join(root, folder, 'compile_commands.json'), 'utf8'));
// The longest first, so that no core is idle at the end: sources that include others.
commands.sort((a, b) => isUnity(b) - isUnity(a));
const failed = [];
await mapInParallel(commands, async (command) => {
  const { status, output } = await check(command);
  process.stderr.write(output);
  if (status !== 0 || output !== '') failed.push(relative(root, command.file));
});
if (failed.length > 0) fail(`There are errors or warnings in ${failed.join(', ')}`);
console.log(`${commands.length} sources without errors or warnings`);

function isUnity({ file }) {
  return Number(file.includes('/Unity/'));
}

function check({ command, directory }) {
  const child = spawn(command.replace(/ -o \S+ -c /, ' -fsyntax-only '), {
    ...{ cwd: directory, shell: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  return new Promise((resolve) => {
    child.on('close', (status) => resolve({ status, output }));
  });
}
