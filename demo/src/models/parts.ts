// Models that are split into several files, as NAME-00001-of-00003.gguf.

export interface Part {
  /** What all parts of the model have in common: their name, and how many they are. */
  model: string;
  name: string;
  nParts: number;
}

/** What the name of a file says; undefined if it is no part of a model. */
export function partOf(fileName: string): Part | undefined {
  const [, name, n] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(fileName) ?? [];
  if (name === undefined || n === undefined) return undefined;
  return { model: `${name} of ${n}`, name, nParts: Number(n) };
}
