// Compiles code as the strictest of projects would.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.ts';

const strictest = {
  ...{ noEmit: true, target: 'es2022', module: 'esnext', moduleResolution: 'bundler' },
  ...{ lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], skipLibCheck: false },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noImplicitReturns: true,
  },
  ...{ noFallthroughCasesInSwitch: true, noUncheckedSideEffectImports: true },
  ...{ noUnusedLocals: true, noUnusedParameters: true },
  ...{ allowUnreachableCode: false, allowUnusedLabels: false },
  ...{ isolatedModules: true, verbatimModuleSyntax: true, erasableSyntaxOnly: true },
};

/**
 * Writes the files, by their names, and returns what the compiler says of them and of the package's
 * own types. Other packages' types need not be strict.
 */
export function compileStrictly(
  folder: string,
  files: Record<string, string>,
  options: object = {},
): string[] {
  mkdirSync(folder, { recursive: true });
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
  const compilerOptions = { ...strictest, types: ['node'], ...options };
  const config = { compilerOptions, files: Object.keys(files) };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const errors = stdout.split(/\n(?! )/).filter((error) => error !== '');
  return errors.filter((error) => !/^[^(]*node_modules\/(?!kinglet\/)/.test(error));
}
