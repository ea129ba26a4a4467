/** What tells one version of a file from another; what the server does not say is undefined. */
export interface FileVersion {
  etag: string | undefined;
  lastModified: string | undefined;
  /** Bytes of the whole file. */
  size: number | undefined;
}

/** Whether two answers speak of the same bytes, as far as they say anything. */
export function isSameVersion(a: FileVersion, b: FileVersion): boolean {
  if (differs(a.size, b.size)) return false;
  if (a.etag !== undefined && b.etag !== undefined) return strong(a.etag) === strong(b.etag);
  return !differs(a.lastModified, b.lastModified);
}

/** Whether a version can be told from its successors, so that parts of it may be joined. */
export function isIdentified(version: FileVersion): boolean {
  return version.etag !== undefined || version.lastModified !== undefined;
}

function differs<T>(a: T | undefined, b: T | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** Servers call an ETag weak when they only think of compressing what it stands for. */
function strong(etag: string): string {
  return etag.replace(/^W\//, '');
}
