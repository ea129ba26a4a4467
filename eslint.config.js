import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const globals = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));
const nodeGlobals = ['Buffer', 'URL', 'console', 'performance', 'process', 'setTimeout'];
const browserGlobals = ['TextDecoder', 'WebAssembly', 'Worker', 'fetch', 'performance'];

export default defineConfig(
  globalIgnores(['build', 'dist', 'demo/dist', 'docs/api']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
  },
  {
    // A test that is wrong about what is there fails, as it should.
    files: ['tests/**/*.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: {
      globals: globals(nodeGlobals),
    },
  },
  {
    files: ['demo/service-worker.js'],
    languageOptions: { globals: globals(['Response', 'caches', 'fetch', 'self', 'FILES']) },
  },
  {
    files: ['web/isolate.js'],
    languageOptions: {
      sourceType: 'script',
      globals: globals([
        ...[
          'Headers',
          'Response',
          'addEventListener',
          'clients',
          'crossOriginIsolated',
          'document',
        ],
        ...['fetch', 'isSecureContext', 'location', 'navigator', 'sessionStorage', 'skipWaiting'],
      ]),
    },
  },
  {
    files: ['bench/**/*.{js,mjs}'],
    languageOptions: {
      globals: globals([
        ...browserGlobals,
        ...['OffscreenCanvas', 'TextEncoder', 'location', 'navigator', 'onmessage', 'postMessage'],
      ]),
    },
  },
  {
    files: ['examples/**/*.{js,jsx}'],
    languageOptions: {
      parserOptions: { ecmaFeatures: { jsx: true } },
      globals: globals([
        ...['AbortController', 'URLSearchParams', 'addEventListener', 'document', 'localStorage'],
        ...['location', 'navigator'],
      ]),
    },
  },
  {
    files: ['examples/offline/service-worker.js'],
    languageOptions: {
      sourceType: 'script',
      globals: globals(['caches', 'fetch', 'importScripts', 'isolated', 'registration']),
    },
  },
  {
    files: ['tests/{web/places,bundlers}/**/*.js'],
    languageOptions: {
      parserOptions: { ecmaFeatures: { jsx: true } },
      globals: globals([
        ...[
          'AbortController',
          'MessageChannel',
          'SharedWorker',
          'URLSearchParams',
          'Worker',
          'addEventListener',
        ],
        ...['document', 'location', 'navigator', 'parent', 'self', 'window'],
      ]),
    },
  },
);
