// "Threads and headers" of docs/guide.md: which headers give a model threads in which browser.
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ModelInfo } from '../../dist/index.js';
import { serve } from '../../scripts/serve.mjs';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage } from './any-browser.ts';
import { root, storyModel } from './support.ts';

interface Told {
  runtime: ModelInfo['runtime'];
}

const folder = join(root, 'build/isolation');

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'tests/web/places'), folder, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
  copyFileSync(storyModel, join(folder, 'model.gguf'));
  copyFileSync(join(root, 'docs/demo.png'), join(folder, 'picture.png'));
  copyFileSync(join(root, 'dist/isolate.js'), join(folder, 'isolate.js'));
  writeFileSync(
    join(folder, 'isolated.html'),
    '<!doctype html><script src="isolate.js" data-embedder="credentialless"></script>',
  );
});

const opener = { 'Cross-Origin-Opener-Policy': 'same-origin' };
const embedder = (policy: string) => ({ ...opener, 'Cross-Origin-Embedder-Policy': policy });
const document = (policy: string) => ({ 'Document-Isolation-Policy': `isolate-and-${policy}` });

const none = { nThreads: 1, picture: 'shown' };
const strict = { nThreads: 2, picture: 'blocked' };
const lax = { nThreads: 2, picture: 'shown' };

describe.each(browserNames)('%s', (name) => {
  let page: AnyPage;
  beforeAll(async () => {
    page = await openAnyPage(name);
  });
  afterAll(async () => {
    await page.close();
  });

  /** Loads a model in the page, and shows a picture of another site. */
  const visit = async (path: string, headers: Record<string, string>) => {
    const { server, url } = await serve(folder, { isolated: false, headers });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const picture = `http://127.0.0.1:${new URL(url).port}/picture.png`;
    await page.goto(`${url}${path}`);
    return page.evaluate(async (pictureUrl: string) => {
      const there = globalThis as unknown as { probe?: (load: object) => Promise<Told> };
      while (!there.probe) await new Promise((resolve) => setTimeout(resolve, 50));
      const { runtime } = await there.probe({ nThreads: 2 });
      const image = new Image();
      const shown = new Promise<string>((resolve) => {
        image.onload = () => {
          resolve('shown');
        };
        image.onerror = () => {
          resolve('blocked');
        };
      });
      image.src = pictureUrl;
      return { ...runtime, picture: await shown };
    }, picture);
  };

  it.each([
    { headers: {}, expected: none },
    { headers: embedder('require-corp'), expected: strict },
    { headers: embedder('credentialless'), expected: name === 'WebKit' ? none : lax },
    { headers: document('require-corp'), expected: name === 'Chromium' ? strict : none },
    { headers: document('credentialless'), expected: name === 'Chromium' ? lax : none },
  ])('with $headers', async ({ headers, expected }) => {
    const { nThreads, picture, singleThreadReason, threadsRemedy } = await visit(
      'index.html?place=test',
      headers,
    );
    expect({ nThreads, picture }).toEqual(expected);
    expect(singleThreadReason).toBe(nThreads > 1 ? undefined : 'not_isolated');
    if (nThreads > 1) expect(threadsRemedy).toBeUndefined();
    else {
      expect(threadsRemedy).toContain('Cross-Origin-Embedder-Policy: require-corp');
      expect(threadsRemedy?.includes('Document-Isolation-Policy')).toBe(name === 'Chromium');
      expect(threadsRemedy?.includes('credentialless')).toBe(name !== 'WebKit');
    }
  });
});

it('isolate.js lets pictures of other sites in, if it is asked to', async () => {
  const page = await openAnyPage('Chromium');
  onTestFinished(() => page.close());
  const { server, url } = await serve(folder, { isolated: false });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await page.goto(`${url}isolated.html`);
  await expect.poll(() => page.evaluate(() => crossOriginIsolated).catch(() => false)).toBe(true);
  const told = await page.evaluate(
    async (picture: string) => {
      const image = new Image();
      image.src = picture;
      await image.decode();
      return image.width > 0;
    },
    `http://127.0.0.1:${new URL(url).port}/picture.png`,
  );
  expect(told).toBe(true);
});
