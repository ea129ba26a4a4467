// Opens the pages of README as they are written: the first one in Vite, next to the packed package,
// the second one with the package on a CDN. Also the service worker that makes a page isolated.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import type { Browser, Page } from 'playwright-core';
import { createServer } from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { installPacked } from './packed.ts';
import { root, storyModel, tellByCli, withChatTemplate } from './support.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const pages = [...readme.matchAll(/^```html\n([^]*?)^```$/gm)].map(([, page]) => page!);
const hub = 'https://huggingface.co/';
const model = withChatTemplate(readFileSync(storyModel), '{{ messages[0].content }}');

let browser: Browser;
let folder: string;
beforeAll(async () => {
  ({ folder } = installPacked('readme'));
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
});

/** Opens an empty page for which the hub has the model, or an error. */
async function newPage(hasModel: boolean): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const headers = { 'Access-Control-Allow-Origin': '*' };
  await page.route(`${hub}**`, async (route) => {
    const listing = { siblings: [{ rfilename: 'model-Q8_0.gguf' }] };
    if (route.request().url().includes('/api/')) await route.fulfill({ json: listing, headers });
    else if (hasModel) await route.fulfill({ body: Buffer.from(model), headers });
    else await route.fulfill({ status: 503, headers });
  });
  return page;
}

/** Serves a folder until the test is over. */
async function serveOnce(site: string, isolated: boolean) {
  const served = await serve(site, { isolated });
  onTestFinished(() => {
    served.server.closeAllConnections();
    served.server.close();
  });
  return served;
}

/** Records everything that the page shows. */
async function record(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const shown: string[] = [];
    Object.assign(globalThis, { shown });
    new MutationObserver(() => {
      shown.push(document.querySelector('output')?.textContent ?? '');
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);
}

it.each([0, 1])('page %i says how much has come, also of an unknown total', (i) => {
  expect(pages[i]).toMatch(/<html lang="en"><meta charset="utf-8" \/>\n<meta name="viewport"/);
  const [mb] = /^ {2}const mb = .*$/m.exec(pages[i]!)!;
  const [, onProgress] = /onProgress: (.*),$/m.exec(pages[i]!)!;
  const shown = (total: number | undefined) =>
    runInNewContext(
      `const show = (text) => text;\n${mb}\n(${onProgress!})({ loaded: 1.25e6, total })`,
      { total },
    ) as string;
  expect(shown(undefined)).toBe('1.3 MB');
  expect(shown(386e6)).toBe('1.3 MB of 386.0 MB');
});

describe('the first page', () => {
  let url: string;
  let server: Awaited<ReturnType<typeof createServer>>;
  beforeAll(async () => {
    writeFileSync(join(folder, 'index.html'), pages[0]!);
    server = await createServer({
      ...{ root: folder, configFile: false, logLevel: 'silent' },
      server: { port: 0, host: '127.0.0.1' },
    });
    await server.listen();
    const address = server.httpServer!.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    url = `http://127.0.0.1:${String(address.port)}/`;
  });
  afterAll(() => server.close());

  it('has at most eighteen lines', () => {
    expect(pages[0]!.trimEnd().split('\n').length).toBeLessThanOrEqual(18);
  });

  it('shows how much of the model has come, then the answer, even to an early question', async () => {
    const page = await newPage(true);
    const shown = await record(page);
    await page.goto(url);
    await page.locator('input').fill('Once upon a time');
    await page.locator('input').press('Enter');
    const size = `${(model.length / 1e6).toFixed(1)} MB`;
    await expect.poll(shown).toContain(`${size} of ${size}`);
    await expect.poll(() => page.locator('output').textContent()).toMatch(/^\W*\w.{40}/);
    expect(await page.locator('output').textContent()).not.toMatch(/ MB|Ready/);
  });

  it('says that it is ready', async () => {
    const page = await newPage(true);
    await page.goto(url);
    await expect.poll(() => page.locator('output').textContent()).toBe('Ready');
  });

  it('says why the model did not come', async () => {
    const page = await newPage(false);
    await page.goto(url);
    await expect
      .poll(() => page.locator('output').textContent())
      .toMatch(/^the server answered 503 \(Service Unavailable\) for https:\/\/huggingface/);
  });
});

describe('the page with a CDN', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const cdn = `https://cdn.jsdelivr.net/npm/kinglet@${version}/`;
  const types: Record<string, string> = { '.js': 'text/javascript', '.wasm': 'application/wasm' };

  async function open(hasModel: boolean): Promise<Page> {
    const site = join(folder, 'cdn-page');
    mkdirSync(site, { recursive: true });
    writeFileSync(join(site, 'index.html'), pages[1]!);
    const { url } = await serveOnce(site, false);
    const page = await newPage(hasModel);
    await page.context().route(`${cdn}**`, async (route) => {
      const path = join(folder, 'node_modules/kinglet', route.request().url().slice(cdn.length));
      const headers = { 'Access-Control-Allow-Origin': '*' };
      const contentType = types[extname(path)] ?? 'text/plain';
      await route.fulfill({ body: readFileSync(path), contentType, headers });
    });
    await page.goto(url);
    return page;
  }

  it('names the version of the package', () => {
    expect(pages).toHaveLength(2);
    expect(pages[1]).toContain(`'${cdn}dist/index.js'`);
  });

  it('answers', async () => {
    const page = await open(true);
    const text = () => page.locator('output').textContent();
    await expect.poll(text).toMatch(/^(?!Loading|[\d.]+ MB)[^]{80}/);
  });

  it('says why the model did not come', async () => {
    const page = await open(false);
    await expect.poll(() => page.locator('output').textContent()).toMatch(/answered 503/);
  });
});

