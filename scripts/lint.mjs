// npm run lint: checks words, the formatting of C++ and of all other files, and ESLint's rules.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import './check-words.mjs';
import { root, run, runBin } from './tools.mjs';

run('scripts/setup', ['lint']);
const folders = ['src', 'tests', 'wasm', 'bench'].filter((folder) =>
  existsSync(join(root, folder)),
);
const cpp = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.(h|cpp)$/.test(name))
    .map((name) => join(folder, name)),
);
run('clang-format', ['--dry-run', '-Werror', ...cpp]);
runBin('eslint', 'eslint', ['.']);
runBin('prettier', 'prettier', ['--check', '--log-level', 'warn', '.']);
