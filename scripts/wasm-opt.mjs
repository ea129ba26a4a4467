// Runs Binaryen's optimizer on linked wasm. As a program, wasm-opt.mjs FILE.wasm [--relaxed-simd]
// optimizes a file in place, for speed.
import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './tools.mjs';

/** @param {{ relaxedSimd?: boolean }} uses */
export function optimizeWasm(input, output, flags, uses) {
  // Named one by one, because --all-features enables proposals that browsers refuse.
  const features = [
    ...[
      'simd',
      'bulk-memory',
      'sign-ext',
      'mutable-globals',
      'nontrapping-float-to-int',
      'threads',
    ],
    ...(uses.relaxedSimd ? ['relaxed-simd'] : []),
  ];
  const program = join(root, 'node_modules/binaryen/bin/wasm-opt');
  const enabled = features.map((feature) => `--enable-${feature}`);
  execFileSync(process.execPath, [program, ...flags, ...enabled, input, '-o', output], {
    stdio: 'inherit',
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [file, relaxedSimd] = process.argv.slice(2);
  const optimized = `${file}.optimized`;
  optimizeWasm(file, optimized, ['-O2'], { relaxedSimd: relaxedSimd === '--relaxed-simd' });
  renameSync(optimized, file);
}
