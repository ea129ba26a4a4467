/** Identifies a version of a file. Fields that the server does not send are undefined. */
export interface FileVersion {
  etag: string | undefined;
  lastModified: string | undefined;
  /** Bytes of the whole file. */
  size: number | undefined;
}

/** Returns whether two answers are about the same bytes, as far as their fields are known. */
export function isSameVersion(a: FileVersion, b: FileVersion): boolean {
  if (differs(a.size, b.size)) return false;
  if (a.etag !== undefined && b.etag !== undefined) return strong(a.etag) === strong(b.etag);
  return !differs(a.lastModified, b.lastModified);
}

/** Returns whether a version can be distinguished from later ones, so that parts can be joined. */
export function isIdentified(version: FileVersion): boolean {
  return version.etag !== undefined || version.lastModified !== undefined;
}

function differs<T>(a: T | undefined, b: T | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** Removes the mark of weak ETags: servers use it already if they might compress the file. */
function strong(etag: string): string {
  return etag.replace(/^W\//, '');
}
