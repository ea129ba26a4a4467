// npm run analyze: clang-tidy (.clang-tidy) and cppcheck over the core and the program.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cmakeBuild, fail, root, run } from './tools.mjs';

run('scripts/setup', ['native', 'analyze']);
// Only its list of commands is needed.
cmakeBuild('build/native', [], { targets: ['help'] });
const commands = JSON.parse(
  readFileSync(join(root, 'build/native/compile_commands.json'), 'utf8'),
).filter(({ file }) => nameOf(file).startsWith('src/'));

const folder = join(root, 'build/tidy');
const batches = batchesOf(commands);
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, 'compile_commands.json'),
  JSON.stringify([...commands, ...batches.map(({ command }) => command)]),
);

const failed = [];
await Promise.all(Array.from({ length: availableParallelism() }, takeBatches));
if (failed.length > 0) fail(`clang-tidy found something in ${failed.join(', ')}`);

// A header stands alone. Most are the first that the source of their name includes; kernels' have
// flags of their own.
const headers = readdirSync(join(root, 'src'), { recursive: true })
  .map((name) => `src/${name}`)
  .filter(
    (header) =>
      header.endsWith('.h') &&
      !header.startsWith('src/kernels/') &&
      !existsSync(join(root, header.replace(/h$/, 'cpp'))),
  );
for (const header of headers) {
  run('clang++-19', [
    '-std=c++20',
    '-Isrc',
    '-fsyntax-only',
    '-xc++',
    '-include',
    header,
    '/dev/null',
  ]);
}

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
  // Constants that one format, or one machine, has otherwise than most.
  '--suppress=duplInheritedMember:src/kernels/woven_formats.h',
  '--suppress=duplInheritedMember:src/kernels/relaxed_simd.cpp',
  'src',
]);

function nameOf(file) {
  return relative(root, file);
}

/**
 * Most of the time goes to what files include, so those of a folder are read together: eight take as
 * long as one. Kernels have flags of their own each.
 */
function batchesOf(commands) {
  const most = 8;
  const open = new Map();
  const batches = [];
  for (const command of commands) {
    const from = dirname(nameOf(command.file));
    let batch = open.get(from);
    if (!batch || batch.files.length === most || from === 'src/kernels') {
      batch = { files: [] };
      batches.push(batch);
      open.set(from, batch);
    }
    batch.files.push(command);
  }
  return batches.map(({ files }, i) => {
    const file = join(folder, `batch-${i}.cpp`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, files.map((each) => `#include "${each.file}"\n`).join(''));
    const [first] = files;
    return {
      files: files.map((each) => each.file),
      command: { ...first, file, command: first.command.replaceAll(first.file, file) },
    };
  });
}

async function takeBatches() {
  for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
    const { status, output } = await tidy(batch.command.file);
    // Two files may have the same name for different things: then each is read alone.
    const collides = batch.files.length > 1 && output.includes('[clang-diagnostic-error]');
    if (!collides) process.stdout.write(output);
    if (!collides && status !== 0) failed.push(...batch.files.map(nameOf));
    for (const file of collides ? batch.files : []) {
      const alone = await tidy(file);
      process.stdout.write(alone.output);
      if (alone.status !== 0) failed.push(nameOf(file));
    }
  }
}

function tidy(file) {
  const args = [
    ...['-p', folder, '--quiet'],
    // GCC's own warning names are unknown to clang, and batches include sources.
    ...['--extra-arg=-Wno-unknown-warning-option', '--checks=-bugprone-suspicious-include', file],
  ];
  return new Promise((resolve) => {
    const child = spawn('clang-tidy-19', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('close', (status) => resolve({ status, output }));
  });
}
