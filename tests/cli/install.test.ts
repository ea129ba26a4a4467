// What cmake --install installs: the program, and a library that other projects can find.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stories } from './program.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'kinglet-install-'));
const prefix = join(folder, 'prefix');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: root });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

test('cmake --install makes a library that the example finds, and the program with its pages', () => {
  run('cmake', '--install', 'build/native', '--prefix', prefix);
  const build = join(folder, 'build');
  run('cmake', '-G', 'Ninja', '-S', 'examples/cpp', '-B', build, `-DCMAKE_PREFIX_PATH=${prefix}`);
  run('cmake', '--build', build);
  const story = run(join(build, 'story'), stories, 'Once upon a time');
  expect(story).toMatch(/^, there was a little girl named Lily\. .*\n$/);

  expect(run(join(prefix, 'bin/kinglet'), 'man')).toMatch(/^\.TH KINGLET 1\n/);
  for (const page of ['man/man1/kinglet.1', 'bash-completion/completions/kinglet']) {
    expect(existsSync(join(prefix, 'share', page))).toBe(true);
  }
  expect(existsSync(join(prefix, 'include/kinglet/cli'))).toBe(false);
});
