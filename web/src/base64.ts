/** A call may have only so many arguments. */
const nBytesAtOnce = 2 ** 15;

/** Returns the bytes in Base64. */
export function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += nBytesAtOnce) {
    text += String.fromCharCode(...bytes.subarray(at, at + nBytesAtOnce));
  }
  return btoa(text);
}
