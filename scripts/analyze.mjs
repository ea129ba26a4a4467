// npm run analyze: clang-tidy (.clang-tidy) and cppcheck over the core and the program.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { cmakeBuild, fail, root, run } from './tools.mjs';

run('scripts/setup', ['native', 'analyze']);
// Only its list of commands is needed.
cmakeBuild('build/native', [], { targets: ['help'] });
const commands = JSON.parse(readFileSync(join(root, 'build/native/compile_commands.json'), 'utf8'));
const files = commands.map(({ file }) => relative(root, file)).filter((f) => f.startsWith('src/'));

const failed = [];
await Promise.all(Array.from({ length: availableParallelism() }, takeFiles));
if (failed.length > 0) fail(`clang-tidy found something in ${failed.join(', ')}`);

run('cppcheck', [
  ...['--quiet', '--error-exitcode=1', '--inline-suppr', '--std=c++20', '--language=c++'],
  ...['--enable=warning,performance,portability', `-j${availableParallelism()}`, '-Isrc'],
  // Not one of ours, or not understood: templates of C++20 and vector intrinsics.
  ...['--suppress=missingIncludeSystem', '--suppress=internalAstError'],
  // KINGLET_TRY moves an error out of a Result, which is not what is returned.
  '--suppress=returnStdMoveLocal',
  // fork() waits until nobody uses the function any more; a super-block has 8 scales.
  '--suppress=danglingLifetime:src/base/thread_pool.cpp',
  '--suppress=arrayIndexOutOfBoundsCond:src/tensor/blocks.h',
  // Constants that one format has otherwise than most.
  '--suppress=duplInheritedMember:src/kernels/woven_formats.h',
  'src',
]);

async function takeFiles() {
  for (let file = files.pop(); file !== undefined; file = files.pop()) {
    if (!(await tidy(file))) failed.push(file);
  }
}

function tidy(file) {
  // GCC's own warning names are unknown to clang.
  const args = ['-p', 'build/native', '--quiet', '--extra-arg=-Wno-unknown-warning-option', file];
  return new Promise((resolve) => {
    const child = spawn('clang-tidy-19', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.pipe(process.stdout, { end: false });
    child.on('close', (status) => resolve(status === 0));
  });
}
