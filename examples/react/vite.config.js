import react from '@vitejs/plugin-react';

// These let the page use threads. Where the host of the built page sends none, isolate.js adds them.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default {
  plugins: [react()],
  base: './',
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
};
