// Tells a worker that computes, and so receives no messages, which calls are cancelled. Without
// shared memory there is one way: it can look whether the address of a blob can still be read.

/** Put up for a call. */
export interface WantedSign {
  /** An address that can be read as long as the call is wanted. */
  url: string;
  /** One that can always be read, unless the page's policy forbids it. */
  always: string;
}

/** The page's signs. */
export class WantedSigns {
  readonly #always = newAddress();
  readonly #urls = new Map<number, string>();

  put(id: number): WantedSign {
    const url = newAddress();
    this.#urls.set(id, url);
    return { url, always: this.#always };
  }

  remove(id: number): void {
    const url = this.#urls.get(id);
    if (url !== undefined) URL.revokeObjectURL(url);
    this.#urls.delete(id);
  }

  removeAll(): void {
    for (const id of this.#urls.keys()) this.remove(id);
    URL.revokeObjectURL(this.#always);
  }
}

function newAddress(): string {
  return URL.createObjectURL(new Blob(['wanted']));
}

/** For the worker: whether the sign was removed. */
export function isRemoved({ url, always }: WantedSign): boolean {
  return !canRead(url) && canRead(always);
}

function canRead(url: string): boolean {
  const request = new XMLHttpRequest();
  try {
    request.open('GET', url, false);
    request.send();
    return request.status === 200;
  } catch {
    return false;
  }
}
