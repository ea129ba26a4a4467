/** Whether this is Node (or a runtime that offers its modules) rather than a browser. */
export const isNode: boolean =
  typeof process === 'object' &&
  typeof process.versions === 'object' &&
  typeof process.versions.node === 'string';
