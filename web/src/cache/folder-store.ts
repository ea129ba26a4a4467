// Stores the cache in a folder, for Node.
import { BlockFile, readPlaces } from './block-file.ts';
import type { RandomAccess } from './block-file.ts';
import { importNode } from '../runtime.ts';
import type { BlockReader, BlockWriter, CacheEntryInfo, CacheStore, PlaceReader } from './store.ts';

type Fs = typeof import('node:fs');

const touchEveryMs = 500;
const staleAfterMs = 3000;

export class FolderStore implements CacheStore {
  readonly #fs: Fs;
  readonly #folder: string;

  private constructor(fs: Fs, folder: string) {
    this.#fs = fs;
    this.#folder = folder;
  }

  /** `folder`: undefined for the default folder. */
  static async open(folder: string | undefined): Promise<FolderStore> {
    const fs = await importNode('fs');
    const path = folder ?? (await usersFolder());
    fs.mkdirSync(path, { recursive: true });
    return new FolderStore(fs, path);
  }

  names(): Promise<string[]> {
    return Promise.resolve(
      this.#fs.readdirSync(this.#folder).filter((name) => /^[0-9a-f]{32}\.[ab]$/.test(name)),
    );
  }

  async peek(name: string): Promise<CacheEntryInfo | undefined> {
    try {
      const file = this.#open(name);
      try {
        return await file.info();
      } finally {
        file.close();
      }
    } catch {
      return undefined;
    }
  }

  openReader(name: string): Promise<BlockReader> {
    return Promise.resolve(this.#open(name));
  }

  openPlaces(name: string): Promise<PlaceReader> {
    const file = this.#openFile(name);
    const read = readPlaces((target, at) => file.read(target, at));
    const close = () => {
      file.close();
    };
    return Promise.resolve({ read, close });
  }

  openWriter(name: string, nBlocks: number): Promise<BlockWriter> {
    const { O_RDWR, O_CREAT } = this.#fs.constants;
    const file = this.#open(name, O_RDWR | O_CREAT);
    file.keep(nBlocks);
    return Promise.resolve(file);
  }

  remove(name: string): Promise<void> {
    this.#fs.rmSync(this.#path(name), { force: true });
    return Promise.resolve();
  }

  /** The lock is a file that its owner touches. An old one was left by a worker that was ended. */
  async lock(key: string): Promise<(() => void) | undefined> {
    const path = this.#path(`${key}.lock`);
    for (let waitedMs = 0; ; waitedMs += touchEveryMs) {
      try {
        this.#fs.writeFileSync(path, '', { flag: 'wx' });
        break;
      } catch {
        if (this.#ageMs(path) > staleAfterMs) this.#fs.rmSync(path, { force: true });
        else if (waitedMs > staleAfterMs) return undefined;
        else await new Promise((resolve) => setTimeout(resolve, touchEveryMs));
      }
    }
    const timer = setInterval(() => {
      this.#fs.lutimesSync(path, new Date(), new Date());
    }, touchEveryMs);
    return () => {
      clearInterval(timer);
      this.#fs.rmSync(path, { force: true });
    };
  }

  room(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  #ageMs(path: string): number {
    const status = this.#fs.lstatSync(path, { throwIfNoEntry: false });
    return status ? Date.now() - status.mtimeMs : 0;
  }

  /**
   * Opens only plain files of the folder. Whoever can write to the folder must not be able to let
   * another file be read or overwritten by a link, or to block the load by a pipe.
   */
  #openFile(name: string, flags = 0): NodeFile {
    // Windows has neither flag; there, making links needs special rights.
    const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = this.#fs.constants as Partial<Fs['constants']>;
    const descriptor = this.#fs.openSync(this.#path(name), flags | O_NOFOLLOW | O_NONBLOCK);
    if (!this.#fs.fstatSync(descriptor).isFile()) {
      this.#fs.closeSync(descriptor);
      throw new Error(`${this.#path(name)} is not a file`);
    }
    return new NodeFile(this.#fs, descriptor);
  }

  #open(name: string, flags = 0): BlockFile {
    return new BlockFile(this.#openFile(name, flags));
  }

  #path(name: string): string {
    return `${this.#folder}/${name}`;
  }
}

/** Returns the default folder: where the system's programs keep caches. */
/** Where this user's programs keep what they can make again. */
export async function usersFolder(): Promise<string> {
  const { homedir, platform } = await importNode('os');
  const { KINGLET_CACHE, LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (KINGLET_CACHE) return KINGLET_CACHE;
  if (platform() === 'win32')
    return `${LOCALAPPDATA ?? `${homedir()}/AppData/Local`}/kinglet/cache`;
  if (platform() === 'darwin') return `${homedir()}/Library/Caches/kinglet`;
  if (XDG_CACHE_HOME) return `${XDG_CACHE_HOME}/kinglet`;
  return `${homedir()}/.cache/kinglet`;
}

class NodeFile implements RandomAccess {
  readonly #fs: Fs;
  readonly #descriptor: number;

  constructor(fs: Fs, descriptor: number) {
    this.#fs = fs;
    this.#descriptor = descriptor;
  }

  size(): number {
    return this.#fs.fstatSync(this.#descriptor).size;
  }

  read(target: Uint8Array, at: number): number {
    return this.#fs.readSync(this.#descriptor, target, 0, target.length, at);
  }

  write(bytes: Uint8Array, at: number): number {
    return this.#fs.writeSync(this.#descriptor, bytes, 0, bytes.length, at);
  }

  truncate(bytes: number): void {
    this.#fs.ftruncateSync(this.#descriptor, bytes);
  }

  flush(): void {
    this.#fs.fsyncSync(this.#descriptor);
  }

  close(): void {
    this.#fs.closeSync(this.#descriptor);
  }
}
