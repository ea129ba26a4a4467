// Stores the cache in the Cache API if there is no file system. Each block is one response.
import { xxh32 } from './checksum.ts';
import type { BlockReader, BlockWriter, CacheEntryInfo, CacheHead, CacheStore } from './store.ts';
import { blockBytes, parseHead, storageRoom, webLock } from './store.ts';

/** No such site exists: the addresses are only names. */
const base = 'https://kinglet.invalid/';
const sumHeader = 'x-xxh32';

export class CacheApiStore implements CacheStore {
  readonly #cache: Cache;

  private constructor(cache: Cache) {
    this.#cache = cache;
  }

  static async open(): Promise<CacheApiStore | undefined> {
    try {
      return new CacheApiStore(await caches.open('kinglet'));
    } catch {
      return undefined;
    }
  }

  async names(): Promise<string[]> {
    return [...new Set((await this.#keys()).map(([name]) => name))];
  }

  async peek(name: string): Promise<CacheEntryInfo | undefined> {
    const found = await this.#cache.match(address(name, 'head'));
    const head = found && parseHead(await found.text());
    if (!head) return undefined;
    const indices = new Set(await this.#keysOf(name));
    let nBlocks = 0;
    while (indices.has(String(nBlocks))) ++nBlocks;
    return { head, nBlocks, storedBytes: head.bytes ?? nBlocks * blockBytes };
  }

  openReader(name: string): Promise<BlockReader> {
    return Promise.resolve(new Blocks(this.#cache, name));
  }

  async openWriter(name: string, nBlocks: number): Promise<BlockWriter> {
    for (const key of await this.#keysOf(name)) {
      const isKept = nBlocks > 0 && (key === 'head' || Number(key) < nBlocks);
      if (!isKept) await this.#cache.delete(address(name, key));
    }
    return new Blocks(this.#cache, name);
  }

  async remove(name: string): Promise<void> {
    // The head is removed first: without it the entry is gone, even if the rest is interrupted.
    await this.#cache.delete(address(name, 'head'));
    for (const key of await this.#keysOf(name)) await this.#cache.delete(address(name, key));
  }

  lock(key: string): Promise<(() => void) | undefined> {
    return webLock(`kinglet:${key}`);
  }

  room(): Promise<number | undefined> {
    return storageRoom();
  }

  async #keys(): Promise<[name: string, key: string][]> {
    const requests = await this.#cache.keys();
    return requests.map(({ url }) => {
      const [name = '', key = ''] = url.slice(base.length).split('/');
      return [name, key];
    });
  }

  async #keysOf(entry: string): Promise<string[]> {
    return (await this.#keys()).filter(([name]) => name === entry).map(([, key]) => key);
  }
}

class Blocks implements BlockWriter {
  readonly #cache: Cache;
  readonly #name: string;

  constructor(cache: Cache, name: string) {
    this.#cache = cache;
    this.#name = name;
  }

  async read(index: number): Promise<Uint8Array | undefined> {
    const response = await this.#cache.match(address(this.#name, String(index)));
    if (!response) return undefined;
    const bytes = new Uint8Array(await response.arrayBuffer());
    return response.headers.get(sumHeader) === String(xxh32(bytes)) ? bytes : undefined;
  }

  async write(index: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const headers = { [sumHeader]: String(xxh32(bytes)) };
    await this.#cache.put(address(this.#name, String(index)), new Response(bytes, { headers }));
  }

  async writeHead(head: CacheHead): Promise<void> {
    await this.#cache.put(address(this.#name, 'head'), new Response(JSON.stringify(head)));
  }

  close(): void {
    // nothing is held
  }
}

function address(name: string, key: string): string {
  return `${base}${name}/${key}`;
}
