// The models to measure: random weights in the shapes of real models, stored in build/bench/.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cmakeBuild, fail, root, run } from '../scripts/tools.mjs';

export const folder = 'build/bench';

/** Builds programs in build/native/bench/. */
export function buildPrograms(names = ['make_model', 'speed', 'work', 'limits'], targets = []) {
  run('scripts/setup', ['native']);
  cmakeBuild('build/native', [], {
    targets: [...names.map((name) => `kinglet_${name}`), ...targets],
  });
}

/**
 * Runs a program of build/native/bench/, and returns its output: one JSON object per line. The
 * program itself prints errors.
 */
export function runProgram(name, args) {
  const { status, stdout } = spawnSync(join(root, `build/native/bench/kinglet_${name}`), args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) process.exit(1);
  return stdout.trim().split('\n').filter(Boolean).map(JSON.parse);
}

/**
 * Copies a file from elsewhere, such as a real model, into the folder where pages find it. Returns it
 * as prepareModel() does: NAME.TYPE.gguf and NAME-TYPE.gguf have the shape NAME.
 */
export function copyModel(path) {
  mkdirSync(join(root, folder), { recursive: true });
  const file = `${folder}/${basename(path)}`;
  copyFileSync(path, join(root, file));
  const [, shape, type] = /^(.*)[-.]([^-.]*)\.gguf$/.exec(basename(path)) ?? [];
  if (!shape) fail(`${path}: expected a name like NAME-Q8_0.gguf`);
  const [work] = runProgram('work', [file]);
  return { shape, type, file, work };
}

/** Makes the model unless it exists. Returns its path in the project, and the work per token. */
export function prepareModel(shape, type) {
  mkdirSync(join(root, folder), { recursive: true });
  const file = `${folder}/${shape}-${type}.gguf`;
  if (!existsSync(join(root, file))) {
    console.error(`Making ${file} ...`);
    runProgram('make_model', [shape, type, `${file}.part`]);
    renameSync(join(root, `${file}.part`), join(root, file));
  }
  const [work] = runProgram('work', [file]);
  return { shape, type, file, work };
}
