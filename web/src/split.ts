// The names of the parts of a split model. Source: llama.cpp's gguf-split.

const maxParts = 999;

/** A path or URL with the name of a part: START-00001-of-00003END. */
export interface PartName {
  start: string;
  count: number;
  /** ".gguf", and the query and hash of a URL. */
  end: string;
}

/** Returns undefined for other names. */
export function parsePartName(path: string): PartName | undefined {
  const pattern = /^([^?#]*)-(\d{5})-of-(\d{5})(\.gguf(?:[?#].*)?)$/s;
  const [, start = '', number, digits, end = ''] = pattern.exec(path) ?? [];
  const count = Number(digits);
  const isPart = Number(number) >= 1 && Number(number) <= count && count <= maxParts;
  return isPart ? { start, count, end } : undefined;
}

/** Returns the paths of all parts, in order, if `path` has the name of a part; else only `path`. */
export function splitPaths(path: string): string[] {
  const name = parsePartName(path);
  return name ? Array.from({ length: name.count }, (_, i) => partPath(name, i + 1)) : [path];
}

/** Returns the name of a part; the first one has number 1. */
export function partPath({ start, count, end }: PartName, number: number): string {
  const digits = (n: number) => String(n).padStart(5, '0');
  return `${start}-${digits(number)}-of-${digits(count)}${end}`;
}
