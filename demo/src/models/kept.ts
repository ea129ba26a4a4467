// Models that earlier downloads left on this device.
import { ModelCache } from 'kinglet';
import { groupParts, partOf } from './parts.ts';

const modelCache = new ModelCache();

/** A model on this device: one file, or the parts of a split model. */
export interface KeptModel {
  /** Of the file, or of the first part. */
  url: string;
  bytes: number;
  isComplete: boolean;
  savedAt: Date;
  /** The addresses of all its files. */
  urls: readonly string[];
}

export async function keptModels(): Promise<KeptModel[]> {
  const files = await modelCache.list();
  return groupParts(files, ({ url }) => withoutQuery(url)).map((parts) => {
    const [{ url, savedAt }] = parts;
    const nParts = partOf(withoutQuery(url))?.nParts ?? 1;
    return {
      ...{ url, savedAt, urls: parts.map((part) => part.url) },
      bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
      isComplete: parts.length === nParts && parts.every((part) => part.isComplete),
    };
  });
}

/** The complete model from this address. The form hf:owner/repo/file also works. */
export async function keptModel(address: string): Promise<KeptModel | undefined> {
  const models = await keptModels().catch((): KeptModel[] => []);
  const wanted = fileName(address);
  return models.find(
    ({ urls, isComplete }) => isComplete && urls.some((url) => fileName(url) === wanted),
  );
}

export async function deleteKept({ urls }: KeptModel): Promise<void> {
  for (const url of urls) await modelCache.delete(url);
}

/** The last part of an address. */
export function fileName(address: string): string {
  const name = withoutQuery(address).split('/').at(-1) ?? address;
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a "%" that encodes nothing
  }
}

function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/, '');
}
