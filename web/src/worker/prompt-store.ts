// The stored states of prompts that a model can restore: those that the page's maker prepared, and
// those that this origin keeps. The engine knows how they begin, and chooses among them.
import type {
  EngineKvKinds,
  EngineModel,
  EngineModule,
  EngineSession,
  EngineStoredPrompt,
} from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { isPrompt, promptScheme as scheme } from '../cache/store.ts';
import type { SourcePiece } from './byte-source.ts';
import type { FileCache } from './cached-download.ts';
import { unwrap } from './engine-error.ts';
import type { PreparedFile } from './prepared-file.ts';

/** When each kept state was last used: an object of times in milliseconds since 1970. */
const usesUrl = `${scheme}used`;

interface StoredState {
  bytes: number;
  open: () => Promise<AsyncIterable<Pick<SourcePiece, 'bytes'>>>;
}

/** What a restored state saves; zeros if none was restored. */
export interface PromptUse {
  tokens: number;
  bytes: number;
  /** Why states could not be used, or kept, since the last use. */
  warnings: string[];
}

export interface KeepOptions {
  cache: FileCache;
  maxBytes: number;
}

export class PromptStore {
  readonly #engine: EngineModule;
  readonly #model: EngineModel;
  readonly #warn: (warning: KingletError) => void;
  readonly #states = new Map<string, StoredState>();
  #kept: KeptPrompts | undefined;
  /** For the next answer's warnings. */
  readonly #problems: string[] = [];

  constructor(engine: EngineModule, model: EngineModel, warn: (warning: KingletError) => void) {
    this.#engine = engine;
    this.#model = model;
    this.#warn = warn;
  }

  /**
   * Adds a prepared state when it has arrived, or warns why it cannot be used: for example because
   * what is left to download takes longer than computing it would. `kv`: of the first session.
   */
  async add(
    file: PreparedFile,
    tokensPerSecond: () => Promise<number>,
    kv: EngineKvKinds,
  ): Promise<void> {
    const { name } = file;
    try {
      await file.arrives(async () => {
        const added = this.#model.addPrompt(name, await file.beginning());
        if (added.error?.code === 'corrupt') return undefined; // not all of its tokens have arrived
        return unwrap(added).nTokens / (await tokensPerSecond());
      });
      const blob = await file.whole;
      const added = unwrap(this.#model.addPrompt(name, await file.beginning()));
      this.#warnOfKinds(name, added.kv, kv);
      this.#states.set(name, { bytes: blob.size, open: () => Promise.resolve(piecesOf(blob)) });
    } catch (error) {
      file.cancel();
      this.#warn(this.#reject(name, error));
    }
  }

  #warnOfKinds(name: string, stored: EngineKvKinds, own: EngineKvKinds): void {
    if (stored.k === own.k && stored.v === own.v) return;
    const shown = ({ k, v }: EngineKvKinds) => (k === v ? k : `{ k: ${k}, v: ${v} }`);
    const message =
      `the stored prompt ${name} is only for sessions with kv ${shown(stored)}, and the model's ` +
      `first session has kv ${shown(own)}: load the model or prepare the prompt with the other kv`;
    this.#warn(new KingletError('wrong_shape', message));
  }

  /** Adds the states that the origin keeps, and keeps those of prompts to come. */
  async keep({ cache, maxBytes }: KeepOptions): Promise<void> {
    const kept = new KeptPrompts(cache, maxBytes, (name) => {
      this.#forget(name);
    });
    this.#kept = kept;
    const states = await kept.open();
    await kept.makeRoom(0);
    for (const [name, bytes] of states) await this.#addKept(kept, name, bytes);
    this.#model.storePrompts((name, bytes) => {
      this.#states.set(name, { bytes: bytes.length, open: () => kept.read(name) });
      void kept.write(name, bytes).catch((error: unknown) => {
        this.#forget(name);
        this.#problems.push(`the state of a prompt is not kept: ${messageOf(error)}`);
      });
    });
  }

  async #addKept(kept: KeptPrompts, name: string, bytes: number): Promise<void> {
    try {
      for await (const { bytes: first } of await kept.read(name)) {
        const added = this.#model.addPrompt(name, first);
        // States of other models stay: the origin may load those again.
        if (added.error?.code === 'wrong_shape') return;
        unwrap(added);
        this.#states.set(name, { bytes, open: () => kept.read(name) });
        return;
      }
    } catch (error) {
      await kept.remove(name);
      this.#warn(this.#reject(name, error));
    }
  }

  /**
   * Restores the state that `find` returns, if there is one, and says what that saves. A state that
   * is damaged is forgotten, and the next best one is used.
   */
  async restore(
    session: EngineSession,
    find: () => EngineStoredPrompt | undefined,
  ): Promise<PromptUse> {
    const use: PromptUse = { tokens: 0, bytes: 0, warnings: this.#problems.splice(0) };
    for (let found = find(); found; found = find()) {
      const { name, nTokens: tokens } = found;
      try {
        const bytes = await this.#restore(session, name);
        this.#kept?.used(name);
        return { ...use, tokens, bytes };
      } catch (error) {
        if (error instanceof KingletError && error.code === 'out_of_memory') break;
        use.warnings.push(this.#reject(name, error).message);
        await this.#kept?.remove(name);
      }
    }
    return use;
  }

  /** Copies the state to the engine's memory piece by piece. */
  async #restore(session: EngineSession, name: string): Promise<number> {
    const state = this.#states.get(name);
    if (!state) throw new KingletError('io', 'it is not there any more');
    const { address } = unwrap(session.reserveState(state.bytes));
    let at = 0;
    for await (const { bytes } of await state.open()) {
      if (at + bytes.length > state.bytes) break;
      this.#engine.HEAPU8.set(bytes, address + at);
      at += bytes.length;
    }
    if (at < state.bytes) throw new KingletError('truncated', 'it ends too early');
    unwrap(session.restore());
    return at;
  }

  /** Forgets the state, and returns why. */
  #reject(name: string, error: unknown): KingletError {
    this.#forget(name);
    const code = error instanceof KingletError ? error.code : 'io';
    return new KingletError(code, `the stored prompt ${name} is not used: ${messageOf(error)}`);
  }

  #forget(name: string): void {
    this.#states.delete(name);
    this.#model.removePrompt(name);
  }
}

