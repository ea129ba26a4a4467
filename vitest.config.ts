import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The package's tests take it as it is built, worker and wasm included.
  resolve: {
    alias: {
      'kinglet/openai': fileURLToPath(new URL('./dist/openai/index.js', import.meta.url)),
      kinglet: fileURLToPath(new URL('./dist/index.js', import.meta.url)),
    },
  },
  test: {
    include: ['tests/{bench,cli,web}/*.test.ts'],
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
});
