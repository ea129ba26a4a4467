import { fileURLToPath } from 'node:url';

export default {
  output: 'export',
  // On the server the package starts its worker from its own folder.
  serverExternalPackages: ['kinglet'],
  // Else it takes the settings of folders above.
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
};
