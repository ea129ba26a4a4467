// The page's live camera, with the picture that Chromium generates if there is no camera.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import type { Site } from './demo-page.ts';
import { accessibilityFaults, ask, openPage, openPanel, openSite } from './demo-page.ts';
import { openModels, openSeeing, quickReader, textModel } from './seeing-page.ts';

let site: Site;
let browser: Browser;

beforeAll(async () => {
  site = await openSite();
  browser = await launchHeadlessShell([
    ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
  ]);
});

afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Opens the camera's panel with a model that reads pictures, and records the camera's tracks. */
async function openCamera(): Promise<Page> {
  const page = await openPage(browser, `${site.plain.url}?temperature=0&tokens=8`);
  await page.evaluate(() => {
    const tracks: MediaStreamTrack[] = [];
    Object.assign(globalThis, { tracks });
    const { mediaDevices } = navigator;
    const open = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (constraints) => {
      const stream = await open(constraints);
      tracks.push(...stream.getTracks());
      return stream;
    };
  });
  await openSeeing(page, quickReader);
  await page.locator('#add').click();
  await page.getByRole('button', { name: 'Live camera' }).click();
  await page.locator('#panel h2', { hasText: 'Live camera' }).waitFor();
  return page;
}

const trackStates = (page: Page) =>
  page.evaluate(() => {
    const { tracks } = globalThis as unknown as { tracks: MediaStreamTrack[] };
    return tracks.map(({ readyState }) => readyState);
  });

async function start(page: Page): Promise<void> {
  await page.locator('#live-run', { hasText: 'Start' }).click();
  await page.locator('#live-speed', { hasText: 's a picture' }).waitFor();
}

/** Waits until the camera has stopped, for this reason, and its tracks have ended. */
async function ended(page: Page, why: string): Promise<void> {
  await page.locator('#live-status', { hasText: why }).waitFor();
  await page.locator('#live-run', { hasText: 'Start the camera' }).waitFor();
  await expect.poll(() => trackStates(page)).toEqual(['ended']);
}

describe('the live camera', () => {
  it('asks of one picture after the other, until it is stopped', async () => {
    const page = await openCamera();
    expect(await trackStates(page)).toEqual([]); // the camera is off until the user starts it
    await start(page);
    await page.locator('#live-answers li').nth(1).waitFor();
    expect(await page.locator('video').evaluate((it) => (it as HTMLVideoElement).videoWidth)).toBe(
      640,
    );
    expect(await page.locator('#live-speed').textContent()).toMatch(/^\d+\.\d+ s a picture$/);
    expect(await trackStates(page)).toEqual(['live']);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator('#live-run', { hasText: 'Stop' }).click();
    await ended(page, 'Stopped.');
    expect(await page.locator('.exchange img').count()).toBe(0);
    // The conversation goes on as if the camera had not run.
    await page.locator('#panel-close').click();
    await page.locator('#prompt:focus').waitFor();
    await ask(page, 'Hello.');
  });

  it('takes another question from the next picture on', async () => {
    const page = await openCamera();
    await start(page);
    const before = await page.locator('#live-answer').textContent();
    await page.getByLabel('Question').fill('Which colours are there, and where are they?');
    await expect
      .poll(() => page.locator('#live-answers li').first().textContent())
      .not.toBe(before);
    await page.locator('#live-run').click();
    await ended(page, 'Stopped.');
  });

  it.each([
    [
      'the page is hidden',
      'the page was hidden',
      async (page: Page) => {
        await page.evaluate(() => {
          Object.defineProperty(document, 'hidden', { get: () => true });
          document.dispatchEvent(new Event('visibilitychange'));
        });
      },
    ],
    [
      'a question is sent',
      'Stopped for the conversation',
      async (page: Page) => {
        await ask(page, 'Hello.');
      },
    ],
    [
      'the camera goes',
      'The camera was taken away',
      async (page: Page) => {
        await page.evaluate(() => {
          const { tracks } = globalThis as unknown as { tracks: MediaStreamTrack[] };
          for (const track of tracks) track.dispatchEvent(new Event('ended'));
        });
      },
    ],
  ])('stops when %s', async (_, why, happen) => {
    const page = await openCamera();
    await start(page);
    await happen(page);
    await ended(page, why);
  });

  it('stops when its panel is closed, or another model comes', async () => {
    const page = await openCamera();
    await start(page);
    await page.keyboard.press('Escape');
    await page.locator('#panel').waitFor({ state: 'hidden' });
    await expect.poll(() => trackStates(page)).toEqual(['ended']);

    const other = await openCamera();
    await start(other);
    await openModels(other, [{ ...textModel, name: 'blind.gguf' }]);
    await expect.poll(() => trackStates(other)).toEqual(['ended']);
    await openPanel(other, 'settings');
    expect(await other.locator('#add').isVisible()).toBe(false);
  });

  it.each([
    ['NotAllowedError', 'this page may not use it'],
    ['NotFoundError', 'none was found'],
    ['NotReadableError', 'another program uses it'],
  ])('says in words what %s is', async (name, words) => {
    const page = await openCamera();
    await page.evaluate((error) => {
      navigator.mediaDevices.getUserMedia = () =>
        Promise.reject(new DOMException('by the browser', error));
    }, name);
    await page.locator('#live-run').click();
    await page.locator('.camera [role=alert]', { hasText: words }).waitFor();
    await page.locator('#live-run', { hasText: 'Start the camera' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('is not offered where browsers give none', async () => {
    const context = await browser.newContext({ serviceWorkers: 'block' });
    await context.addInitScript(() => {
      Reflect.deleteProperty(Navigator.prototype, 'mediaDevices');
    });
    const page = await context.newPage();
    await page.goto(`${site.plain.url}?tokens=5`);
    await openSeeing(page, quickReader);
    await page.locator('#add').click();
    await page.getByText('Choose pictures').waitFor();
    expect(await page.locator('#live').isVisible()).toBe(false);
    await context.close();
  });
});
