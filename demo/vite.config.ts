import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The service worker, told the names of all files that were built. */
const serviceWorker: Plugin = {
  name: 'service-worker',
  generateBundle(_, bundle) {
    const files = Object.keys(bundle).filter((file) => !/\.(map|html)$/.test(file));
    const source = readFileSync(here('service-worker.js'), 'utf8');
    this.emitFile({
      type: 'asset',
      fileName: 'service-worker.js',
      source: source.replace('= FILES', `= ${JSON.stringify(files)}`),
    });
  },
};

export default {
  root: here('.'),
  base: './', // deployable under any path
  resolve: {
    alias: {
      'kinglet/catalogue': here('../dist/catalogue/index.js'),
      'kinglet/markdown': here('../dist/markdown/index.js'),
      'kinglet/search': here('../dist/search/index.js'),
      kinglet: here('../dist/index.js'),
    },
  },
  plugins: [serviceWorker],
  // As files of their own even when small: the page's policy allows no data: addresses.
  build: { target: 'es2022', sourcemap: true, assetsInlineLimit: 0 },
};
