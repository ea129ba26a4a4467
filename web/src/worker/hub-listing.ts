// Asks the hub which files a repository has.
import type { EngineModule } from '#engine';
import { KingletError } from '../errors.ts';
import { hubFileUrl, hubListingUrl, hubPathOf } from '../hub.ts';
import type { HubRepository } from '../hub.ts';
import type { NamedSource, PostedSource } from '../protocol.ts';
import { Download, StaleBytes } from './download.ts';
import { unwrap } from './engine-error.ts';
import type { RequestOptions } from './http.ts';
import type { Access } from './open-source.ts';

/** A source, with the files of its repository in JSON if it is on the hub. */
export type ListedSource = NamedSource | (Exclude<PostedSource, NamedSource> & { listing: string });

/**
 * Asks the hub for the files of a source's repository. If the hub cannot be reached, these are the
 * files in the cache.
 *
 * @throws KingletError: those of a request.
 */
export async function listed(source: PostedSource, access: Access): Promise<ListedSource> {
  if (source.kind !== 'hub') return source;
  return { ...source, listing: await listingOf(source.repository, access) };
}

/**
 * Returns the source, with a file instead of the hub's weight type: a model, or the file that reads
 * pictures for it.
 *
 * @throws KingletError: not_found, io.
 */
export function named(
  source: ListedSource,
  engine: EngineModule | undefined,
  what: 'model' | 'reader' = 'model',
): NamedSource {
  if (source.kind !== 'hub') return source;
  if (!engine) throw new Error('only an engine can choose a file');
  const { repository, type, listing } = source;
  const path = unwrap(engine.pickHubFile(listing, type, repository.name, what === 'reader'));
  return { kind: 'url', url: hubFileUrl(repository, path) };
}

async function listingOf(repository: HubRepository, access: Access): Promise<string> {
  try {
    const url = hubListingUrl(repository);
    const text = await requestText(url, access.request);
    if (text.includes('"siblings"')) return text;
    throw new KingletError(
      'network',
      `${url} did not answer with a list of files, as the hub does`,
    );
  } catch (error) {
    if (error instanceof StaleBytes) throw new KingletError('network', error.message);
    if (!(error instanceof KingletError) || error.code !== 'network') throw error;
    const urls = ((await access.cache?.kept()) ?? []).map(({ url }) => url);
    const kept = urls.flatMap((url) => hubPathOf(repository, url) ?? []);
    if (kept.length === 0) throw error;
    return JSON.stringify({ siblings: kept.map((rfilename) => ({ rfilename })) });
  }
}

/** Listings of large repositories have about 1 MB. */
const maxListingBytes = 2 ** 23;

async function requestText(url: string, request: RequestOptions): Promise<string> {
  const download = await Download.open(url, { ...request, cache: 'no-store' });
  const decoder = new TextDecoder();
  let text = '';
  let nBytes = 0;
  for await (const piece of download.pieces()) {
    nBytes += piece.length;
    if (nBytes > maxListingBytes) {
      const limit = String(maxListingBytes);
      throw new KingletError('network', `${url}: the answer has more than ${limit} bytes`);
    }
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
