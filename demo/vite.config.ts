import { fileURLToPath } from 'node:url';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default {
  root: here('.'),
  base: './', // deployable under any path
  resolve: { alias: { kinglet: here('../dist/index.js') } },
  build: { target: 'es2022', sourcemap: true },
};
