// Asks the hub which files a repository has.
import { KingletError, messageOf } from '../errors.ts';
import { hubFileUrl, hubListingUrl, hubPathOf, hubPaths, pickFile, pickReader } from '../hub.ts';
import type { HubRepository } from '../hub.ts';
import type { NamedSource, NamedSources, PostedSource, PostedSources } from '../protocol.ts';
import { atLeastOne } from '../source.ts';
import { Download, StaleBytes } from './download.ts';
import type { RequestOptions } from './http.ts';
import type { Access } from './open-source.ts';

/**
 * Returns the sources, with files in place of the hub's weight types. If the hub cannot be reached,
 * the files are chosen among those in the cache.
 *
 * @throws KingletError: not_found, and those of a request.
 */
export async function nameFiles(sources: PostedSources, access: Access): Promise<NamedSources> {
  return atLeastOne(await Promise.all(sources.map((source) => nameFile(source, access))));
}

async function nameFile(source: PostedSource, access: Access): Promise<NamedSource> {
  if (source.kind !== 'hub') return source;
  const { repository, type } = source;
  const path = pickFile(await pathsOf(repository, access), type, repository.name);
  return { kind: 'url', url: hubFileUrl(repository, path) };
}

/** Does the same for the source of the file that reads pictures. */
export async function nameReader(source: PostedSource, access: Access): Promise<NamedSource> {
  if (source.kind !== 'hub') return source;
  const { repository, type } = source;
  const path = pickReader(await pathsOf(repository, access), type, repository.name);
  return { kind: 'url', url: hubFileUrl(repository, path) };
}

async function pathsOf(repository: HubRepository, access: Access): Promise<string[]> {
  try {
    return await listing(hubListingUrl(repository), access);
  } catch (error) {
    if (!(error instanceof KingletError) || error.code !== 'network') throw error;
    const urls = ((await access.cache?.kept()) ?? []).map(({ url }) => url);
    const kept = urls.flatMap((url) => hubPathOf(repository, url) ?? []);
    if (kept.length === 0) throw error;
    return kept;
  }
}

async function listing(url: string, { request }: Access): Promise<string[]> {
  const text = await requestText(url, request).catch((error: unknown) => {
    throw error instanceof StaleBytes ? new KingletError('network', error.message) : error;
  });
  try {
    const paths = hubPaths(JSON.parse(text));
    if (paths) return paths;
  } catch (error) {
    throw new KingletError('network', `${url} did not answer with JSON: ${messageOf(error)}`);
  }
  throw new KingletError('network', `${url} does not answer as the hub does: no list of files`);
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
