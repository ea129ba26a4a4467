// Model files that earlier downloads left on this device.
import { ModelCache } from 'kinglet';
import type { CachedFile } from 'kinglet';
import { partOf } from './parts.ts';

export const modelCache = new ModelCache();

/**
 * The bytes of the model from this address, with all its parts; undefined if it is not completely
 * stored. The form hf:owner/repo/file also works.
 */
export async function keptBytes(address: string): Promise<number | undefined> {
  const files = await modelCache.list().catch((): CachedFile[] => []);
  const wanted = fileName(address);
  const part = partOf(wanted);
  const found = files.filter(({ url, isComplete }) => {
    const name = fileName(url);
    return isComplete && (part ? partOf(name)?.model === part.model : name === wanted);
  });
  if (found.length < (part?.nParts ?? 1)) return undefined;
  const counted = part ? found : found.slice(0, 1); // other repositories may have files of that name
  return counted.reduce((sum, file) => sum + file.bytes, 0);
}

/** The last part of an address. */
export function fileName(address: string): string {
  const name =
    address
      .replace(/[?#].*$/, '')
      .split('/')
      .at(-1) ?? address;
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a "%" that encodes nothing
  }
}
