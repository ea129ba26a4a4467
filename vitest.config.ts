import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const cache = fileURLToPath(new URL('./build/test-cache', import.meta.url));
rmSync(cache, { recursive: true, force: true });

export default defineConfig({
  // The package's tests take it as it is built, worker and wasm included.
  resolve: {
    alias: {
      'kinglet/ai-sdk': fileURLToPath(new URL('./dist/ai-sdk/index.js', import.meta.url)),
      'kinglet/element': fileURLToPath(new URL('./dist/element/index.js', import.meta.url)),
      'kinglet/markdown': fileURLToPath(new URL('./dist/markdown/index.js', import.meta.url)),
      'kinglet/openai': fileURLToPath(new URL('./dist/openai/index.js', import.meta.url)),
      'kinglet/prompt-api': fileURLToPath(new URL('./dist/prompt-api/index.js', import.meta.url)),
      'kinglet/react': fileURLToPath(new URL('./dist/react/index.js', import.meta.url)),
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
    // No test leaves a file in the user's folder.
    env: { KINGLET_CACHE: cache },
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
});
