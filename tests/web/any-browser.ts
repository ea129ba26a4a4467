// A page in any browser, so that one test can run in all of them.
import type { Page } from 'playwright-core';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { openFirefox, openWebKit } from './webdriver.ts';
import type { Driven } from './webdriver.ts';

/** The engines of Chrome and Edge, of Firefox, and of Safari. */
export const browserNames = ['Chromium', 'Firefox', 'WebKit'] as const;
export type BrowserName = (typeof browserNames)[number];

export interface AnyPage {
  goto(url: string): Promise<void>;
  /** Runs the function in the page; its parameters and its result are JSON. */
  evaluate<P extends unknown[], R>(
    run: (...parameters: P) => R | Promise<R>,
    ...parameters: P
  ): Promise<R>;
  /** Closes the page and its browser, which has no other page. */
  close(): Promise<void>;
}

export async function openAnyPage(name: BrowserName): Promise<AnyPage> {
  if (name === 'Chromium') return openInChromium();
  const driven = await (name === 'Firefox' ? openFirefox() : openWebKit());
  return {
    goto: (url) => driven.goto(url),
    close: () => driven.close(),
    evaluate: (run, ...parameters) => evaluate(driven, run, parameters),
  };
}

/** Opens a page and waits for a global of its module: WebKit reports a page as loaded before. */
export async function openKinglet(
  page: Omit<AnyPage, 'close'>,
  url: string,
  awaited = 'kinglet',
): Promise<void> {
  await page.goto(url);
  const isThere = await page.evaluate(async (name) => {
    for (let i = 0; i < 200; ++i) {
      if (name in globalThis) return true;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return false;
  }, awaited);
  if (!isThere) throw new Error(`${url}: the page has no ${awaited} after 20 seconds`);
}

/** Keeps the cache open: WebKit under WebDriver stores nothing for good and drops unused caches. */
export async function holdCache(page: AnyPage): Promise<void> {
  await page.evaluate(async () => {
    (globalThis as { heldCache?: Cache }).heldCache = await caches.open('kinglet');
  });
}

export interface Tab extends Omit<AnyPage, 'close'> {
  close(): Promise<void>;
  /** Ends its process, if the browser can be asked for that; otherwise closes it. */
  kill(): Promise<void>;
}

export interface TabbedBrowser {
  newTab(): Promise<Tab>;
  close(): Promise<void>;
}

/**
 * Opens a browser whose tabs share its storage. Firefox and WebKit do one command at a time, in the
 * order in which they were given: what takes long in a tab is better begun than awaited.
 */
export async function openTabs(name: BrowserName): Promise<TabbedBrowser> {
  if (name === 'Chromium') {
    const browser = await launchHeadlessShell();
    const context = await browser.newContext();
    return {
      newTab: async () => {
        const page = await context.newPage();
        const kill = async () => {
          const gone = page.waitForEvent('crash');
          const session = await context.newCDPSession(page);
          session.send('Page.crash').catch(() => undefined);
          await gone;
        };
        return { ...ofChromium(page), close: () => page.close(), kill };
      },
      close: () => browser.close(),
    };
  }
  const driven = await (name === 'Firefox' ? openFirefox() : openWebKit());
  const lasting = await driven.newTab(); // commands need a tab that is not closed
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(command: () => Promise<T>): Promise<T> => {
    const done = last.then(command);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    newTab: async () => {
      const tab = await inTurn(async () => {
        await driven.switchTo(lasting);
        return driven.newTab();
      });
      const inTab = <T>(command: () => Promise<T>) =>
        inTurn(async () => {
          await driven.switchTo(tab);
          return command();
        });
      const close = () => inTab(() => driven.closeTab());
      return {
        goto: (url) => inTab(() => driven.goto(url)),
        evaluate: (run, ...parameters) => inTab(() => evaluate(driven, run, parameters)),
        ...{ close, kill: close },
      };
    },
    close: () => driven.close(),
  };
}

async function openInChromium(): Promise<AnyPage> {
  const browser = await launchHeadlessShell();
  return { ...ofChromium(await browser.newPage()), close: () => browser.close() };
}

function ofChromium(page: Page): Pick<AnyPage, 'goto' | 'evaluate'> {
  return {
    goto: async (url) => {
      await page.goto(url);
    },
    evaluate: (run, ...parameters) =>
      page.evaluate(
        ([code, values]) => {
          return (eval(code) as typeof run)(...(values as typeof parameters));
        },
        [`(${run.toString()})`, parameters] as const,
      ),
  };
}

async function evaluate<P extends unknown[], R>(
  driven: Driven,
  run: (...parameters: P) => R | Promise<R>,
  parameters: P,
): Promise<R> {
  // Uses the page's own eval(): Firefox would run the script beside the page, not in it.
  const script = `const [code, values, answer] = arguments;
    const page = window.wrappedJSObject ?? window;
    page.eval(code)(values).then(answer);`;
  const code = `(async (values) => {
    try {
      return JSON.stringify({ value: await (${run.toString()})(...JSON.parse(values)) });
    } catch (error) {
      return JSON.stringify({ error: String(error) });
    }
  })`;
  const answer = await driven.executeAsync(script, [code, JSON.stringify(parameters)]);
  const { value, error } = JSON.parse(answer as string) as { value: R; error?: string };
  if (error !== undefined) throw new Error(error);
  return value;
}
