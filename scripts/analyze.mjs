// npm run analyze: runs clang-tidy (.clang-tidy) and cppcheck on the core and the program.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cmakeConfigure, fail, mapInParallel, root, run } from './tools.mjs';

run('scripts/setup', ['native', 'analyze']);
// Only the list of compile commands is needed, with a command for each file.
cmakeConfigure('build/analyze', ['-DKINGLET_UNITY=OFF']);
const commands = JSON.parse(
  readFileSync(join(root, 'build/analyze/compile_commands.json'), 'utf8'),
).filter(({ file }) => nameOf(file).startsWith('src/'));

const folder = join(root, 'build/tidy');
const batches = batchesOf(commands);
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, 'compile_commands.json'),
  JSON.stringify([...commands, ...batches.map(({ command }) => command)]),
);

const failed = [];
await mapInParallel(batches, tidyBatch);
if (failed.length > 0) fail(`clang-tidy found something in ${failed.join(', ')}`);

// Every header must compile alone. A header with a source of the same name is already checked: the
// source includes it first. The headers of kernels need flags of their own.
const headers = readdirSync(join(root, 'src'), { recursive: true })
  .map((name) => `src/${name}`)
  .filter(
    (header) =>
      header.endsWith('.h') &&
      !header.startsWith('src/kernels/') &&
      !existsSync(join(root, header.replace(/h$/, 'cpp'))),
  );
const bad = [];
await mapInParallel(headers, async (header) => {
  const options = ['-std=c++20', '-Isrc', '-fsyntax-only', '-xc++', '-include', header];
  const child = spawn('clang++-19', [...options, '/dev/null'], { cwd: root, stdio: 'inherit' });
  if ((await endOf(child)) !== 0) bad.push(header);
});
if (bad.length > 0) fail(`These headers do not compile alone: ${bad.join(', ')}`);

run('cppcheck', [
  ...['--quiet', '--error-exitcode=1', '--inline-suppr', '--std=c++20', '--language=c++'],
  ...['--enable=warning,performance,portability', `-j${availableParallelism()}`, '-Isrc'],
  // System headers, and code that cppcheck does not understand: C++20 templates, vector intrinsics.
  ...['--suppress=missingIncludeSystem', '--suppress=internalAstError'],
  // KINGLET_TRY moves the error out of a Result; the Result itself is not returned.
  '--suppress=returnStdMoveLocal',
  // fork() waits until no thread uses the function any more; a super-block has 8 scales.
  '--suppress=danglingLifetime:src/base/thread_pool.cpp',
  // A number that was read from a text does not refer to the text.
  '--suppress=danglingTemporaryLifetime:src/base/ascii.h',
  '--suppress=arrayIndexOutOfBoundsCond:src/tensor/blocks.h',
  // Constants that one format, or one machine, redefines.
  '--suppress=duplInheritedMember:src/kernels/vector/interleaved_formats.h',
  '--suppress=duplInheritedMember:src/kernels/wasm/relaxed_simd.cpp',
  'src',
]);

function nameOf(file) {
  return relative(root, file);
}

/**
 * Groups a folder's files into batches. Most time is spent on included headers, so eight files read
 * together take as long as one. Kernels are not grouped: each has flags of its own.
 */
function batchesOf(commands) {
  const most = 8;
  const open = new Map();
  const batches = [];
  for (const command of commands) {
    const from = dirname(nameOf(command.file));
    let batch = open.get(from);
    if (!batch || batch.files.length === most || from.startsWith('src/kernels')) {
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

async function tidyBatch({ files, command }) {
  const { status, output } = await tidy(command.file);
  // Two files may use the same name for different things. Then each file is checked alone.
  const collides = files.length > 1 && output.includes('[clang-diagnostic-error]');
  if (!collides) process.stdout.write(output);
  if (!collides && status !== 0) failed.push(...files.map(nameOf));
  for (const file of collides ? files : []) {
    const alone = await tidy(file);
    process.stdout.write(alone.output);
    if (alone.status !== 0) failed.push(nameOf(file));
  }
}

async function tidy(file) {
  const args = [
    ...['-p', folder, '--quiet'],
    // clang does not know the names of GCC's own warnings, and batches include source files.
    ...['--extra-arg=-Wno-unknown-warning-option', '--checks=-bugprone-suspicious-include', file],
  ];
  const child = spawn('clang-tidy-19', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  return { status: await endOf(child), output };
}

function endOf(child) {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
}
