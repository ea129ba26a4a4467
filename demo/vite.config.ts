import { fileURLToPath } from 'node:url';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default {
  root: here('.'),
  base: './', // deployable under any path
  resolve: { alias: { kinglet: here('../dist/index.js') } },
  // As files of their own even when small: the page's policy allows no data: addresses.
  build: { target: 'es2022', sourcemap: true, assetsInlineLimit: 0 },
};
