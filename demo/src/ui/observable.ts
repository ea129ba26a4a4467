/** A value, and those who want to hear of a new one. */
export class Observable<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set value(value: T) {
    this.#value = value;
    this.notify();
  }

  /** Also for what has changed inside the value. */
  notify(): void {
    for (const listener of this.#listeners) listener(this.#value);
  }

  /** Calls at once, and again with every new value. Gives what ends it. */
  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#value);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
