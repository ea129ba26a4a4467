// Requirements for every state of the page: accessibility, and a main thread that stays free.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Site } from './demo-page.ts';
import { accessibilityFaults, openPage, openPanel, openSite } from './demo-page.ts';

let site: Site;

beforeAll(async () => {
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  it.each([
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 844 }],
  ])('meets WCAG AA on a %s, every panel', async (_, viewport) => {
    const options = { colorScheme, viewport };
    const page = await openPage(site.browser, `${site.plain.url}?tokens=20`, options);
    await page.getByRole('button', { name: 'Tokens', exact: true }).click();
    await page.locator('.token').nth(3).click();
    for (const panel of ['none', 'models', 'history', 'search', 'inspect', 'compare', 'settings']) {
      if (panel !== 'none') await openPanel(page, panel);
      if (panel === 'inspect') {
        await page.locator('#inspect').click();
        await page.locator('#fork-run').click();
        await page.locator('.fork-rows button:enabled').first().click();
      }
      expect(await accessibilityFaults(page), panel).toEqual([]);
    }
  });
});

interface TraceEvent {
  name: string;
  tid: number;
  args: { name?: string };
  /** Processor time in microseconds, without the time of waiting for other programs. */
  tdur?: number;
}

it('never keeps the main thread busy for 50 ms while it writes', async () => {
  const page = await openPage(site.browser, `${site.plain.url}?tokens=5`);
  await openPanel(page, 'inspect');
  await site.browser.startTracing(page, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'],
  });
  await page.locator('#prompt').fill('Once upon a time');
  await page.locator('#prompt').press('Enter');
  await page.locator('.exchange').nth(1).and(page.locator('[aria-busy=false]')).waitFor();
  const { traceEvents } = JSON.parse((await site.browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const mainThreads = traceEvents
    .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
    .map(({ tid }) => tid);
  const tasks = traceEvents.filter(
    ({ name, tid, tdur }) => name.endsWith('RunTask') && mainThreads.includes(tid) && tdur,
  );
  expect(tasks.length).toBeGreaterThan(20);
  expect(Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1000))).toBeLessThan(50);
});
