import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

export default defineConfig({
  test: { ...base.test, include: ['tests/bundlers/*.test.ts'], testTimeout: 120_000 },
});
