// The table "which context of an extension can do what" of docs/guide.md: each line is a test.
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelInfo } from '../../dist/index.js';
import { launchChromiumWithProfile } from '../../scripts/chromium.mjs';
import { firefoxExtension, openFirefox } from './webdriver.ts';
import type { DrivenFirefox } from './webdriver.ts';
import { root, storyModel, tellByCli } from './support.ts';

const folder = join(root, 'build/extension-contexts');

let story: string;
beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'tests/web/places'), folder, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
  copyFileSync(storyModel, join(folder, 'model.gguf'));
  story = tellByCli('Once upon a time', 40);
});

/** How an extension's page opens the address in a context: what to set before, and at a click. */
const openers = {
  tab: ['', 'api.tabs.create({ url: address })'],
  'side panel': [
    'await api.sidePanel.setOptions({ path: address })',
    'api.sidePanel.open({ windowId })',
  ],
  sidebar: ['await api.sidebarAction.setPanel({ panel: address })', 'api.sidebarAction.open()'],
  popup: ['await api.action.setPopup({ popup: address })', 'api.action.openPopup()'],
  'offscreen document': [
    '',
    "api.offscreen.createDocument({ url: address, reasons: ['WORKERS'], justification: 'A test' })",
  ],
};
type Kind = keyof typeof openers;

/** What the browsers call them. */
const contextTypes: Record<Kind, string> = {
  ...{ tab: 'TAB', 'side panel': 'SIDE_PANEL', sidebar: 'SIDE_PANEL', popup: 'POPUP' },
  'offscreen document': 'OFFSCREEN_DOCUMENT',
};

/**
 * The script that adds the button to a page of the extension. When the context has probed the model, or
 * could not be opened, the button's text is what it tells, with the type of the context.
 */
function buttonScript(kind: Kind): string {
  const load = JSON.stringify({ nThreads: 2 });
  const query = new URLSearchParams({ place: 'probe', load, in: kind });
  const [prepare, open] = openers[kind];
  return `(async () => {
    const api = globalThis.browser ?? globalThis.chrome;
    const address = api.runtime.getURL(${JSON.stringify(`index.html?${String(query)}`)});
    const { id: windowId } = await api.windows.getCurrent();
    ${prepare!};
    const before = (await api.runtime.getContexts({})).map(({ contextId }) => contextId);
    const button = document.createElement('button');
    button.textContent = 'Open';
    document.body.append(button);
    const show = (told) => (button.textContent = JSON.stringify(told));
    new BroadcastChannel('places').onmessage = async ({ data }) => {
      if (data.address !== address) return;
      const contexts = await api.runtime.getContexts({});
      const added = contexts.filter(({ contextId }) => !before.includes(contextId));
      show({ ...data.told, types: added.map(({ contextType }) => contextType) });
    };
    button.onclick = () => {
      ${open!}.catch(({ message }) => show({ message }));
    };
  })()`;
}

const works = (kind: Kind, runtime: Partial<ModelInfo['runtime']>) => ({
  text: story,
  stoppedText: { name: 'AbortError', isCut: true },
  stoppedPrompt: { name: 'AbortError', isCut: true },
  textAfterwards: story,
  runtime,
  types: [contextTypes[kind]],
});

describe('Chromium', () => {
  let profile: string;
  let context: BrowserContext;
  let address: string;
  beforeAll(async () => {
    profile = mkdtempSync(join(tmpdir(), 'kinglet-'));
    const args = [`--disable-extensions-except=${folder}`, `--load-extension=${folder}`];
    context = await launchChromiumWithProfile(profile, args);
    const [worker = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    address = new URL('.', worker.url()).href;
  });
  afterAll(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });

  it.each(['tab', 'side panel', 'popup', 'offscreen document'] as const)(
    'runs a model with threads: %s',
    async (kind) => {
      const page = await context.newPage();
      await page.goto(`${address}index.html?place=test`);
      await page.evaluate(buttonScript(kind));
      await page.click('button');
      const probed = await page.locator('button', { hasText: '{' }).textContent();
      expect(JSON.parse(probed!)).toMatchObject(works(kind, { worker: 'own', nThreads: 2 }));
      await page.close();
    },
  );

  it('runs a model in place: background', async () => {
    const page = await context.newPage();
    await page.goto(`${address}index.html?place=test`);
    const probed = await page.evaluate('chrome.runtime.sendMessage({})');
    const runtime = { worker: 'here', hereReason: 'no_workers', nThreads: 1 };
    expect(probed).toMatchObject({ text: story, runtime });
    await page.close();
  });
});

describe('Firefox', () => {
  let firefox: DrivenFirefox;
  beforeAll(async () => {
    firefox = await openFirefox({ folder, id: 'places@example.org' });
  });
  afterAll(async () => {
    await firefox.close();
  });
  const evaluate = (expression: string) =>
    firefox.executeAsync(`Promise.resolve(${expression}).then(arguments[0])`, []);
  const oneThread = { worker: 'own', nThreads: 1 } as const;

  it('runs a model: tab', async () => {
    const load = JSON.stringify({ nThreads: 2 });
    const query = new URLSearchParams({ place: 'probe', load });
    await firefox.goto(`${firefoxExtension}index.html?${String(query)}`);
    const told = () => evaluate("document.querySelector('output').textContent");
    await expect.poll(told).toContain('{');
    const probed = JSON.parse((await told()) as string) as object;
    expect(probed).toMatchObject({ text: story, runtime: oneThread });
  });

  it.each(['sidebar', 'popup'] as const)('runs a model: %s', async (kind) => {
    await firefox.goto(`${firefoxExtension}index.html?place=test`);
    await evaluate(buttonScript(kind));
    await firefox.click('button');
    const told = () => evaluate("document.querySelector('button').textContent");
    await expect.poll(told).toContain('{');
    expect(JSON.parse((await told()) as string)).toMatchObject(works(kind, oneThread));
  });

  it('runs a model: background', async () => {
    await firefox.goto(`${firefoxExtension}index.html?place=test`);
    const probed = await evaluate('browser.runtime.sendMessage({ nThreads: 2 })');
    expect(probed).toMatchObject({ text: story, runtime: oneThread });
  });
});
