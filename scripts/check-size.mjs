// npm run check:size: compares the built package with the last release (released-sizes.json). What
// is more than 3 % larger than that must be stated in the changes since then, and be no larger than
// stated there: users hear of it, and no code is bent for bytes that nobody notices.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { variants } from './build-wasm.mjs';
import { fail, root } from './tools.mjs';

const tolerance = 1.03;
const releasedFile = join(root, 'scripts/released-sizes.json');
const line = /modules take up to ([\d,]+) KB compressed.* the package ([\d,]+) KB installed/s;

/** The sizes of the modules in kilobytes. */
export function moduleSizes() {
  return variants.map((variant) => {
    const bytes = readFileSync(join(root, `dist/engine/kinglet-${variant}.wasm`));
    const gzippedKB = gzipSync(bytes, { level: 9 }).length / 1000;
    return { variant, kB: bytes.length / 1000, gzippedKB };
  });
}

/** The largest module, compressed, and the installed package, in whole kilobytes. */
function packageSizes() {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  });
  return {
    moduleKB: Math.round(Math.max(...moduleSizes().map(({ gzippedKB }) => gzippedKB))),
    installedKB: Math.round(JSON.parse(packed)[0].unpackedSize / 1000),
  };
}

/** Makes the built package's sizes those of the last release. */
export function keepReleasedSizes(version) {
  writeFileSync(releasedFile, `${JSON.stringify({ version, ...packageSizes() }, undefined, 2)}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { variant, kB, gzippedKB } of moduleSizes()) {
    console.log(`kinglet-${variant}.wasm: ${kB.toFixed(0)} KB, ${gzippedKB.toFixed(0)} KB gzipped`);
  }
  const sizes = packageSizes();
  console.log(`the package, installed: ${sizes.installedKB} KB`);
  const released = JSON.parse(readFileSync(releasedFile, 'utf8'));
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m)[1] ?? '';
  const [moduleKB = 0, installedKB = 0] = (line.exec(changes) ?? [])
    .slice(1)
    .map((text) => Number(text.replaceAll(',', '')));
  const stated = { moduleKB, installedKB };
  for (const what of ['moduleKB', 'installedKB']) {
    const known = Math.max(released[what], stated[what]);
    if (sizes[what] <= known * tolerance) continue;
    fail(
      `${what} is ${sizes[what]}, more than 3 % above ${known} (${released.version}: ${released[what]}). ` +
        'If it is worth it, CHANGELOG.md must say under "Unreleased": "The modules take up to ' +
        `${sizes.moduleKB} KB compressed, the package ${sizes.installedKB} KB installed."`,
    );
  }
}
