export default {
  base: './',
  build: { target: 'es2022' },
  // A dependency that is bundled in advance would lose its worker and its wasm.
  optimizeDeps: { exclude: ['kinglet'] },
};
