// Finds phrases in errors and documents that CONTRIBUTING.md, "Words", replaces. Part of npm run lint.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tools.mjs';

const phrases =
  /\bwhat (?:is|are) no\b|\b(?:is|are) no (?!such\b)(?:[a-z]+ )?(?:number|str|dict|int|list|file|id|byte|model|keyword)\b|\bbut for\b|\bwas told\b|, expected [^,"'`]{1,20} at most\b/;
// CONTRIBUTING.md lists the phrases; the changes of released versions stay as they are.
const others = new Set(['CONTRIBUTING.md', 'CHANGELOG.md']);

const wrong = [];
const files = execFileSync(
  'git',
  ['ls-files', '*.md', 'src', 'wasm', 'web/src', 'bin', 'demo/src'],
  {
    cwd: root,
    encoding: 'utf8',
  },
);
for (const file of files.trim().split('\n')) {
  if (others.has(file) || !/\.(?:md|cpp|h|ts|mjs)$/.test(file)) continue;
  for (const [i, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    // In code only texts, which are between quotation marks.
    const texts = file.endsWith('.md') ? [line] : (line.match(/"[^"]*"|'[^']*'|`[^`]*`?/g) ?? []);
    const isComment = !file.endsWith('.md') && /^\s*(?:\/\/|\/?\*)/.test(line);
    const found = isComment ? undefined : texts.find((text) => phrases.test(text));
    if (found) wrong.push(`${file}:${i + 1}: "${phrases.exec(found)[0]}"`);
  }
}
if (wrong.length > 0) {
  console.error(`${wrong.join('\n')}\nSay it in plain words: see CONTRIBUTING.md, "Words".`);
  process.exitCode = 1;
}
