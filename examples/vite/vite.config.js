export default {
  base: './',
  build: { target: 'es2022' },
  // If Vite bundled the package in advance, the package would lose its worker and its wasm.
  optimizeDeps: { exclude: ['kinglet'] },
};
