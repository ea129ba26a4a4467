// By what the vectors of a text are found again: the text itself, and all that decides what they are.
import type { Prompts } from './prompts.ts';

/** What tells one embedding model from another. */
export interface ModelIdentity {
  architecture: string;
  name: string;
  /** The last part of its address. */
  fileName: string;
  nParameters: number;
  weightBytes: number;
  /** Numbers of a vector. */
  size: number;
  pooling: string;
  prompts: Prompts;
}

/** Rises with every change to how texts are cut. */
const cutVersion = 1;

/**
 * The key of all indexes that a model makes. Another file of the same weights has another key: its
 * vectors differ by little, and that little is not mixed up either.
 */
export function modelKey(model: ModelIdentity): string {
  const { architecture, name, fileName, nParameters, weightBytes, size, pooling, prompts } = model;
  return JSON.stringify([
    ...[cutVersion, architecture, name, fileName, nParameters, weightBytes, size, pooling],
    prompts.passage,
  ]);
}

/** The last part of an address or path, without what a server is told after it. */
export function fileNameOf(address: string): string {
  return (
    address
      .replace(/[?#].*$/, '')
      .split('/')
      .at(-1) ?? address
  );
}
