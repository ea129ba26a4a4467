// Prompts and texts from stories that no model of these benchmarks has seen.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/tools.mjs';

export const stories = readFileSync(join(root, 'bench/stories-heldout.txt'), 'utf8');

/** The beginning of the stories that has about so many tokens, as text and as ids. */
export function storyPrompt(model, nTokens) {
  const text = beginning(model, nTokens);
  return { text, tokens: tokenize(model, text) };
}

/** The shortest beginning of the stories with this many tokens (including BOS), or all of them. */
export function beginning(model, nTokens) {
  if (tokenize(model, stories).length <= nTokens) return stories;
  let [low, high] = [0, stories.length];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (tokenize(model, stories.slice(0, middle)).length < nTokens) low = middle;
    else high = middle;
  }
  return stories.slice(0, high);
}

export function tokenize(model, part) {
  const { stdout } = runKinglet(['tokenize', '-m', model, '--bos'], part);
  return stdout.trim().split(' ').map(Number);
}

export function runKinglet(args, input = '') {
  const program = join(root, 'build/native/kinglet');
  const answer = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    input,
    maxBuffer: 1 << 26,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (answer.status !== 0) process.exit(1);
  return answer;
}
