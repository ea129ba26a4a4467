// Models that are split into several files, as NAME-00001-of-00003.gguf.

export interface Part {
  /** The beginning that the names of all parts have in common. */
  name: string;
  nParts: number;
}

/** What the name or address of a file says; undefined if it is not part of a model. */
export function partOf(fileName: string): Part | undefined {
  const [, name, n] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(fileName) ?? [];
  return name === undefined || n === undefined ? undefined : { name, nParts: Number(n) };
}

/** Puts the parts of each model into a list of their own, in order. Other files stay alone. */
export function groupParts<T>(files: readonly T[], nameOf: (file: T) => string): [T, ...T[]][] {
  const models = new Map<unknown, [T, ...T[]]>();
  for (const file of files) {
    const part = partOf(nameOf(file));
    const model = part ? `${part.name} of ${String(part.nParts)}` : file;
    const parts = models.get(model);
    if (parts) parts.push(file);
    else models.set(model, [file]);
  }
  for (const parts of models.values()) parts.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return [...models.values()];
}