describe('isolate.js', () => {
  it('gives threads to a page whose host sets no headers, with one reload', async () => {
    const site = join(folder, 'plain-host/pages');
    mkdirSync(site, { recursive: true });
    cpSync(join(folder, 'node_modules/kinglet/dist'), join(site, 'kinglet'), { recursive: true });
    copyFileSync(join(site, 'kinglet/isolate.js'), join(site, 'isolate.js'));
    writeFileSync(join(site, 'model.gguf'), model);
    writeFileSync(
      join(site, 'index.html'),
      '<!doctype html><link rel="icon" href="data:,"><script src="isolate.js"></script><output></output>' +
        '<script type="module">import { Kinglet } from "./kinglet/index.js";' +
        'const model = await Kinglet.load("model.gguf", { nThreads: 2 });' +
        'const { text } = await model.generate("Once upon a time", { temperature: 0, maxTokens: 40 }).result;' +
        'const { nThreads } = model.info.runtime;' +
        'if (crossOriginIsolated) document.querySelector("output").value = `${nThreads}: ${text}`</script>',
    );
    const { server, url } = await serveOnce(join(folder, 'plain-host'), false);
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    let nLoads = 0;
    server.on('request', ({ url: path }) => {
      if (path === '/pages/') nLoads += 1;
    });
    await page.goto(`${url}pages/`);
    const output = page.locator('output:not(:empty)');
    const expected = `2: ${tellByCli('Once upon a time', 40)}`;
    expect(await output.textContent()).toBe(expected);
    expect(nLoads).toBe(2);
    await page.reload();
    expect(await output.textContent()).toBe(expected);
    expect(nLoads).toBe(3);
  });

  it('leaves a page alone that is isolated already', async () => {
    const { url } = await serveOnce(join(folder, 'plain-host'), true);
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.goto(`${url}pages/`);
    expect(await page.locator('output:not(:empty)').textContent()).toMatch(/^2: /);
    expect(
      await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length),
    ).toBe(0);
  });

  /** Serves a page with isolate.js, and what `answer` answers itself. */
  async function servePage(script: string, answer: RequestListener): Promise<string> {
    const page = `<!doctype html><link rel="icon" href="data:,"><script src="isolate.js"></script>
      <output></output><script type="module">
      const show = (text) => (document.querySelector('output').value = text);
      if (crossOriginIsolated) { ${script} }</script>`;
    const server = createHttpServer((request, response) => {
      const type = request.url!.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.setHeader('Content-Type', type);
      answer(request, response);
      if (response.writableEnded) return;
      if (request.url === '/isolate.js') response.end(readFileSync(join(root, 'web/isolate.js')));
      else response.end(page);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  }

  it('lets a redirected worker import what is next to it', async () => {
    const url = await servePage(
      "new Worker('worker.js', { type: 'module' }).onmessage = ({ data }) => show(data)",
      ({ url }, response) => {
        if (url === '/worker.js') response.writeHead(302, { Location: '/moved/worker.js' }).end();
        if (url === '/moved/worker.js') {
          response.end("import { text } from './part.js'; postMessage(text + crossOriginIsolated)");
        }
        if (url === '/moved/part.js') response.end("export const text = 'moved '");
      },
    );
    const page = await newPage(true);
    await page.goto(url);
    expect(await page.locator('output:not(:empty)').textContent()).toBe('moved true');
  });

  it("leaves a page's own policy for what it embeds, and comes back after a hard reload", async () => {
    let nLoads = 0;
    const url = await servePage('show("isolated")', ({ url }, response) => {
      if (url === '/') nLoads += 1;
      response.setHeader('Cross-Origin-Embedder-Policy', 'credentialless');
    });
    const page = await newPage(true);
    await page.goto(url);
    const output = page.locator('output:not(:empty)');
    expect(await output.textContent()).toBe('isolated');
    const headers = (await page.reload())!.headers();
    expect(headers['cross-origin-embedder-policy']).toBe('credentialless');
    const before = nLoads;
    const session = await page.context().newCDPSession(page);
    await session.send('Page.reload', { ignoreCache: true });
    await expect.poll(() => nLoads).toBe(before + 2);
    expect(await output.textContent()).toBe('isolated');
  });
});
