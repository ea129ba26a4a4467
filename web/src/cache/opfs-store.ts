// Stores the cache in the origin private file system. Reading works everywhere. Writing needs the
// synchronous handles that only workers have.
import { blobReader } from '../worker/stored-file.ts';
import { BlockFile, readPlaces } from './block-file.ts';
import type { RandomAccess } from './block-file.ts';
import type { BlockReader, BlockWriter, CacheEntryInfo, CacheStore, PlaceReader } from './store.ts';
import { storageRoom, webLock } from './store.ts';

const folderName = 'kinglet';

// From TypeScript's library for workers, which cannot be used together with that for pages.
interface WorkerFileHandle {
  createSyncAccessHandle(options: { mode?: string }): Promise<SyncAccessHandle>;
}
interface SyncAccessHandle {
  getSize(): number;
  read(target: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(bytes: number): void;
  flush(): void;
  close(): void;
}

export class OpfsStore implements CacheStore {
  readonly #folder: FileSystemDirectoryHandle;

  private constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder;
  }

  /** Returns undefined if there is no such file system, as in some browsers' private windows. */
  static async open(): Promise<OpfsStore | undefined> {
    try {
      const root = await navigator.storage.getDirectory();
      return new OpfsStore(await root.getDirectoryHandle(folderName, { create: true }));
    } catch {
      return undefined;
    }
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.#folder.keys()) names.push(name);
    return names;
  }

  async peek(name: string): Promise<CacheEntryInfo | undefined> {
    try {
      return await new BlockFile(await this.#blob(name)).info();
    } catch {
      return undefined;
    }
  }

  async openReader(name: string): Promise<BlockReader> {
    try {
      return new BlockFile(await this.#shared(name));
    } catch {
      return new BlockFile(await this.#blob(name));
    }
  }

  async openPlaces(name: string): Promise<PlaceReader> {
    let file: SyncFile | undefined;
    try {
      file = await this.#shared(name);
    } catch {
      // The file is read as a Blob.
    }
    const readFile = file && ((target: Uint8Array, at: number) => file.read(target, at));
    const read = readFile ?? blobReader(await this.#file(name));
    if (!read) throw new Error('blobs cannot be read synchronously here');
    return {
      read: readPlaces(read),
      close: () => {
        file?.close();
      },
    };
  }

  async openWriter(name: string, nBlocks: number): Promise<BlockWriter> {
    const file = new BlockFile(new SyncFile(await this.#handle(name, true)));
    file.keep(nBlocks);
    return file;
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#folder.removeEntry(name);
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'NotFoundError')) throw error;
    }
  }

  lock(key: string): Promise<(() => void) | undefined> {
    return webLock(`kinglet:${key}`);
  }

  room(): Promise<number | undefined> {
    return storageRoom();
  }

  /** Opens a handle that is exclusive among all tabs, unless `options` ask for less. */
  async #handle(name: string, create: boolean, options = {}): Promise<SyncAccessHandle> {
    const file: unknown = await this.#folder.getFileHandle(name, { create });
    return (file as WorkerFileHandle).createSyncAccessHandle(options);
  }

  /** Lets other tabs read the file, too. In browsers without this mode, they read it as a Blob. */
  async #shared(name: string): Promise<SyncFile> {
    return new SyncFile(await this.#handle(name, false, { mode: 'read-only' }));
  }

  async #blob(name: string): Promise<BlobFile> {
    return new BlobFile(await this.#file(name));
  }

  async #file(name: string): Promise<File> {
    return (await this.#folder.getFileHandle(name)).getFile();
  }
}

class SyncFile implements RandomAccess {
  readonly #handle: SyncAccessHandle;

  constructor(handle: SyncAccessHandle) {
    this.#handle = handle;
  }

  size(): number {
    return this.#handle.getSize();
  }

  read(target: Uint8Array, at: number): number {
    return this.#handle.read(target, { at });
  }

  write(bytes: Uint8Array, at: number): number {
    return this.#handle.write(bytes, { at });
  }

  truncate(bytes: number): void {
    this.#handle.truncate(bytes);
  }

  flush(): void {
    this.#handle.flush();
  }

  close(): void {
    this.#handle.close();
  }
}

/** A read-only file with the contents that it had when it was opened. */
class BlobFile implements RandomAccess {
  readonly #blob: Blob;

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  size(): number {
    return this.#blob.size;
  }

  async read(target: Uint8Array, at: number): Promise<number> {
    const bytes = await this.#blob.slice(at, at + target.length).arrayBuffer();
    target.set(new Uint8Array(bytes));
    return bytes.byteLength;
  }

  write(): never {
    throw new DOMException('the file is open for reading', 'NoModificationAllowedError');
  }

  truncate(): never {
    return this.write();
  }

  flush(): void {
    // nothing was written
  }

  close(): void {
    // A Blob need not be closed.
  }
}
