// Opens the recipes of the folder examples in Chromium, with the packed package next to them.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { accessibilityFaults } from './demo-page.ts';
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
  for (const recipe of ['chat', 'element']) {
    cpSync(join(root, 'examples', recipe), join(folder, recipe), { recursive: true });
    cpSync(join(folder, 'node_modules/kinglet/dist'), join(folder, recipe, 'kinglet'), {
      recursive: true,
    });
    writeFileSync(join(folder, recipe, 'model.gguf'), model);
  }
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
    await ready(page);
    // From here, the click might come after the end.
    await page.evaluate(() => {
      new MutationObserver((_, observer) => {
        if (!document.querySelector('#log .assistant:not(:empty)')) return;
        observer.disconnect();
        document.querySelector<HTMLButtonElement>('button[name=stop]')!.click();
      }).observe(document.querySelector('#log')!, { childList: true, subtree: true });
    });
    await ask(page, 'Once upon a time');
    await page.locator('#log .assistant:not(:empty)').waitFor();
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

describe('element', () => {
  const chat = 'kinglet-chat';
  const part = (page: Page, name: string) => page.locator(`${chat} [part~=${name}]`);
  const said = async (page: Page) =>
    (await part(page, 'assistant').allTextContents()).map((text) => text.replace('Model: ', ''));

  async function openReady(): Promise<Page> {
    const page = await open('element');
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor();
    return page;
  }

  it('asks with the keyboard alone, and has the roles that screen readers need', async () => {
    const page = await openReady();
    expect(await part(page, 'status').textContent()).toBe('');
    expect(await part(page, 'progress').isVisible()).toBe(false);
    const message = page.getByRole('textbox', { name: 'Message' });
    expect(await message.getAttribute('placeholder')).toBe('A question');
    await page.evaluate(() => {
      document.querySelector('kinglet-chat')!.focus();
      const counts = { changes: 0, busy: false };
      Object.assign(globalThis, { counts });
      const element = document.querySelector('kinglet-chat')!;
      element.addEventListener('change', () => {
        counts.changes++;
        counts.busy ||=
          element.shadowRoot!.querySelector('[role=log]')!.getAttribute('aria-busy') === 'true';
      });
    });
    await page.keyboard.type('Once upon');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('a time');
    expect(await message.inputValue()).toBe('Once upon\na time');
    await page.keyboard.press('Enter');
    await page.locator(`${chat} [role=log][aria-busy=false] [part~=assistant]`).waitFor();
    expect(await part(page, 'user').textContent()).toBe('You: Once upon\na time');
    const [answer] = await said(page);
    expect(answer).not.toBe('');
    const seen = await page.evaluate(() => ({
      ...(globalThis as unknown as { counts: { changes: number; busy: boolean } }).counts,
      messages: document.querySelector('kinglet-chat')!.chat.getState().messages,
    }));
    expect(seen.busy).toBe(true);
    expect(seen.changes).toBeGreaterThan(5); // it streams
    expect(seen.messages).toEqual([
      { role: 'user', content: 'Once upon\na time' },
      { role: 'assistant', content: answer },
    ]);
    expect(await message.inputValue()).toBe('');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    const background = (name: string) =>
      part(page, name).evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await background('user')).toBe('rgb(36, 69, 42)'); // the page's custom property
    const weight = (element: Element) => getComputedStyle(element).fontWeight;
    expect(await part(page, 'send').evaluate(weight)).toBe('700');
    expect(await part(page, 'stop').evaluate(weight)).toBe('400');
  });

  it('stops with Escape and keeps what was said', async () => {
    const page = await openReady();
    await page.evaluate(() => {
      const element = document.querySelector('kinglet-chat')!;
      element.addEventListener('change', () => {
        const { isAnswering, messages } = element.chat.getState();
        if (!isAnswering || messages[1]?.content === '') return;
        const escape = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true });
        element.shadowRoot!.querySelector('textarea')!.dispatchEvent(escape);
      });
    });
    await page.getByRole('textbox').fill('Once upon a time');
    await page.getByRole('textbox').press('Enter');
    await page.locator(`${chat} [role=log][aria-busy=false] [part~=assistant]`).waitFor();
    const [stopped] = await said(page);
    expect(stopped).not.toBe('');
    expect(await part(page, 'error').textContent()).toBe('');
    expect(await page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true);
  });

  it('says what failed, takes another model, and frees it when it leaves the page', async () => {
    const page = await openReady();
    expect(page.workers().length).toBeGreaterThan(0);
    const setModel = (address: string) =>
      page.evaluate((given) => {
        document.querySelector('kinglet-chat')!.setAttribute('model', given);
      }, address);
    await setModel('style.css');
    await page.getByRole('alert').filter({ hasText: 'the file begins with "body' }).waitFor();
    await setModel('model.gguf?again');
    const send = page.getByRole('button', { name: 'Send', disabled: false });
    await page.getByRole('alert').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
    await send.waitFor();
    await page.evaluate(() => {
      document.querySelector('kinglet-chat')!.setAttribute('max-tokens', 'many');
    });
    await page.getByRole('textbox').fill('Once upon a time');
    await send.click();
    await page.getByRole('alert').filter({ hasText: 'maxTokens must be' }).waitFor();
    expect(await page.getByRole('textbox').inputValue()).toBe('Once upon a time');
    expect(await said(page)).toEqual([]);
    await page.evaluate(() => {
      document.querySelector('kinglet-chat')!.remove();
    });
    await expect.poll(() => page.workers().length).toBe(0);
  });
});
