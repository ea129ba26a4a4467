/** Returns random hexadecimal digits, two for each byte; also in pages without HTTPS. */
export function randomDigits(nBytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(nBytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
