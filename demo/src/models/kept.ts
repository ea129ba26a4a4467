// Model files that earlier downloads left on this device.
import { ModelCache } from 'kinglet';
import type { CachedFile } from 'kinglet';

export const modelCache = new ModelCache();

/** The complete stored file from this address. The form hf:owner/repo/file also works. */
export async function keptFile(address: string): Promise<CachedFile | undefined> {
  const files = await modelCache.list().catch(() => []);
  return files.find(({ url, isComplete }) => isComplete && fileName(url) === fileName(address));
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
