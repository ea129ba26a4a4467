// npm run release [-- OPTIONS]: builds the package and publishes it, with the clone's origin as its
// repository. The options are those of `npm publish`: with --dry-run, it only shows what it would do.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepReleasedSizes } from './check-size.mjs';
import { fail, root, run } from './tools.mjs';

const git = spawnSync('git', ['remote', 'get-url', 'origin'], { cwd: root, encoding: 'utf8' });
const origin = git.stdout?.trim();
if (!origin)
  fail('release: this clone has no remote "origin", whose address the package would name');
run('npm', ['run', 'build']);

// Only the published manifest names the repository: a fork's clone stays as it is.
const manifest = join(root, 'package.json');
const before = readFileSync(manifest);
process.on('exit', () => writeFileSync(manifest, before));
process.on('SIGINT', () => {}); // npm ends at it, then this program does
run('npm', ['pkg', 'set', `repository=${origin}`]);
run('npm', ['pkg', 'fix'], { quiet: true }); // as the registry wants it
run('npm', ['publish', ...process.argv.slice(2)]);
if (!process.argv.includes('--dry-run')) keepReleasedSizes(JSON.parse(before).version);
