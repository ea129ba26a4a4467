// The built page in headless Chromium, as a visitor uses it.
import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
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

/** Presses a button that has an exchange answered again, or further, and waits for the answer. */
export async function answeredAgain(page: Page, exchange: Locator, name: string): Promise<string> {
  // A short answer may end before the page is painted, and then it is never seen as busy.
  await exchange.evaluate((element: HTMLElement) => {
    new MutationObserver((_, observer) => {
      element.dataset.repainted = '';
      observer.disconnect();
    }).observe(element, { subtree: true, childList: true, attributes: true, characterData: true });
  });
  await exchange.getByRole('button', { name }).click();
  await exchange.and(page.locator('[data-repainted][aria-busy=false]')).waitFor();
  await exchange.evaluate((element: HTMLElement) => delete element.dataset.repainted);
  return (await exchange.locator('.answer').textContent()) ?? '';
}

/** Opens a panel by its button. */
export async function openPanel(page: Page, name: string): Promise<void> {
  await page.locator(`[data-panel=${name}]`).click();
  await page.locator('#panel:visible').waitFor();
}

/** What the page says of the engine that runs. */
export async function engineFacts(page: Page): Promise<string> {
  await openPanel(page, 'look');
  const facts = await page.locator('#engine-facts').textContent();
  await page.locator('#panel-close').click();
  return facts ?? '';
}

/** Drops files on the page, given by name and content. */
export async function drop(page: Page, files: Record<string, string>): Promise<void> {
  const transfer = await page.evaluateHandle((contents) => {
    const data = new DataTransfer();
    for (const [name, text] of Object.entries(contents)) data.items.add(new File([text], name));
    return data;
  }, files);
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

const axeSource = readFileSync(`${root}node_modules/axe-core/axe.min.js`, 'utf8');

/** What of the page as it is now breaks the rules of WCAG 2.2, levels A and AA. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    }),
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** What can be scrolled sideways, or lies right of the screen; code and tables may scroll by themselves. */
export function beyondTheEdge(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const nameOf = ({ id, className, tagName }: Element) => id || className || tagName;
    const scrollers = [...document.querySelectorAll('html, body, #transcript, .panel, .panel *')];
    const tooWide = scrollers.filter((element) => {
      const { overflowX } = getComputedStyle(element);
      const scrolls = element.tagName === 'HTML' || ['auto', 'scroll'].includes(overflowX);
      return scrolls && element.scrollWidth > element.clientWidth;
    });
    const outside = [...document.querySelectorAll('button, input, select, textarea, p, h2')].filter(
      (element) => {
        const { width, right } = element.getBoundingClientRect();
        return width > 1 && right > innerWidth + 0.5;
      },
    );
    return [...tooWide, ...outside].map(nameOf);
  });
}
