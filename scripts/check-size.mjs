// npm run check:size: checks that no module of the built package is too large to download, and what
// all of it takes when it is installed.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { variants } from './build-wasm.mjs';
import { fail, root } from './tools.mjs';

const maxKB = 1530;
const maxGzippedKB = 640;
const maxInstalledKB = 8300;
export const sizeLimits = `≤ ${maxKB}, ≤ ${maxGzippedKB}`;

/** The sizes of the modules in kilobytes, and whether each is small enough. */
export function moduleSizes() {
  return variants.map((variant) => {
    const bytes = readFileSync(join(root, `dist/engine/kinglet-${variant}.wasm`));
    const kB = bytes.length / 1000;
    const gzippedKB = gzipSync(bytes, { level: 9 }).length / 1000;
    return { variant, kB, gzippedKB, isSmall: kB <= maxKB && gzippedKB <= maxGzippedKB };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sizes = moduleSizes();
  for (const { variant, kB, gzippedKB } of sizes) {
    console.log(`kinglet-${variant}.wasm: ${kB.toFixed(0)} KB, ${gzippedKB.toFixed(0)} KB gzipped`);
  }
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const installedKB = JSON.parse(packed)[0].unpackedSize / 1000;
  console.log(`the package, installed: ${installedKB.toFixed(0)} KB`);
  if (installedKB > maxInstalledKB) {
    fail(`the package is too large: ${String(maxInstalledKB)} KB are allowed`);
  }
  const tooLarge = sizes.filter(({ isSmall }) => !isSmall).map(({ variant }) => variant);
  if (tooLarge.length > 0) {
    fail(`too large: ${tooLarge.join(', ')}; allowed are ${sizeLimits} KB gzipped`);
  }
}
