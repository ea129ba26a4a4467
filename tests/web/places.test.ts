// The built package in places that restrict workers: other origins, frames without an origin,
// policies, workers of other kinds. It must run there, or report in a KingletError what
// it tried and what to do.
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import type { AnyPage } from './any-browser.ts';
import { openAnyPage } from './any-browser.ts';
import { root, storyModel, tellByCli } from './support.ts';

interface Told {
  text?: string;
  nThreads?: number;
  name?: string;
  code?: string;
  message?: string;
}

const anyOrigin = { 'Access-Control-Allow-Origin': '*' };
const folder = join(root, 'build/places');

let browser: Browser;
let story: string;
/** A server of the package alone, on another origin than the pages. */
let elsewhere: { server: Server; url: string };

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'tests/web/places'), folder, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
  copyFileSync(storyModel, join(folder, 'model.gguf'));
  story = tellByCli('Once upon a time', 40);
  elsewhere = await serve(join(root, 'dist'), { isolated: false, headers: anyOrigin });
  browser = await launchHeadlessShell();
});
afterAll(async () => {
  await browser.close();
  close(elsewhere.server);
});

function close(server: Server): void {
  server.closeAllConnections();
  server.close();
}

/** Serves the pages and returns their address; `change` is called first for each response. */
async function site(
  options: { isolated?: boolean; headers?: Record<string, string> } = {},
  change: (request: IncomingMessage, response: ServerResponse) => void = () => undefined,
): Promise<string> {
  const { server, url } = await serve(folder, { isolated: false, ...options });
  server.prependListener('request', change);
  onTestFinished(() => {
    close(server);
  });
  return url;
}

async function visit(base: string, place = 'page', load: object = {}) {
  const query = new URLSearchParams({ place, load: JSON.stringify(load) });
  const page = await browser.newPage();
  const leaks: string[] = [];
  page.on('pageerror', (error) => leaks.push(error.message));
  try {
    await page.goto(`${base}index.html?${String(query)}`);
    const output = page.locator('output:not(:empty)');
    const told = JSON.parse((await output.textContent()) ?? '') as Told;
    expect(leaks).toEqual([]);
    return told;
  } finally {
    await page.close();
  }
}

const unavailable = (...parts: string[]) => ({
  name: 'KingletError',
  code: 'worker_unavailable',
  message: expect.stringMatching(
    new RegExp(parts.map((part) => part.replace(/[.*+?()[\]{}|^$\\]/g, '\\$&')).join('.*')),
  ) as string,
});

describe('a worker’s script that is not there', () => {
  it('is told with its address and the answer', async () => {
    const url = await site();
    expect(await visit(url, 'page', { workerUrl: 'nothing/worker.js' })).toEqual(
      unavailable(`${url}nothing/worker.js`, '404 (Not Found)', 'workerUrl'),
    );
  });

  it('is told when a page comes in its place', async () => {
    const url = await site();
    expect(await visit(url, 'page', { workerUrl: 'index.html' })).toEqual(
      unavailable(`${url}index.html`, 'text/html', 'workerUrl'),
    );
  });

  it('is told when the headers of an isolated page are missing', async () => {
    const url = await site({ isolated: true }, (request, response) => {
      if (!request.url?.endsWith('worker.js')) return;
      const writeHead = response.writeHead.bind(response) as (...values: unknown[]) => unknown;
      response.writeHead = ((status: number, headers: Record<string, string>) => {
        delete headers['Cross-Origin-Embedder-Policy'];
        return writeHead(status, headers);
      }) as typeof response.writeHead;
    });
    expect(await visit(url)).toEqual(
      unavailable(`${url}kinglet/worker/worker.js`, 'Cross-Origin-Embedder-Policy'),
    );
  });
});

describe('the engine’s files', () => {
  it('are taken from another folder', async () => {
    const url = await site();
    const load = { engineUrl: `${elsewhere.url}engine` };
    expect(await visit(url, 'page', load)).toEqual({ text: story, nThreads: 1 });
  });

  it('are told with their address where they are missing', async () => {
    const url = await site();
    expect(await visit(url, 'page', { engineUrl: 'nothing' })).toEqual(
      unavailable(`${url}nothing/kinglet-relaxed-simd.`, 'engineUrl'),
    );
  });
});

describe('a package on another origin', () => {
  const load = () => ({ from: `${elsewhere.url}index.js` });

  it('says what it needs', async () => {
    const url = await site();
    expect(await visit(url, 'page', load())).toEqual(
      unavailable(`${elsewhere.url}worker/worker.js`, url.slice(0, -1), 'blobWorker: true'),
    );
  });

  it.each([
    { isolated: true, nThreads: 2 },
    { isolated: false, nThreads: 1 },
  ])('runs from a blob: $nThreads threads', async ({ isolated, nThreads }) => {
    const { origin } = new URL(elsewhere.url);
    const policy =
      `default-src 'none'; script-src 'self' 'wasm-unsafe-eval' ${origin}; worker-src blob:; ` +
      `connect-src 'self' ${origin}; img-src data:`;
    const url = await site({ isolated, headers: { 'Content-Security-Policy': policy } });
    expect(await visit(url, 'page', { ...load(), blobWorker: true, nThreads: 2 })).toEqual({
      ...{ text: story, nThreads },
    });
  });

  it('gives its worker to a package of this one', async () => {
    const url = await site();
    const workerUrl = `${elsewhere.url}worker/worker.js`;
    expect(await visit(url, 'page', { workerUrl })).toEqual(unavailable(workerUrl, 'blobWorker'));
    expect(await visit(url, 'page', { workerUrl, blobWorker: true })).toMatchObject({
      text: story,
    });
  });

  it('is told with its address where it is missing', async () => {
    const url = await site();
    const workerUrl = `${elsewhere.url}nothing.js`;
    expect(await visit(url, 'page', { workerUrl, blobWorker: true })).toEqual(
      unavailable(workerUrl, '404 (Not Found)'),
    );
  });
});