async function* piecesOf(blob: Blob): AsyncGenerator<{ bytes: Uint8Array }> {
  const reader = blob.stream().getReader();
  for (;;) {
    const { value } = await reader.read();
    if (!value) return;
    yield { bytes: value };
  }
}

/** The states that an origin keeps in its storage, at most `maxBytes` of them. */
class KeptPrompts {
  readonly #cache: FileCache;
  readonly #maxBytes: number;
  readonly #onRemoved: (name: string) => void;
  readonly #sizes = new Map<string, number>();
  #uses: Record<string, number> = {};
  /** Settles when the writing so far is done. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(cache: FileCache, maxBytes: number, onRemoved: (name: string) => void) {
    this.#cache = cache;
    this.#maxBytes = maxBytes;
    this.#onRemoved = onRemoved;
  }

  /** Returns the names of the states and their bytes. */
  async open(): Promise<ReadonlyMap<string, number>> {
    for (const { url, bytes } of await this.#cache.kept()) {
      if (isPrompt(url) && url !== usesUrl) this.#sizes.set(url.slice(scheme.length), bytes);
    }
    try {
      const file = await this.#cache.openKept(usesUrl);
      let text = '';
      for await (const { bytes } of file?.pieces ?? []) text += new TextDecoder().decode(bytes);
      this.#uses = JSON.parse(text || '{}') as Record<string, number>;
    } catch {
      // Only the order of removal depends on it.
    }
    return this.#sizes;
  }

  async read(name: string): Promise<AsyncIterable<SourcePiece>> {
    await this.#tail.catch(() => undefined);
    const file = await this.#cache.openKept(scheme + name);
    if (!file) throw new KingletError('io', 'it is not there any more');
    return file.pieces;
  }

  used(name: string): void {
    if (!this.#sizes.has(name)) return;
    this.#uses[name] = Date.now();
    this.#later(() => this.#writeUses()).catch(() => undefined);
  }

  write(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > this.#maxBytes) {
      this.#onRemoved(name);
      return Promise.resolve();
    }
    return this.#later(async () => {
      await this.makeRoom(bytes.length);
      await this.#cache.put(scheme + name, bytes);
      this.#sizes.set(name, bytes.length);
      this.#uses[name] = Date.now();
      await this.#writeUses();
    });
  }

  async remove(name: string): Promise<void> {
    if (!this.#sizes.delete(name)) return;
    Reflect.deleteProperty(this.#uses, name);
    await this.#cache.remove(scheme + name).catch(() => undefined);
    this.#onRemoved(name);
  }

  /** Removes the least recently used states until there is room for so many bytes more. */
  async makeRoom(bytes: number): Promise<void> {
    const usedAt = (name: string) => this.#uses[name] ?? 0;
    const oldest = [...this.#sizes.keys()].sort((a, b) => usedAt(a) - usedAt(b));
    let sum = bytes;
    for (const size of this.#sizes.values()) sum += size;
    for (const name of oldest) {
      if (sum <= this.#maxBytes) return;
      sum -= this.#sizes.get(name) ?? 0;
      await this.remove(name);
    }
  }

  #writeUses(): Promise<void> {
    return this.#cache.put(usesUrl, new TextEncoder().encode(JSON.stringify(this.#uses)));
  }

  #later<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work, work);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}
