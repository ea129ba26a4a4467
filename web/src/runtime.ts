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
 * One of Node's modules. Its name is made here, as bundlers follow one that they can read, even
 * through a constant: into a module that browsers lack, or a second file where there may be only one.
 */
export function importNode<K extends keyof NodeModules>(name: K): Promise<NodeModules[K]> {
  const module = import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);
  return module as Promise<NodeModules[K]>;
}

/** A package that need not be installed; bundlers do not look for it, as above. */
export function importOptional<T>(name: string): Promise<T> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name) as Promise<T>;
}
