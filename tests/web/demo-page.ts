// The built page in headless Chromium, as a visitor uses it.
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { launchChromium } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { root } from './support.ts';

export const opening = 'Once upon a time';

type Served = Awaited<ReturnType<typeof serve>>;

export interface Site {
  browser: Browser;
  /** With the headers that threads need, and without. */
  threaded: Served;
  plain: Served;
  close(): Promise<void>;
}

export async function openSite(folder = `${root}demo/dist`): Promise<Site> {
  const threaded = await serve(folder, { isolated: true });
  const plain = await serve(folder, { isolated: false });
  const browser = await launchChromium();
  return {
    ...{ browser, threaded, plain },
    async close() {
      await browser.close();
      for (const { server } of [threaded, plain]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/**
 * The page, when it has told the story that it begins with. What the browser's console complains of
 * fails the test.
 */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<Page> {
  const page = await browser.newPage({ serviceWorkers: 'block', ...options });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    if (!message.text().endsWith('blocked by Playwright')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  onTestFinished(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(url);
  await answered(page);
  return page;
}

/** The last answer's text, when it is there whole. */
export async function answered(page: Page): Promise<string> {
  await page.locator('.exchange').last().and(page.locator('[aria-busy=false]')).waitFor();
  return (await page.locator('.exchange .answer').last().textContent()) ?? '';
}

/** Sends a prompt and waits for the answer. */
export async function ask(page: Page, prompt: string): Promise<string> {
  const nBefore = await page.locator('.exchange').count();
  await page.locator('#prompt').fill(prompt);
  await page.locator('#prompt').press('Enter');
  await page.locator('.exchange').nth(nBefore).waitFor();
  return answered(page);
}

/** Opens a panel by its button. */
export async function openPanel(page: Page, name: string): Promise<void> {
  await page.locator(`[data-panel=${name}]`).click();
  await page.locator('#panel:visible').waitFor();
}

/** Drops a file on the page. */
export async function drop(page: Page, name: string, content: string): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([fileName, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], fileName));
      return data;
    },
    [name, content] as const,
  );
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}
