import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

const cache = fileURLToPath(new URL('./build/test-cache', import.meta.url));
rmSync(cache, { recursive: true, force: true });

// The files that took longest when all were measured, half a minute or more each; longest first.
const longFiles = [
  ...[
    'shared',
    'cli',
    'faults',
    'storm',
    'demo-layout',
    'threads',
    'untrusted-messages',
    'api-corpus',
    'loading',
  ],
  ...[
    'stored-prompts',
    'demo-features',
    'demo-conversations',
    'demo-pictures',
    'demo-quality',
    'options',
  ],
  ...['examples', 'recipes', 'cache', 'package', 'demo-search', 'real-files', 'guide'],
];

/**
 * These files first, so that none of them is what all workers wait for in the end. Vitest alone
 * begins with the largest files, where it has not run them before.
 */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const i = longFiles.indexOf(basename(moduleId, '.test.ts'));
      return i < 0 ? longFiles.length : i;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  // The package's tests take it as it is built, worker and wasm included.
  resolve: {
    alias: {
      'kinglet/ai-sdk': fileURLToPath(new URL('./dist/ai-sdk/index.js', import.meta.url)),
      'kinglet/catalogue': fileURLToPath(new URL('./dist/catalogue/index.js', import.meta.url)),
      'kinglet/element': fileURLToPath(new URL('./dist/element/index.js', import.meta.url)),
      'kinglet/here': fileURLToPath(new URL('./dist/here/index.js', import.meta.url)),
      'kinglet/markdown': fileURLToPath(new URL('./dist/markdown/index.js', import.meta.url)),
      'kinglet/openai': fileURLToPath(new URL('./dist/openai/index.js', import.meta.url)),
      'kinglet/prompt-api': fileURLToPath(new URL('./dist/prompt-api/index.js', import.meta.url)),
      'kinglet/react': fileURLToPath(new URL('./dist/react/index.js', import.meta.url)),
      'kinglet/search': fileURLToPath(new URL('./dist/search/index.js', import.meta.url)),
      kinglet: fileURLToPath(new URL('./dist/index.js', import.meta.url)),
    },
  },
  test: {
    include: ['tests/{bench,cli,web}/*.test.ts'],
    // It measures the server's time, and takes minutes: npm run test:endless.
    exclude: process.env.KINGLET_ENDLESS ? [] : ['tests/web/serve-endless.test.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Also where there are two cores: half of the time a file waits, for a browser or on purpose.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: LongFilesFirst },
    // No test leaves a file in the user's folder.
    env: { KINGLET_CACHE: cache },
    // Three browsers on a machine with other users: now and then one is late. What passes only at the
    // second attempt is named, with its error, at the end of npm test: a test or a race to mend.
    retry: 1,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // The counts at CI's end quote only an error's message: whole objects, not "{ …(6) }".
    chaiConfig: { truncateThreshold: 0 },
    hookTimeout: 60_000,
  },
});
