import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../../bench');

describe.each(['bench', 'kv', 'lookup', 'maskbench', 'peers'])('bench/%s.mjs', (name) => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(folder, `${name}.mjs`), ...args], { encoding: 'utf8' });

  it('lists its options', () => {
    const { status, stdout, stderr } = run('--help');
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^npm run [a-z:]+: [^]*\n {2}--\w+/);
    expect(stdout).not.toContain('import');
  });

  it('refuses other options', () => {
    const { status, stderr } = run('--nonsense');
    expect(status).toBe(1);
    expect(stderr).toContain("Unknown option '--nonsense' (--help lists the options)");
  });
});
