// Measures how a kind of KV cache changes a model's answers.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beginning, runKinglet, stories, tokenize } from './story-prompt.mjs';

const prompt = stories.slice(0, stories.indexOf('.') + 1);

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

function kinglet(args) {
  return JSON.parse(runKinglet(args).stdout);
}
