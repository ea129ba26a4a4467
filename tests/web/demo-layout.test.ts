// The page on screens of all sizes: no state of the page needs scrolling sideways.
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Site } from './demo-page.ts';
import { answered, ask, beyondTheEdge, drop, openPage, openPanel, openSite } from './demo-page.ts';
import { giveFiles, openSeeing, png, quickReader } from './seeing-page.ts';
import { root } from './support.ts';

const screenshots = `${root}build/screenshots`;

let site: Site;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

const sizes = {
  'small phone': { width: 320, height: 568 },
  phone: { width: 360, height: 740 },
  'large phone': { width: 390, height: 844 },
  'phone on its side': { width: 568, height: 320 },
  tablet: { width: 768, height: 1024 },
  desktop: { width: 1280, height: 800 },
};

/** The states of the page in order: each begins where the state before has left the page. */
const states: Record<string, (page: Page) => Promise<void>> = {
  story: () => Promise.resolve(),
  tokens: async (page) => {
    await page.getByRole('button', { name: 'Tokens', exact: true }).click();
    await page.locator('.token').nth(3).click();
  },
  error: async (page) => {
    await drop(page, { [`${'diary'.repeat(30)}.gguf`]: 'no model' });
    await page.locator('#alert', { hasText: 'could not be loaded' }).waitFor();
  },
  models: (page) => openPanel(page, 'models'),
  history: async (page) => {
    await page.locator('#panel-close').click();
    await page.locator('#prompt').fill('Once-'.repeat(20));
    await page.locator('#prompt').press('Enter');
    await answered(page);
    await openPanel(page, 'history');
    await page.getByRole('button', { name: /^Rename/ }).click();
    await page.locator('.rename').waitFor();
  },
  search: (page) => openPanel(page, 'search'),
  inspect: async (page) => {
    await openPanel(page, 'inspect');
    await page.locator('#inspect').click();
    await page.locator('#fork-run').click();
    await page.locator('.fork-rows button:enabled').first().waitFor();
    for (const summary of await page.locator('#file-content summary').all()) await summary.click();
  },
  compare: async (page) => {
    await openPanel(page, 'compare');
    await page.locator('#compare-run').click();
    await page.locator('.verdict', { hasText: /same|No difference/ }).waitFor();
  },
  settings: (page) => openPanel(page, 'settings'),
};

const manyPictures = Array.from({ length: 12 }, (_, i) => png(`${String(i)}.png`, 60 + 9 * i, 64));

/** The states with a model that reads pictures. */
const pictureStates: Record<string, (page: Page) => Promise<void>> = {
  pictures: async (page) => {
    await giveFiles(page, 'drop', [png('wide.png', 1500, 40), png('high.png', 40, 1500)]);
    await page.locator('#draft img').nth(1).waitFor();
    await ask(page, 'What is this?');
    await giveFiles(page, 'drop', manyPictures);
    await page.locator('#draft img').nth(11).waitFor();
  },
  menu: (page) => page.locator('#add').click(),
  camera: async (page) => {
    await page.getByRole('button', { name: 'Live camera' }).click();
    await page.locator('#live-run').waitFor();
  },
};

describe.each(Object.entries(sizes))('on a %s', (name, viewport) => {
  it.each(['light', 'dark'] as const)('fits, %s', async (colorScheme) => {
    const options = { viewport, colorScheme };
    const page = await openPage(site.browser, `${site.plain.url}?seed=7&tokens=60`, options);
    for (const [state, reach] of Object.entries(states)) {
      await reach(page);
      const file = `${name.replaceAll(' ', '-')}-${colorScheme}-${state}`;
      await page.screenshot({ path: `${screenshots}/${file}.png` });
      expect({ state, beyond: await beyondTheEdge(page) }).toEqual({ state, beyond: [] });
    }
  });

  it.each(['light', 'dark'] as const)('fits with pictures, %s', async (colorScheme) => {
    const options = { viewport, colorScheme };
    const page = await openPage(site.browser, `${site.plain.url}?seed=7&tokens=20`, options);
    await openSeeing(page, quickReader);
    for (const [state, reach] of Object.entries(pictureStates)) {
      await reach(page);
      const file = `${name.replaceAll(' ', '-')}-${colorScheme}-${state}`;
      await page.screenshot({ path: `${screenshots}/${file}.png` });
      expect({ state, beyond: await beyondTheEdge(page) }).toEqual({ state, beyond: [] });
      const composer = (await page.locator('#composer').boundingBox())!;
      expect(composer.y + composer.height).toBeLessThanOrEqual(viewport.height);
      expect((await page.locator('#transcript').boundingBox())!.height).toBeGreaterThan(80);
    }
  });

  it('shows all that it says of the model', async () => {
    const page = await openPage(site.browser, `${site.plain.url}?tokens=1`, { viewport });
    const cut = await page.locator('#model-facts').evaluate((facts) => {
      return facts.scrollWidth > facts.clientWidth || facts.scrollHeight > facts.clientHeight;
    });
    expect(cut).toBe(false); // on its side, a phone shows the name alone
  });

  it('has room for the text and all of the composer', async () => {
    const page = await openPage(site.browser, `${site.plain.url}?tokens=60`, { viewport });
    const box = async (selector: string) => (await page.locator(selector).boundingBox())!;
    expect((await box('#transcript')).height).toBeGreaterThan(viewport.height * 0.4);
    const composer = await box('#composer');
    expect(composer.y + composer.height).toBeLessThanOrEqual(viewport.height);
  });
});
