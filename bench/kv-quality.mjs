// Measures how a kind of KV cache changes a model's answers.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/tools.mjs';

const text = readFileSync(join(root, 'bench/stories-heldout.txt'), 'utf8');
const prompt = text.slice(0, text.indexOf('.') + 1);

/**
 * Returns for each kind the perplexity of the first nWindows windows of the held-out stories, and
 * how many greedy tokens after their first sentence are the same as with the first kind.
 */
export function measureQuality(model, kinds, { contextTokens, greedyTokens, nWindows }) {
  const folder = mkdtempSync(join(tmpdir(), 'kinglet-kv-'));
  const file = join(folder, 'text.txt');
  writeFileSync(file, beginning(model, nWindows * contextTokens));
  const start = tokenize(model, prompt).join(',');
  const results = {};
  let expected;
  for (const kv of kinds) {
    console.error(`quality: ${model}, ${kv}`);
    const common = ['-m', model, '--kv', kv, '--ctx', String(contextTokens)];
    const { perplexity } = kinglet(['perplexity', ...common, '-f', file]);
    const { greedy } = kinglet([
      ...['logprobs', '-m', model, '--kv', kv, '--tokens', start],
      ...['--greedy', String(greedyTokens)],
    ]);
    expected ??= greedy;
    const different = greedy.findIndex((token, i) => token !== expected[i]);
    results[kv] = { perplexity, sameTokens: different < 0 ? greedy.length : different };
  }
  rmSync(folder, { recursive: true });
  return results;
}

/** The shortest beginning of the text with this many tokens (including BOS), or all of the text. */
function beginning(model, nTokens) {
  if (tokenize(model, text).length <= nTokens) return text;
  let [low, high] = [0, text.length];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (tokenize(model, text.slice(0, middle)).length < nTokens) low = middle;
    else high = middle;
  }
  return text.slice(0, high);
}

function tokenize(model, part) {
  const { stdout } = runKinglet(['tokenize', '-m', model, '--bos'], part);
  return stdout.trim().split(' ').map(Number);
}

function kinglet(args) {
  return JSON.parse(runKinglet(args).stdout);
}

function runKinglet(args, input = '') {
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
