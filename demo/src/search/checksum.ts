// A checksum that identifies a text. WebCrypto's digests exist on secure pages only. Forging this
// one gains nothing: anyone who can write to the page's storage can also write an index.

/** Returns 64 bits in hexadecimal: two sums of the UTF-16 units, each with its own multiplier. */
export function checksum(text: string): string {
  let a = 0x9e3779b1 ^ text.length;
  let b = 0x85ebca77 ^ text.length;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    a = rotate(Math.imul(a ^ unit, 0xc2b2ae3d), 13);
    b = rotate(Math.imul(b + unit, 0x27d4eb2f) + 1, 17);
  }
  return hex(mix(a ^ (b >>> 5))) + hex(mix(b));
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}

/** Each bit of the result depends on each of `x`. Source: MurmurHash3's fmix32. */
function mix(x: number): number {
  let y = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  y = Math.imul(y ^ (y >>> 13), 0xc2b2ae35);
  return (y ^ (y >>> 16)) >>> 0;
}

function hex(x: number): string {
  return x.toString(16).padStart(8, '0');
}
