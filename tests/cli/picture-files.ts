// PNG and JPEG files, made without a library.
import { crc32, deflateSync } from 'node:zlib';

export type Pixel = [red: number, green: number, blue: number, opacity: number];

function chunk(type: string, data: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, sum]);
}

/**
 * Returns a PNG with 8 bits of red, green, blue and opacity. It holds `nLines` lines, although its
 * header says `height`.
 */
export function png(
  width: number,
  height: number,
  pixel: (x: number, y: number) => Pixel,
  nLines = height,
  others: { type: string; data: Uint8Array }[] = [],
): Buffer {
  const rows = Array.from({ length: nLines }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => pixel(x, y)).flat(),
  ]);
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...others.map(({ type, data }) => chunk(type, data)),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * Returns a progressive grey JPEG of that size with that number of scans, which hold no data.
 */
export function progressiveJpeg(width: number, height: number, nScans: number): Buffer {
  const segment = (marker: number, data: number[]) =>
    Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255, ...data]);
  const word = (value: number) => [value >> 8, value & 255];
  const scan = (...spectrum: number[]) => segment(0xda, [1, 1, 0, ...spectrum]);
  const codes = (table: number) =>
    segment(0xc4, [table, 1, ...Array.from({ length: 15 }, () => 0), 0]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, [0, ...Array.from({ length: 64 }, () => 1)]),
    segment(0xc2, [8, ...word(height), ...word(width), 1, 1, 0x11, 0]),
    ...[codes(0), codes(0x10), scan(0, 0, 0)],
    ...Array.from({ length: nScans - 1 }, () => scan(1, 63, 0)),
    Buffer.from([0xff, 0xd9]),
  ]);
}

/**
 * A JPEG of 32 by 16 pixels, red on the left and blue on the right. Its EXIF data turn it to the
 * right: red above blue.
 */
export const turnedJpeg = Buffer.from(
  `/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAMCAgMCAgMDAwMEAwME
BQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQU
FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAQACADAREAAhEBAxEB/8QAFgABAQEAAAAA
AAAAAAAAAAAAAAcI/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/EABYBAQEBAAAAAAAAAAAAAAAAAAAJB//EABQRAQAAAAAAAAAAAAAA
AAAAAAD/2gAMAwEAAhEDEQA/AM6MMVTAQJcZHQBfUOViwECXGR0Af//Z`,
  'base64',
);
