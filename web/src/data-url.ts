import { KingletError, messageOf } from './errors.ts';

export function isDataUrl(address: string): boolean {
  return /^\s*data:/i.test(address);
}

/**
 * Returns what a data URL holds. Does not use fetch(), because a page's policy may forbid data URLs
 * there. Source: RFC 2397, and the Fetch standard's "data: URL processor".
 *
 * @throws KingletError `invalid_argument`
 */
export function dataOfUrl(address: string): Uint8Array<ArrayBuffer> {
  try {
    const { href, hash } = new URL(address); // other characters than ASCII are escaped
    const whole = href.slice('data:'.length, href.length - hash.length);
    const comma = whole.indexOf(',');
    if (comma < 0) throw new Error('it has no comma');
    const data = whole
      .slice(comma + 1)
      .replaceAll(/%([\da-f]{2})/gi, (_, digits: string) =>
        String.fromCharCode(parseInt(digits, 16)),
      );
    const isBase64 = /;\s*base64\s*$/i.test(whole.slice(0, comma));
    return bytesOf(isBase64 ? atob(data) : data);
  } catch (error) {
    throw new KingletError('invalid_argument', `the data URL is not valid: ${messageOf(error)}`);
  }
}

/** `text` has a character for each byte. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}
