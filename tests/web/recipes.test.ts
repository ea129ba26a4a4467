// Opens the recipes of the folder examples in Chromium, with the packed package next to them.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { installPacked } from './packed.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; " +
  "connect-src 'self'; img-src data:; style-src 'self'";
const template = '{{ messages[-1].content }}';
const model = withChatTemplate(readFileSync(storyModel), template);

let browser: Browser;
let folder: string;
let served: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  ({ folder } = installPacked('recipes'));
  cpSync(join(root, 'examples/chat'), join(folder, 'chat'), { recursive: true });
  cpSync(join(folder, 'node_modules/kinglet/dist'), join(folder, 'chat/kinglet'), {
    recursive: true,
  });
  writeFileSync(join(folder, 'chat/model.gguf'), model);
  served = await serve(folder, { headers: { 'Content-Security-Policy': policy } });
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
  served.server.closeAllConnections();
  served.server.close();
});

/** Opens a recipe as a new visitor. What the browser's console complains of fails the test. */
async function open(recipe: string): Promise<Page> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(`${served.url}${recipe}/`);
  return page;
}

describe('chat', () => {
  const ready = (page: Page) => page.locator('button[name=send]:enabled').waitFor();
  const shown = (page: Page) => page.locator('#log p').allTextContents();

  async function ask(page: Page, question: string): Promise<void> {
    await ready(page);
    await page.locator('input[name=message]').fill(question);
    await page.locator('input[name=message]').press('Enter');
  }

  it('streams answers, and keeps the conversation over reloads until it is cleared', async () => {
    const page = await open('chat');
    await ready(page);
    expect(await page.locator('#status').textContent()).toBe('Kinglet Stories 5M is ready.');
    await page.evaluate(() => {
      const lengths = new Set<number>();
      Object.assign(globalThis, { lengths });
      new MutationObserver(() => {
        lengths.add(document.querySelector('#log .assistant')?.textContent.length ?? 0);
      }).observe(document.body, { subtree: true, childList: true });
    });
    await ask(page, 'Once upon a time');
    await ready(page);
    const nStates = () => (globalThis as unknown as { lengths: Set<number> }).lengths.size;
    expect(await page.evaluate(nStates)).toBeGreaterThan(5);
    await ask(page, 'One day');
    await ready(page);
    const before = await shown(page);
    expect(before).toHaveLength(4);
    expect(before.filter((_, i) => i % 2 === 0)).toEqual(['Once upon a time', 'One day']);
    for (const text of before) expect(text).not.toBe('');
    await page.reload();
    expect(await shown(page)).toEqual(before);
    await page.locator('#clear').click();
    await page.reload();
    await ready(page);
    expect(await shown(page)).toEqual([]);
  });

  it('stops, keeps what was said, and goes on', async () => {
    const page = await open('chat');
    await ask(page, 'Once upon a time');
    await page.locator('#log .assistant:not(:empty)').waitFor();
    await page.locator('button[name=stop]').click();
    await ready(page);
    const [, stopped] = await shown(page);
    expect(stopped).not.toBe('');
    expect(await page.locator('#status').textContent()).toBe('');
    await ask(page, 'One day');
    await ready(page);
    expect((await shown(page))[1]).toBe(stopped);
    expect((await shown(page))[3]).not.toBe('');
  });

  it('keeps what there is of an answer when the page is left', async () => {
    const page = await open('chat');
    await ask(page, 'Once upon a time');
    await page.locator('#log .assistant:not(:empty)').waitFor();
    await page.reload();
    const [question, answer] = await shown(page);
    expect(question).toBe('Once upon a time');
    expect(answer).not.toBe('');
  });

  it('opens a file that is picked, and keeps its model where a file is none', async () => {
    const page = await open('chat');
    await ready(page);
    const pick = (name: string, buffer: Buffer) =>
      page.locator('#file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    const other = withChatTemplate(readFileSync(storyModel), `${template} `);
    await pick('notes.zip', Buffer.from('PK\u0003\u0004 and more'));
    await page.locator('#status', { hasText: /a zip archive, expected a GGUF file/ }).waitFor();
    await ask(page, 'Once upon a time');
    await ready(page);
    expect((await shown(page))[1]).not.toBe('');
    await pick('other.gguf', Buffer.from(other));
    await page.locator('#status', { hasText: 'is ready.' }).waitFor();
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(['<html><title>Sign in</title>'], 'dropped.gguf'));
      document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, dataTransfer: data }));
    });
    await page.locator('#status', { hasText: 'a web page, "Sign in"' }).waitFor();
  });
});
