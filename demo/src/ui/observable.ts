/** A value whose listeners are notified of each change. */
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

  /** Calls all listeners. Needed after a change inside the value. */
  notify(): void {
    for (const listener of this.#listeners) listener(this.#value);
  }

  /** Calls the listener now and after every change. Returns a function that ends this. */
  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#value);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
