// Reads a file of the origin private file system as fast as the browser can.
const pieceBytes = 1 << 20;

globalThis.onmessage = async ({ data: name }) => {
  const root = await navigator.storage.getDirectory();
  const file = await (await root.getFileHandle(name)).createSyncAccessHandle();
  const startedAt = performance.now();
  const bytes = file.getSize();
  const target = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += pieceBytes) {
    file.read(target.subarray(at, at + pieceBytes), { at });
  }
  const ms = performance.now() - startedAt;
  file.close();
  postMessage({ bytes, ms });
};
