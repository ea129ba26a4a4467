// Addresses on the Hugging Face hub. Source: the hub's documentation of its API and of the
// addresses of files (/resolve/, /api/models).
import { KingletError } from './errors.ts';
import type { HubOptions } from './types.ts';

const defaultHubBase = 'https://huggingface.co';

/** A repository at a revision. */
export interface HubRepository {
  /** The address of the hub, without a slash at its end. */
  base: string;
  /** "owner/repo" */
  name: string;
  revision: string;
}

/** A file's path in its repository, or else the weight type of the file to use: "" for any. */
export type HubAddress = { repository: HubRepository } & (
  { path: string; type?: undefined } | { path?: undefined; type: string }
);

/** Whether the text begins with "hf:" or is the address of a page of the hub. */
export function isHubAddress(text: string): boolean {
  return withoutPage(text).startsWith('hf:');
}

/** Returns the hub address of what a page of the hub shows; other addresses as they are. */
function withoutPage(address: string): string {
  const site = String.raw`^https:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)`;
  const shown = String.raw`\/tree\/([^/?#]+)(?:\/[^?#]*)?|\/(?:blob|raw)\/([^/?#]+)(\/[^?#]+)`;
  const pattern = new RegExp(String.raw`${site}\/([\w.-]+\/[\w.-]+)(?:${shown})?\/*(?:[?#]|$)`);
  const [, name, folderRevision, fileRevision, encoded = ''] = pattern.exec(address) ?? [];
  const path = decoded(encoded);
  if (name === undefined || path === undefined) return address;
  const revision = folderRevision ?? fileRevision ?? 'main';
  return `hf:${name}${revision === 'main' ? '' : `@${revision}`}${path}`;
}

/**
 * Parses hf:owner/repo/file.gguf (the file may be in folders), hf:owner/repo:Q4_K_M (the file of
 * that type) or hf:owner/repo. The repository may be followed by @revision, in which a slash is
 * written as %2F, as in the hub's own addresses. Also parses the addresses of the hub's pages, as a
 * browser shows them. The rules are those of src/cli/hub.cpp, except that the package loads
 * addresses with /resolve/ as they are.
 */
export function parseHubAddress(
  address: string,
  { hubBase = defaultHubBase }: HubOptions,
): HubAddress {
  const pattern = /^hf:(?:\/\/)?([\w.-]+\/[\w.-]+)(?:@([^/:]+))?(?:\/([^?#]+)|:([\w.-]+))?$/;
  const [, name = '', encoded = 'main', path, type = ''] = pattern.exec(withoutPage(address)) ?? [];
  const revision = decoded(encoded);
  const isPlain = [name, revision, path ?? name].every((part) => isPlainPath(part));
  if (!isPlain || revision === undefined) {
    throw new KingletError(
      'invalid_argument',
      `${JSON.stringify(address)} is not of the form hf:owner/repo/file.gguf, ` +
        'hf:owner/repo:TYPE or hf:owner/repo@revision/file.gguf',
    );
  }
  const repository = { base: withoutSlashes(hubBase), name, revision };
  return path === undefined ? { repository, type } : { repository, path };
}

/** @internal Returns the text without the slashes at its end. */
export function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** Decodes a part of a URL; undefined if it cannot be one. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns whether a path is harmless in a URL, as a file's name and on a terminal: it stays in the
 * folder that it is joined to, and has no drive of Windows and no control character.
 */
function isPlainPath(path: string | undefined): boolean {
  if (path === undefined || /[\p{Cc}\p{Cs}\\:]/u.test(path)) return false;
  return path.split('/').every((name) => /[^.]/.test(name));
}

export function hubFileUrl(repository: HubRepository, path: string): string {
  return filesUrl(repository) + path.split('/').map(encodeURIComponent).join('/');
}

/** Returns the path of the file at `url`; undefined if `url` is not in the repository. */
export function hubPathOf(repository: HubRepository, url: string): string | undefined {
  const start = filesUrl(repository);
  return url.startsWith(start) ? decoded(url.slice(start.length)) : undefined;
}

function filesUrl({ base, name, revision }: HubRepository): string {
  return `${base}/${name}/resolve/${encodeURIComponent(revision)}/`;
}

/** Returns the address at which the hub lists the files of a repository. */
export function hubListingUrl({ base, name, revision }: HubRepository): string {
  return `${base}/api/models/${name}/revision/${encodeURIComponent(revision)}`;
}
