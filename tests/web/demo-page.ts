// Uses the built page in headless Chromium, as a visitor does.
import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { root } from './support.ts';

export const opening = 'Once upon a time';

type Served = Awaited<ReturnType<typeof serve>>;

export interface Site {
  browser: Browser;
  /** Serves the page with the headers that threads need; `plain` serves it without them. */
  threaded: Served;
  plain: Served;
  close(): Promise<void>;
}

export async function openSite(folder = `${root}demo/dist`): Promise<Site> {
  const threaded = await serve(folder, { isolated: true });
  const plain = await serve(folder, { isolated: false });
  const browser = await launchHeadlessShell();
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

/** Opens the page as a new visitor, and waits for the end of its first story. See openTab(). */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Page> {
  const context = await browser.newContext({ serviceWorkers: 'block', ...options });
  onTestFinished(() => context.close());
  return openTab(context, url);
}

/**
 * Opens the page in another tab of the same visitor, and waits for the end of the last answer.
 * Errors and warnings in the browser's console fail the test.
 */
export async function openTab(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
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

/** Waits until the last answer is complete; returns its text. */
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

/** Presses a button that repeats or continues an answer; returns the answer when it is complete. */
export async function answeredAgain(page: Page, exchange: Locator, name: string): Promise<string> {
  // A short answer may end before the page is painted, and would then never be seen as busy.
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

/** Opens a panel with its button. */
export async function openPanel(page: Page, name: string): Promise<void> {
  await page.locator(`[data-panel=${name}]`).click();
  await page.locator('#panel:visible').waitFor();
}

/** Returns what the page says about the engine that runs. */
export async function engineFacts(page: Page): Promise<string> {
  await openPanel(page, 'inspect');
  const facts = await page.locator('#engine-facts').textContent();
  await page.locator('#panel-close').click();
  return facts ?? '';
}

/** Drops files on the page; `files` maps names to contents. */
export async function drop(page: Page, files: Record<string, string>): Promise<void> {
  const transfer = await page.evaluateHandle((contents) => {
    const data = new DataTransfer();
    for (const [name, text] of Object.entries(contents)) data.items.add(new File([text], name));
    return data;
  }, files);
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

const axeSource = readFileSync(`${root}node_modules/axe-core/axe.min.js`, 'utf8');

/** Returns the parts of the page's current state that break the rules of WCAG 2.2, A and AA. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    }),
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/**
 * Returns the elements that scroll sideways or reach beyond the right edge. In the transcript, code
 * and tables may scroll by themselves.
 */
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
