// Puts the package into a project as `npm install` would: packs it, then unpacks it again.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.ts';

export interface Packed {
  files: { path: string; size: number }[];
}

/** Installs the package in a new folder of that name below build/, and returns its contents. */
export function installPacked(name: string): { folder: string; packed: Packed } {
  const folder = join(root, 'build', name);
  rmSync(folder, { recursive: true, force: true });
  return { folder, packed: addPacked(folder) };
}

/** Installs the package in a folder and keeps the folder's other files. */
export function addPacked(folder: string): Packed {
  const target = join(folder, 'node_modules/kinglet');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const answer = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  });
  const [packed] = JSON.parse(answer) as [Packed & { filename: string }];
  execFileSync('tar', [
    '-xzf',
    join(folder, packed.filename),
    '-C',
    target,
    '--strip-components=1',
  ]);
  return packed;
}

/** Runs `kinglet new` of the package that is installed in the folder. */
export function copyTemplate(folder: string, template: string, name: string): void {
  const program = join(folder, 'node_modules/kinglet/bin/kinglet.mjs');
  execFileSync(process.execPath, [program, 'new', name, '--template', template], {
    ...{ cwd: folder, stdio: 'pipe' },
  });
}
