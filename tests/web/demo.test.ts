// The page served in different ways: with threads and without, light and dark, small and large.
import { mkdirSync } from 'node:fs';
import { extname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Site } from './demo-page.ts';
import {
  answered,
  ask,
  drop,
  engineFacts,
  openPage,
  openPanel,
  openSite,
  opening,
} from './demo-page.ts';
import { root, tellByCli } from './support.ts';

const screenshots = `${root}build/screenshots`;
/** A greedy story of 60 tokens. */
const greedy = '?temperature=0&tokens=60';

let site: Site;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

describe('with isolation headers', () => {
  it('begins with the greedy story of the desktop program, on threads', async () => {
    const page = await openPage(site.browser, `${site.threaded.url}${greedy}&threads=2`);
    expect(await answered(page)).toBe(tellByCli(opening, 60));
    expect(await engineFacts(page)).toMatch(
      /^Engine relaxed-simd-threads, kernels relaxed-simd, 2 threads\./,
    );
  });

  it('tells the same with the scalar kernels', async () => {
    const query = `${greedy}&threads=2&kernels=scalar`;
    const page = await openPage(site.browser, `${site.threaded.url}${query}`);
    expect(await answered(page)).toBe(tellByCli(opening, 60, ['--kernels', 'scalar']));
    expect(await engineFacts(page)).toContain('kernels scalar, 2 threads');
  });
});

describe('without isolation headers', () => {
  it('tells the same on one thread, and says why', async () => {
    const page = await openPage(site.browser, `${site.plain.url}${greedy}&threads=2`);
    expect(await answered(page)).toBe(tellByCli(opening, 60));
    expect(await engineFacts(page)).toMatch(
      /^Engine relaxed-simd, kernels relaxed-simd, 1 thread \(this site is served without the COOP/,
    );
  });

  it('downloads one build of the engine only', async () => {
    const engines: string[] = [];
    const note = ({ url = '' }) => {
      if (url.includes('kinglet-') && /\.(js|wasm)$/.test(url)) engines.push(url);
    };
    site.plain.server.on('request', note);
    await openPage(site.browser, `${site.plain.url}?tokens=5`);
    site.plain.server.off('request', note);
    const byKind = (a: string, b: string) => extname(a).localeCompare(extname(b));
    expect(engines.sort(byKind)).toEqual([
      expect.stringMatching(/kinglet-relaxed-simd-[\w-]+\.js$/),
      expect.stringMatching(/kinglet-relaxed-simd-[\w-]+\.wasm$/),
    ]);
  });
});

describe('the page', () => {
  it('refuses a broken file in words, and goes on with the model it has', async () => {
    const page = await openPage(site.browser, `${site.plain.url}${greedy}`);
    await drop(page, { 'diary.gguf': 'Dear diary, this is not a model at all.' });
    const alert = page.getByRole('alert').filter({ hasText: /\w/ });
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/^diary could not be loaded: .*GGUF/);
    await page.screenshot({ path: `${screenshots}/error.png` });
    await alert.getByRole('button', { name: 'Close this message' }).click();
    expect(await page.locator('#alert').textContent()).toBe('');
    expect(await ask(page, opening)).toBe(tellByCli(opening, 60));
  });

  it.each([
    ['weights.safetensors', '\x02\0\0\0\0\0\0\0{}', /in the safetensors format, expected a GGUF/],
    ['pointer.safetensors', 'version https://git-lfs.github.com/spec/v1\n', /a Git LFS pointer/],
    ['notes.zip', `PK\x03\x04${'\0'.repeat(30)}notes.txt`, /a zip archive, .*unpack it/],
    ['manual.pdf', '%PDF-1.7 and more', /a PDF document/],
  ])('says what %s is when it is dropped, and does not search it', async (name, text, message) => {
    const page = await openPage(site.browser, `${site.plain.url}${greedy}`);
    await drop(page, { [name]: text });
    const alert = page.getByRole('alert').filter({ hasText: name });
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(message);
    expect(await page.locator('#panel').isVisible()).toBe(false);
  });

  it('works offline after the first visit, below any path', async () => {
    const own = await openSite(`${root}demo`);
    const context = await own.browser.newContext();
    const page = await context.newPage();
    const url = `${own.threaded.url}dist/${greedy}&threads=2`;
    await page.goto(url);
    const story = await answered(page);
    // The service worker keeps two files of the engine and the model last.
    const kept = async (name: RegExp) => {
      const files = await page.evaluate(async () => {
        const all = await (await caches.open('kinglet page')).keys();
        return all.map(({ url: file }) => file);
      });
      return files.filter((file) => name.test(file)).length;
    };
    await expect.poll(() => kept(/kinglet-(relaxed|stories)/), { timeout: 20_000 }).toBe(3);
    own.threaded.server.closeAllConnections();
    own.threaded.server.close();
    await page.goto(url);
    expect(await answered(page)).toBe(story);
    expect(await engineFacts(page)).toContain('2 threads');
    await own.close();
  });

  it('moves nothing while a text streams in, nor while forks write', async () => {
    const page = await openPage(site.browser, `${site.plain.url}?tokens=400&seed=1`);
    await page.evaluate(() => {
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const shift = entry as PerformanceEntry & { value: number; hadRecentInput: boolean };
          if (shift.hadRecentInput) continue;
          document.body.dataset.shift = String(Number(document.body.dataset.shift) + shift.value);
        }
      }).observe({ type: 'layout-shift' });
      document.body.dataset.shift = '0';
    });
    await ask(page, opening);
    expect(await page.evaluate(() => document.body.dataset.shift)).toBe('0');
    await openPanel(page, 'inspect');
    await page.locator('#fork-length').fill('100');
    await page.locator('#fork-run').click();
    await page.locator('.fork-rows button:enabled').first().waitFor();
    expect(await page.evaluate(() => document.body.dataset.shift)).toBe('0');
  });
});
