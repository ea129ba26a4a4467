// Keys under which vectors are stored. They name everything of a model that the vectors depend on.
import type { Prompts } from './prompts.ts';

/** The properties that distinguish embedding models. */
export interface ModelIdentity {
  architecture: string;
  name: string;
  /** The last part of the model's address. */
  fileName: string;
  nParameters: number;
  weightBytes: number;
  /** The length of a vector. */
  size: number;
  pooling: string;
  prompts: Prompts;
}

/** Must be increased with every change to how texts are cut. */
const cutVersion = 1;

/**
 * The key of all indexes that a model makes. Another file of the same weights has another key: its
 * vectors differ slightly, and even slightly different vectors are not mixed.
 */
export function modelKey(model: ModelIdentity): string {
  const { architecture, name, fileName, nParameters, weightBytes, size, pooling, prompts } = model;
  return JSON.stringify([
    ...[cutVersion, architecture, name, fileName, nParameters, weightBytes, size, pooling],
    prompts.passage,
  ]);
}

/** The last part of an address or path, without the query and the fragment. */
export function fileNameOf(address: string): string {
  return (
    address
      .replace(/[?#].*$/, '')
      .split('/')
      .at(-1) ?? address
  );
}
