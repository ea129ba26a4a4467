// Shared by the scripts: the project's folder, and functions that run commands.
import './check-node.cjs';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Prints a message and ends the program with an error. */
export function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Runs a command in the project's folder, and ends the program if it fails. */
export function run(command, args, { env = {}, quiet = false } = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    encoding: 'utf8',
  });
  if (error) fail(`${command} could not be started: ${error.message}`);
  if (status !== 0) {
    if (quiet) process.stderr.write(stdout + stderr);
    fail(`${[command, ...args].join(' ')} failed`);
  }
}

/**
 * Calls an asynchronous function with each item, for as many at a time as there are cores, in their
 * order. Returns the results.
 */
export async function mapInParallel(items, work) {
  const results = [];
  const waiting = items.entries();
  const takeItems = async () => {
    for (const [i, item] of waiting) results[i] = await work(item, i);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, takeItems));
  return results;
}

/** The first line that `COMMAND --version` prints; undefined if there is no such command. */
export function versionOf(command) {
  const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n')[0] : undefined;
}

export function runNode(script, args = []) {
  run(process.execPath, [join(root, script), ...args]);
}

/** Runs a program of a development dependency. */
export function runBin(packageName, program, args, options) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  run(
    process.execPath,
    [join(folder, typeof bin === 'string' ? bin : bin[program]), ...args],
    options,
  );
}

/** The project's own CI sets the variable KINGLET_STRICT (see CMakeLists.txt). */
export function cmakeConfigure(folder, options, env = {}) {
  const strict = `-DKINGLET_STRICT=${process.env.KINGLET_STRICT ?? 'OFF'}`;
  run('cmake', ['-G', 'Ninja', '-S', '.', '-B', folder, strict, ...options], { env, quiet: true });
}

/** Configures a build folder and builds it, with Ninja's progress. */
export function cmakeBuild(folder, options, { env = {}, targets = [] } = {}) {
  cmakeConfigure(folder, options, env);
  const progress = { NINJA_STATUS: `${folder}: %f of %t, %es  ` };
  run('ninja', ['-C', folder, ...targets], { env: { ...env, ...progress } });
}
