// The browser's database (IndexedDB), with promises.

/** Opens a database. Rejects or throws if the browser refuses, as some do in private windows. */
export function openDatabase(
  name: string,
  version: number,
  onUpgrade: (database: IDBDatabase) => void,
): Promise<IDBDatabase> {
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => {
    onUpgrade(request.result);
  };
  return result(request);
}

export function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(failure(request));
    };
  });
}

/** Changes these stores. Resolves when the changes are saved. */
export function write(
  database: IDBDatabase,
  names: string[],
  change: (stores: IDBObjectStore[]) => unknown,
): Promise<void> {
  const transaction = database.transaction(names, 'readwrite');
  change(names.map((name) => transaction.objectStore(name)));
  return completion(transaction);
}

/** Resolves when the transaction's changes are saved: a full disk is reported only then. */
export function completion(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => {
      resolve();
    };
    transaction.onabort = () => {
      reject(transaction.error ?? new Error('the browser did not store it'));
    };
  });
}

function failure({ error }: { error: DOMException | null }): Error {
  return error ?? new Error('the browser gave no reason');
}
