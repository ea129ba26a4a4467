// The demo page with a model that reads pictures, and pictures for it. The models are small, with
// random weights: the tests check only the way from pixels to tokens.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPanel } from './demo-page.ts';
import { root, withChatTemplate } from './support.ts';

export interface NamedFile {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

export const template = '{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}';

const fixtures = join(root, 'tests/fixtures');
const gguf = (name: string, buffer: Uint8Array): NamedFile => ({
  ...{ name, mimeType: 'application/octet-stream' },
  buffer: Buffer.from(buffer),
});

export const textModel = gguf(
  'seeing.gguf',
  withChatTemplate(readFileSync(join(fixtures, 'arch/smollm3.gguf')), template),
);
export const reader = gguf(
  'mmproj-seeing.gguf',
  readFileSync(join(fixtures, 'vision/idefics3-old.gguf')),
);

export async function chooseModels(page: Page, files: NamedFile[]): Promise<void> {
  await openPanel(page, 'models');
  await page.locator('#file').setInputFiles(files);
}

/** Chooses files of models and waits until the page describes the model. */
export async function openModels(page: Page, files: NamedFile[]): Promise<void> {
  const facts = page.locator('#model-facts');
  const before = await facts.textContent();
  await chooseModels(page, files);
  await expect.poll(() => facts.textContent()).not.toBe(before);
}

/** Opens the model that reads pictures and waits until pictures can be added. */
export async function openSeeing(page: Page, by = reader): Promise<void> {
  await openModels(page, [textModel, by]);
  await page.locator('#add:enabled').waitFor();
}

/** Returns pixels [height][width][3]; each colour changes across the picture. */
export function pixelsOf(width: number, height: number): Uint8Array<ArrayBuffer> {
  const pixels = new Uint8Array(3 * width * height);
  for (let y = 0, at = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      for (const value of [(255 * x) / width, (255 * y) / height, (x * y) % 256]) {
        pixels[at++] = value;
      }
    }
  }
  return pixels;
}

/** Returns a PNG file of the pixels of pixelsOf(). */
export function png(name: string, width: number, height: number): NamedFile {
  const lines = Buffer.alloc(height * (3 * width + 1));
  const pixels = pixelsOf(width, height);
  for (let y = 0; y < height; ++y) {
    lines.set(pixels.subarray(3 * width * y, 3 * width * (y + 1)), y * (3 * width + 1) + 1);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8); // 8 bits a channel; red, green and blue
  const buffer = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    ...[chunk('IHDR', header), chunk('IDAT', deflateSync(lines)), chunk('IEND', Buffer.alloc(0))],
  ]);
  return { name, mimeType: 'image/png', buffer };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A reader that makes few rows of a picture of any size. */
export const quickReader = gguf(
  'mmproj-quick.gguf',
  readFileSync(join(fixtures, 'vision/gemma3.gguf')),
);

/** Drops files on the page or pastes them, with a text if `text` is not empty. */
export async function giveFiles(
  page: Page,
  how: 'drop' | 'paste',
  files: NamedFile[],
  text = '',
): Promise<void> {
  const given = files.map(({ name, mimeType, buffer }) => {
    return { name, type: mimeType, data: buffer.toString('base64') };
  });
  await page.evaluate(
    ({ kind, all, plain }) => {
      const transfer = new DataTransfer();
      if (plain) transfer.items.add(plain, 'text/plain');
      for (const { name, type, data } of all) {
        const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
        transfer.items.add(new File([bytes], name, { type }));
      }
      const options = { bubbles: true, cancelable: true };
      const event =
        kind === 'drop'
          ? new DragEvent('drop', { ...options, dataTransfer: transfer })
          : new ClipboardEvent('paste', { ...options, clipboardData: transfer });
      document.querySelector('#prompt')?.dispatchEvent(event);
    },
    { kind: how, all: given, plain: text },
  );
}
