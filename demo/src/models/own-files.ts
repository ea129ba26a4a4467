// Files of the visitor's: which of them belong together, and what their model is called.
import { groupParts, partOf } from './parts.ts';
import { isReader } from './reader-file.ts';

/** A model's file, or all of its parts in order. */
export type ModelFiles = readonly [File, ...File[]];

export interface SortedFiles {
  models: ModelFiles[];
  /** Files that read pictures for a model. */
  readers: File[];
}

export async function sortFiles(files: readonly File[]): Promise<SortedFiles> {
  const readers: File[] = [];
  const others: File[] = [];
  for (const file of files) ((await isReader(file)) ? readers : others).push(file);
  return { models: groupParts(others, ({ name }) => name), readers };
}

/**
 * The name of a file's model: the file's own, which tells the visitor's files apart. The name inside
 * a file is often that of the model it was made from.
 */
export function modelName({ name }: File): string {
  return partOf(name)?.name ?? name.replace(/\.gguf$/i, '');
}
