// The built page in headless Chromium, as a visitor uses it.
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { root, tellByCli } from './support.ts';

const opening = 'Once upon a time';
const screenshots = `${root}build/screenshots`;

let browser: Browser;
let threaded: Awaited<ReturnType<typeof serve>>;
let plain: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  threaded = await serve(`${root}demo/dist`, { isolated: true });
  plain = await serve(`${root}demo/dist`, { isolated: false });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser.close();
  for (const { server } of [threaded, plain]) {
    server.closeAllConnections();
    server.close();
  }
});

/** The page with its model loaded. What the browser's console complains of fails the test. */
async function open(url: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage(options);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  onTestFinished(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(url);
  await page.locator('#tell:enabled').waitFor();
  return page;
}

/** Tells a greedy story of that many tokens; what the model wrote. */
async function tell(page: Page, nTokens: number): Promise<string> {
  await page.locator('#prompt').fill(opening);
  await page.locator('#temperature').fill('0');
  await page.locator('#length').fill(String(nTokens));
  await page.locator('#tell').click();
  await page.locator('#ending', { hasText: /\w/ }).waitFor();
  expect(await page.locator('#story-prompt').textContent()).toBe(opening);
  return (await page.locator('#story-text').textContent()) ?? '';
}

async function drop(page: Page, name: string, content: string): Promise<void> {
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

describe('with isolation headers', () => {
  it('tells the greedy story of the desktop program, with threads', async () => {
    const page = await open(`${threaded.url}?threads=2`);
    expect(await tell(page, 60)).toBe(tellByCli(opening, 60));
    const runtime = await page.locator('#runtime').textContent();
    expect(runtime).toMatch(/^Engine relaxed-simd-threads, kernels relaxed-simd, 2 threads$/);
    expect(Number(await page.locator('#decode-speed').textContent())).toBeGreaterThan(1);
    expect(await page.locator('#token-count').textContent()).toBe('60');
  });

  it('tells the same with the scalar kernels', async () => {
    const page = await open(`${threaded.url}?threads=2&kernels=scalar`);
    expect(await page.locator('#runtime').textContent()).toContain('kernels scalar, 2 threads');
    expect(await tell(page, 60)).toBe(tellByCli(opening, 60, ['--kernels', 'scalar']));
  });
});

describe('without isolation headers', () => {
  it('tells the same on one thread, and says why', async () => {
    const page = await open(`${plain.url}?threads=2`);
    expect(await tell(page, 60)).toBe(tellByCli(opening, 60));
    expect(await page.locator('#runtime').textContent()).toMatch(
      /^Engine relaxed-simd, kernels relaxed-simd, 1 thread \(this site is served without the COOP/,
    );
  });

  it('tells the same with the scalar kernels', async () => {
    const page = await open(`${plain.url}?kernels=scalar`);
    expect(await tell(page, 60)).toBe(tellByCli(opening, 60, ['--kernels', 'scalar']));
  });

  it('downloads one build of the engine only', async () => {
    const engines: string[] = [];
    const note = ({ url = '' }) => {
      if (url.includes('kinglet-') && /\.(js|wasm)$/.test(url)) engines.push(url);
    };
    plain.server.on('request', note);
    await open(plain.url);
    plain.server.off('request', note);
    expect(engines).toEqual([
      expect.stringMatching(/kinglet-relaxed-simd-[\w-]+\.js$/),
      expect.stringMatching(/kinglet-relaxed-simd-[\w-]+\.wasm$/),
    ]);
  });
});

describe('the page', () => {
  it('refuses a broken file in words, and goes on with the model it has', async () => {
    const page = await open(plain.url);
    await drop(page, 'diary.gguf', 'Dear diary, this is no model at all.');
    const alert = page.getByRole('alert').filter({ hasText: /\w/ });
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/^diary.gguf could not be loaded: .*GGUF/);
    await page.screenshot({ path: `${screenshots}/error.png` });
    expect(await tell(page, 20)).toBe(tellByCli(opening, 20));
    expect(await page.getByRole('alert').textContent()).toBe('');
  });

  it('takes another model from the file dialog', async () => {
    const page = await open(`${plain.url}?ctx=64`);
    await page.locator('#file').setInputFiles(`${root}tests/fixtures/arch/llama.gguf`);
    await page.locator('#model-facts', { hasNotText: '5.2M' }).waitFor();
    await page.locator('#tell').click();
    await page.locator('#ending', { hasText: /\w/ }).waitFor();
    expect(await page.getByRole('alert').textContent()).toBe('');
  });

  it('stops when told to, by button and by key, and tells again', async () => {
    const page = await open(plain.url);
    await page.locator('#length').fill('4000');
    for (const key of [undefined, 'Escape']) {
      // From inside the page, as the story may be at its end before a word of this test gets there.
      await page.evaluate((pressed) => {
        const text = document.querySelector('#story-text')!;
        const observer = new MutationObserver(() => {
          if (text.textContent === '') return;
          observer.disconnect();
          if (pressed) {
            document.dispatchEvent(new KeyboardEvent('keydown', { key: pressed }));
          } else {
            document.querySelector<HTMLElement>('#tell')!.click();
          }
        });
        observer.observe(text, { characterData: true, subtree: true });
      }, key);
      await page.locator('#prompt').press('Enter');
      await page.locator('#ending', { hasText: 'you' }).waitFor();
    }
    expect(await tell(page, 20)).toBe(tellByCli(opening, 20));
  });

  it('moves nothing while a story streams in', async () => {
    const page = await open(plain.url);
    await page.evaluate(() => {
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const { value } = entry as PerformanceEntry & { value: number };
          document.body.dataset.shift = String(Number(document.body.dataset.shift ?? 0) + value);
        }
      }).observe({ type: 'layout-shift' });
    });
    await tell(page, 400);
    expect(await page.evaluate(() => document.body.dataset.shift ?? '0')).toBe('0');
  });

  it('works under a strict content security policy', async () => {
    const page = await browser.newPage();
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";
    await page.route('**/*', async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), 'content-security-policy': policy };
      await route.fulfill({ response, headers });
    });
    await page.goto(`${threaded.url}?threads=2`);
    await page.locator('#tell:enabled').waitFor();
    expect(await tell(page, 20)).toBe(tellByCli(opening, 20));
    expect(await page.locator('#runtime').textContent()).toContain('2 threads');
    await page.close();
  });

  it.each([
    ['desktop', { width: 1280, height: 900 }],
    ['phone', { width: 390, height: 844 }],
  ])('fits a %s, light and dark', async (name, viewport) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open(plain.url, { viewport, colorScheme });
      await tell(page, 160);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
      ).toBeLessThanOrEqual(0);
      await page.screenshot({ path: `${screenshots}/${name}-${colorScheme}.png`, fullPage: true });
    }
  });
});
