// The extension that `npx kinglet new --template extension` makes, loaded in browsers.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ModelInfo } from '../../dist/index.js';
import { launchChromiumWithProfile } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { complaintsOf } from './complaints.ts';
import { accessibilityFaults, beyondTheEdge } from './demo-page.ts';
import { copyTemplate, installPacked } from './packed.ts';
import { firefoxExtension, openFirefox } from './webdriver.ts';
import { storyModel, withChatTemplate } from './support.ts';

let folder: string;
let site: { server: Server; url: string };
/** Whether the model's server does not answer. */
let isOffline = false;
beforeAll(async () => {
  ({ folder } = installPacked('extension'));
  site = await serve(folder, { headers: { 'Access-Control-Allow-Origin': '*' } });
  site.server.prependListener('request', ({ url, socket }: IncomingMessage) => {
    if (isOffline && url === '/model.gguf') socket.destroy();
  });
  const template = '{% for m in messages %}{{ m.content }}\n{% endfor %}';
  writeFileSync(join(folder, 'model.gguf'), withChatTemplate(readFileSync(storyModel), template));
  const text = 'Once upon a time there was a fox. '.repeat(40); // more than the model's context
  for (const name of ['fox', 'owl']) {
    const page = `<!doctype html><html lang="en"><title>The ${name}</title><p>${text}`;
    writeFileSync(join(folder, `${name}.html`), page);
  }
}, 120_000);
afterAll(() => {
  site.server.closeAllConnections();
  site.server.close();
});

/** Makes an extension that may read this site without a click, and has a model of it. */
function makeExtension(name: string): string {
  copyTemplate(folder, 'extension', name);
  const file = (path: string) => join(folder, name, path);
  const code = readFileSync(file('model.js'), 'utf8');
  const own = code.replace(/'hf:[^']+'/, `'${site.url}model.gguf'`);
  expect(own).not.toBe(code);
  writeFileSync(file('model.js'), own);
  const manifest = JSON.parse(readFileSync(file('manifest.json'), 'utf8')) as object;
  const host_permissions = ['http://localhost/*'];
  writeFileSync(file('manifest.json'), JSON.stringify({ ...manifest, host_permissions }));
  return join(folder, name);
}

interface Extension {
  chrome: { offscreen: { closeDocument: () => void } };
}

