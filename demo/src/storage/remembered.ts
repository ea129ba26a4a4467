// Small values that are remembered for the next visit.
import { addressOf } from '../workspace.ts';
import type { ModelChoice } from '../workspace.ts';

/** A text that is stored under a name. Nothing is stored if the browser refuses storage. */
export class Remembered {
  readonly #key: string;
  /** A function, because merely accessing the storage throws where the browser refuses it. */
  readonly #storage: () => Storage;

  constructor(key: string, storage = () => localStorage) {
    this.#key = key;
    this.#storage = storage;
  }

  get value(): string | undefined {
    try {
      return this.#storage().getItem(this.#key) ?? undefined;
    } catch {
      return undefined;
    }
  }

  set value(text: string | undefined) {
    try {
      if (text === undefined) this.#storage().removeItem(this.#key);
      else this.#storage().setItem(this.#key, text);
    } catch {
      // The storage is refused or full.
    }
  }
}

export interface RememberedModel {
  name: string;
  /** Undefined for a picked file: only the visitor can open it again. */
  source: string | undefined;
}

/** The stored choice of a model. */
export class RememberedChoice {
  readonly #text: Remembered;

  constructor(key: string) {
    this.#text = new Remembered(key);
  }

  get value(): RememberedModel | undefined {
    try {
      const found: unknown = JSON.parse(this.#text.value ?? 'null');
      if (typeof found !== 'object' || !found) return undefined;
      const { name, source } = found as Record<string, unknown>;
      if (typeof name !== 'string') return undefined;
      return { name, source: typeof source === 'string' ? source : undefined };
    } catch {
      return undefined;
    }
  }

  remember({ name, source }: ModelChoice): void {
    this.#text.value = JSON.stringify({ name, source: addressOf(source) });
  }

  forget(): void {
    this.#text.value = undefined;
  }
}
