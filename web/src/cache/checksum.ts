// XXH32, the checksum of cached blocks. Source: the xxHash specification (doc/xxhash_spec.md).
//
// It detects damage by disks and interrupted writes. It need not resist forgery: whoever can write
// to the cache can also write a model. Four independent multiplications make it fast in plain
// JavaScript, and it runs synchronously. WebCrypto's digests are asynchronous, copy their input,
// and accept only whole messages.

const prime1 = 0x9e3779b1;
const prime2 = 0x85ebca77;
const prime3 = 0xc2b2ae3d;
const prime4 = 0x27d4eb2f;
const prime5 = 0x165667b1;

/** The seed is 0. `bytes` must begin at a multiple of four in their buffer (little-endian only). */
export function xxh32(bytes: Uint8Array): number {
  const { length } = bytes;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, length >> 2);
  let at = 0; // words
  let hash = prime5;
  if (length >= 16) {
    let a = (prime1 + prime2) | 0;
    let b = prime2 | 0;
    let c = 0;
    let d = -prime1 | 0;
    for (const end = words.length & ~3; at < end; at += 4) {
      a = round(a, words[at] ?? 0);
      b = round(b, words[at + 1] ?? 0);
      c = round(c, words[at + 2] ?? 0);
      d = round(d, words[at + 3] ?? 0);
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  }
  hash = (hash + length) | 0;
  for (; at < words.length; ++at) {
    hash = Math.imul(rotate((hash + Math.imul(words[at] ?? 0, prime3)) | 0, 17), prime4);
  }
  for (let i = at * 4; i < length; ++i) {
    hash = Math.imul(rotate((hash + Math.imul(bytes[i] ?? 0, prime5)) | 0, 11), prime1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2);
  hash = Math.imul(hash ^ (hash >>> 13), prime3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, prime2)) | 0, 13), prime1);
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}