describe('Chromium', () => {
  let profile: string;
  let context: BrowserContext;
  let address: string;
  let article: Page;
  beforeAll(async () => {
    profile = mkdtempSync(join(tmpdir(), 'kinglet-'));
    const extension = makeExtension('chrome');
    const args = [`--disable-extensions-except=${extension}`, `--load-extension=${extension}`];
    context = await launchChromiumWithProfile(profile, args);
    const [worker = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    address = new URL('.', worker.url()).href;
    article = context.pages()[0]!;
    await article.goto(`${site.url}fox.html`);
  }, 60_000);
  afterAll(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });

  /** Opens the panel as a tab behind the page that it is asked about. */
  async function openPanel(): Promise<Page> {
    const panel = await context.newPage();
    const complaints = complaintsOf(panel);
    onTestFinished(async () => {
      await panel.close();
      expect(complaints).toEqual([]);
    });
    await panel.goto(`${address}panel.html`);
    await article.bringToFront();
    return panel;
  }
  const ready = (panel: Page) => panel.locator('#model', { hasText: 'is ready.' }).waitFor();
  const shown = (panel: Page) => panel.locator('#log > div').allInnerTexts();
  /** Waits for the first text of the message with this number, from 1. */
  const begun = (panel: Page, n: number) =>
    panel.locator(`#log > :nth-child(${String(n)}):not(:empty)`).waitFor();

  async function ask(panel: Page, question: string): Promise<void> {
    await panel.locator('input').fill(question);
    await panel.locator('input').press('Enter');
  }
  async function answered(panel: Page): Promise<void> {
    await panel.locator('#log[aria-busy=false] .assistant:not(:empty)').last().waitFor();
  }
  /** Makes the panel do this as soon as the next answer has some text. */
  const atFirstText = (panel: Page, act: 'stop' | 'reload' | 'end the model') =>
    panel.evaluate((todo) => {
      const log = document.querySelector('#log')!;
      const before = log.children.length;
      new MutationObserver((_, observer) => {
        if (log.children.length < before + 2 || !log.lastElementChild?.textContent) return;
        observer.disconnect();
        if (todo === 'stop') {
          document.querySelector<HTMLButtonElement>('button[name=stop]')!.click();
        } else if (todo === 'reload') location.reload();
        else (globalThis as unknown as Extension).chrome.offscreen.closeDocument();
      }).observe(log, { childList: true, subtree: true });
    }, act);

  it('answers questions about the open page, with threads, and streams', async () => {
    const panel = await openPanel();
    await ready(panel);
    const lengths = await panel.evaluateHandle(() => {
      const seen = new Set<number>();
      const log = document.querySelector('#log')!;
      new MutationObserver(() => {
        seen.add(log.lastElementChild?.textContent.length ?? 0);
      }).observe(log, { childList: true, subtree: true });
      return seen;
    });
    await ask(panel, 'One day');
    await answered(panel);
    expect(await lengths.evaluate((seen) => seen.size)).toBeGreaterThan(5);
    expect(await panel.locator('#about').textContent()).toBe('The fox');
    expect(await shown(panel)).toEqual(['One day', expect.stringMatching(/\w{3}/)]);
    const runtime = await panel.evaluate<ModelInfo['runtime']>(`new Promise((resolve) => {
      chrome.runtime.connect({ name: 'panel' }).onMessage.addListener(({ ready }) => {
        if (ready) resolve(ready.runtime);
      });
    })`);
    expect(runtime.worker).toBe('own');
    expect(runtime.variant).toMatch(/-threads$/);
  });

  it('stops, keeps what was said, and goes on', async () => {
    const panel = await openPanel();
    await panel.locator('#clear').click();
    await atFirstText(panel, 'stop');
    await ask(panel, 'Once upon a time');
    await answered(panel);
    const stopped = await shown(panel);
    expect(stopped).toHaveLength(2);
    await ask(panel, 'One day');
    await begun(panel, 4);
    await answered(panel);
    expect((await shown(panel)).slice(0, 3)).toEqual([...stopped, 'One day']);
  });

  it('keeps the conversation, and what there is of an answer, over reloads', async () => {
    const panel = await openPanel();
    const before = await shown(panel);
    expect(before).toHaveLength(4);
    await atFirstText(panel, 'reload');
    const reloaded = panel.waitForEvent('load');
    await ask(panel, 'The end');
    await reloaded;
    await begun(panel, 6);
    expect((await shown(panel)).slice(0, 5)).toEqual([...before, 'The end']);
    await panel.locator('#clear').click();
    await panel.reload();
    await ready(panel);
    expect(await shown(panel)).toEqual([]);
  });

  it('goes on when the browser ends the background', async () => {
    const panel = await openPanel();
    await ask(panel, 'Once upon a time');
    await answered(panel);
    const before = await shown(panel);
    const session = await context.browser()!.newBrowserCDPSession();
    const background = async () => {
      const { targetInfos } = await session.send('Target.getTargets');
      return targetInfos.find(({ type }) => type === 'service_worker');
    };
    const { targetId } = (await background())!;
    await session.send('Target.closeTarget', { targetId });
    await expect.poll(background).toBeUndefined();
    await panel.reload(); // as if it was closed and opened again
    await ready(panel);
    expect(await shown(panel)).toEqual(before);
    await ask(panel, 'One day');
    await begun(panel, 4);
    await answered(panel);
  });

  it('goes on when the browser ends the model, with the copy that it kept', async () => {
    const panel = await openPanel();
    isOffline = true;
    await panel.locator('#clear').click();
    await atFirstText(panel, 'end the model');
    await ask(panel, 'Once upon a time');
    await panel.locator('#status', { hasText: 'has ended the model' }).waitFor();
    const before = await shown(panel);
    expect(before).toHaveLength(2);
    await ask(panel, 'One day');
    await begun(panel, 4);
    await answered(panel);
    expect((await shown(panel)).slice(0, 2)).toEqual(before);
  });

  it('begins anew on another page, and says which it cannot read', async () => {
    const panel = await openPanel();
    const before = await shown(panel);
    await article.goto('chrome://version');
    await ask(panel, 'Once upon a time');
    await panel.locator('#status', { hasText: /Click the extension’s button/ }).waitFor();
    expect(await panel.locator('input').inputValue()).toBe('Once upon a time');
    expect(await shown(panel)).toEqual(before);
    await article.goto(`${site.url}owl.html#part`);
    await panel.locator('input').press('Enter');
    await panel.locator('#about', { hasText: 'The owl' }).waitFor();
    await answered(panel);
    expect(await shown(panel)).toHaveLength(2);
  });

  it.each(['light', 'dark'] as const)('fits panels, in %s colors', async (colorScheme) => {
    const panel = await openPanel();
    await ready(panel);
    await panel.emulateMedia({ colorScheme });
    for (const [width, height] of [
      [400, 800],
      [320, 568],
    ] as const) {
      await panel.setViewportSize({ width, height });
      expect(await beyondTheEdge(panel)).toEqual([]);
    }
    expect(await accessibilityFaults(panel)).toEqual([]);
  });
});

describe('Firefox', () => {
  it('answers questions about the open page, and keeps the conversation', async () => {
    isOffline = false;
    const id = 'ask-this-page@example.org';
    const firefox = await openFirefox({ folder: makeExtension('firefox'), id });
    onTestFinished(() => firefox.close());
    const panel = `${firefoxExtension}panel.html`;
    await firefox.goto(panel);
    // The page becomes the active tab; the commands still go to the panel's.
    const ask = `const [url, done] = arguments;
      browser.tabs.create({ url }).then(({ id }) => {
        browser.tabs.onUpdated.addListener((tabId, { status }) => {
          if (tabId !== id || status !== 'complete') return;
          document.querySelector('input').value = 'One day';
          document.querySelector('form').requestSubmit();
          done();
        });
      });`;
    await firefox.executeAsync(ask, [`${site.url}fox.html`]);
    const shown = () =>
      firefox.executeAsync(
        `arguments[0]([...document.querySelectorAll('#about, #model, #log:not([aria-busy=true]) > *')]
          .map(({ textContent }) => textContent))`,
        [],
      );
    const answer = expect.stringMatching(/\w{3}/) as string;
    const expected = ['The fox', 'One day', answer, 'Kinglet Stories 5M is ready.'];
    await expect.poll(shown, { timeout: 30_000 }).toEqual(expected);
    await firefox.goto(`${site.url}owl.html`);
    await firefox.goto(panel);
    await expect.poll(shown, { timeout: 30_000 }).toEqual(expected);
  }, 90_000);
});