describe('a sandboxed frame', () => {
  it('says what it needs', async () => {
    const url = await site({ headers: anyOrigin });
    expect(await visit(url, 'sandboxed frame')).toEqual(
      unavailable('kinglet/worker/worker.js', 'allow-same-origin', 'blobWorker: true'),
    );
  });

  it('runs from a blob', async () => {
    const url = await site({ headers: anyOrigin });
    const load = { blobWorker: true, cache: true };
    expect(await visit(url, 'sandboxed frame', load)).toEqual({ text: story, nThreads: 1 });
  });
});

describe('a policy', () => {
  it.each([
    ["worker-src 'none'", 'page', unavailable('kinglet/worker/worker.js', 'worker-src')],
    ["require-trusted-types-for 'script'", 'page', unavailable('TrustedScriptURL')],
    ["require-trusted-types-for 'script'", 'trusted types', { text: expect.any(String) as string }],
    [
      "script-src 'self'",
      'page',
      {
        code: 'unsupported_environment',
        message: expect.stringContaining("'wasm-unsafe-eval'") as string,
      },
    ],
  ])('%s: in a %s', async (policy, place, expected) => {
    const url = await site({ headers: { 'Content-Security-Policy': policy } });
    expect(await visit(url, place)).toMatchObject(expected);
  });
});

describe('a worker of the page’s making', () => {
  it('runs', async () => {
    expect(await visit(await site(), 'factory')).toEqual({ text: story, nThreads: 1 });
  });

  it('that cannot be made is told', async () => {
    expect(await visit(await site(), 'broken factory')).toEqual(unavailable('no such thing'));
  });

  it('is refused if it is not a worker, or not a new one', async () => {
    const refused = (found: string) => `the function worker must return a new Worker, not ${found}`;
    expect(await visit(await site(), 'wrong factories')).toEqual([
      ...[refused('null'), refused('an object (Object)'), refused('an object (Promise)')],
      ...[null, refused('one that it has returned before')],
    ]);
  });
});

describe('workers', () => {
  it('that a page has started run it', async () => {
    expect(await visit(await site(), 'dedicated')).toEqual({ text: story, nThreads: 1 });
  });

  it.each(['shared', 'service'])('of the kind %s run it in place', async (place) => {
    expect(await visit(await site(), place)).toEqual({ text: story, nThreads: 1 });
  });

  it.each(['shared', 'service'])('of the kind %s say that they start none', async (place) => {
    expect(await visit(await site(), place, { worker: 'own' })).toMatchObject({
      name: 'KingletError',
      code: 'unsupported_environment',
      message: expect.stringMatching(
        /no worker .* \((Shared|Service)WorkerGlobalScope\).* in a page/,
      ) as string,
    });
  });

  it('of the kind service say what to import', async () => {
    expect(await visit(await site(), 'service without the engine')).toEqual(
      unavailable('import kinglet/here'),
    );
  });
});

describe.each(['Firefox', 'WebKit'] as const)('%s', (name) => {
  let page: AnyPage;
  beforeAll(async () => {
    page = await openAnyPage(name);
  });
  afterAll(async () => {
    await page.close();
  });

  const visitHere = async (base: string, place: string, load: object) => {
    const query = new URLSearchParams({ place, load: JSON.stringify(load) });
    await page.goto(`${base}index.html?${String(query)}`);
    const told = await page.evaluate(async () => {
      for (;;) {
        const { textContent } = document.querySelector('output')!;
        if (textContent) return textContent;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    return JSON.parse(told) as Told;
  };

  it('says what a package on another origin needs, and runs it from a blob', async () => {
    const url = await site({ isolated: true });
    const load = { from: `${elsewhere.url}index.js`, nThreads: 2 };
    expect(await visitHere(url, 'page', load)).toEqual(
      unavailable(`${elsewhere.url}worker/worker.js`, url.slice(0, -1), 'blobWorker: true'),
    );
    const told = await visitHere(url, 'page', { ...load, blobWorker: true });
    expect(told).toEqual({ text: story, nThreads: 2 });
  });

  it('says what a sandboxed frame needs, and runs there', async () => {
    const url = await site({ headers: anyOrigin });
    expect(await visitHere(url, 'sandboxed frame', {})).toEqual(
      unavailable('kinglet/worker/worker.js', 'blobWorker: true'),
    );
    const told = await visitHere(url, 'sandboxed frame', { blobWorker: true });
    expect(told).toEqual({ text: story, nThreads: 1 });
  });
});
