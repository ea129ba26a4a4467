import { fileURLToPath } from 'node:url';

export default {
  output: 'export',
  // On the server, the package starts its worker from its own folder, so it must not be bundled.
  serverExternalPackages: ['kinglet'],
  // Without a root, Turbopack takes the settings of the folders above.
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
};
