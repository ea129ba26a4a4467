/** Whether this is Node (or a runtime that offers its modules) rather than a browser. */
export const isNode: boolean =
  typeof process === 'object' &&
  typeof process.versions === 'object' &&
  typeof process.versions.node === 'string';

interface NodeModules {
  fs: typeof import('node:fs');
  'fs/promises': typeof import('node:fs/promises');
  os: typeof import('node:os');
  stream: typeof import('node:stream');
  worker_threads: typeof import('node:worker_threads');
}

/**
 * Imports one of Node's modules. Its name is put together here, because bundlers follow names that
 * they can read, even through a constant. They would then search for a module that browsers lack,
 * or write a second file where only one is allowed.
 */
export function importNode<K extends keyof NodeModules>(name: K): Promise<NodeModules[K]> {
  const module = import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);
  return module as Promise<NodeModules[K]>;
}

/** Imports a package that need not be installed. Bundlers do not follow its name, either. */
export function importOptional<T>(name: string): Promise<T> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name) as Promise<T>;
}
