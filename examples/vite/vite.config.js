// These let the page use threads. The host of the built page must send them, too.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default {
  base: './',
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
};
