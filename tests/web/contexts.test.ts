// "Which context can do what" of docs/guide.md: each line of the table is a test, in three browsers.
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ModelInfo } from '../../dist/index.js';
import { Kinglet } from '../../dist/index.js';
import { serve } from '../../scripts/serve.mjs';
import type { AnyPage } from './any-browser.ts';
import { browserNames, holdCache, openAnyPage, openKinglet } from './any-browser.ts';
import { root, storyModel, tellByCli } from './support.ts';

const folder = join(root, 'build/contexts');

let story: string;
let server: Server;
let url: string;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'tests/web/places'), folder, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
  copyFileSync(storyModel, join(folder, 'model.gguf'));
  story = tellByCli('Once upon a time', 40);
  ({ server, url } = await serve(folder));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Told {
  text?: string;
  runtime?: ModelInfo['runtime'];
  [key: string]: unknown;
}

/** Asks the page, or a worker of the given kind, to run probe() with the options of a load. */
function probeIn(page: AnyPage, kind: string, load: object): Promise<Told> {
  return page.evaluate(
    async (kindHere: string, options: object) => {
      const ask = (post: (data: unknown, ports: Transferable[]) => void) =>
        new Promise<Told>((resolve) => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = ({ data }) => {
            resolve(data as Told);
          };
          post(options, [port2]);
        });
      const type = 'module';
      if (kindHere === 'dedicated') {
        const worker = new Worker('in-worker.js', { type });
        return ask((data, ports) => {
          worker.postMessage(data, ports);
        });
      }
      if (kindHere === 'shared') {
        // A worker of its own for each test.
        const { port } = new SharedWorker('in-worker.js', { type, name: JSON.stringify(options) });
        return ask((data, ports) => {
          port.postMessage(data, ports);
        });
      }
      if (kindHere === 'service') {
        await navigator.serviceWorker.register('in-service-worker.js', { type });
        const { active } = await navigator.serviceWorker.ready;
        return ask((data, ports) => {
          active?.postMessage(data, ports);
        });
      }
      const { probe } = globalThis as unknown as { probe: (load: object) => Promise<Told> };
      return probe(options);
    },
    kind,
    load,
  );
}

/** What probe() must find everywhere. */
const works = () => ({
  text: story,
  stoppedText: { name: 'AbortError', isCut: true },
  stoppedPrompt: { name: 'AbortError', isCut: true },
  textAfterwards: story,
});
const own = { worker: 'own', hereReason: undefined, nThreads: 2, singleThreadReason: undefined };
const withoutThreads = { ...own, nThreads: 1, singleThreadReason: 'not_isolated' };
const here = (hereReason: string) => ({
  ...{ worker: 'here', hereReason, nThreads: 1, singleThreadReason: 'here' },
});

describe.concurrent.each(browserNames)('%s', (name) => {
  let page: AnyPage;
  beforeAll(async () => {
    page = await openAnyPage(name);
    await openKinglet(page, `${url}index.html?place=test`, 'probe');
    await holdCache(page);
  });
  afterAll(async () => {
    await page.close();
  });

  it.each([
    { kind: 'page', load: { nThreads: 2 }, runtime: own },
    { kind: 'page', load: { worker: 'here' }, runtime: here('requested') },
    { kind: 'dedicated', load: { nThreads: 2 }, runtime: own },
    { kind: 'dedicated', load: { worker: 'here' }, runtime: here('requested') },
    {
      ...{ kind: 'shared', load: {} },
      // Firefox lets shared workers start others, without shared memory.
      runtime: name === 'Firefox' ? withoutThreads : here('no_workers'),
    },
    { kind: 'shared', load: { worker: 'here' }, runtime: here('requested') },
    { kind: 'service', load: {}, runtime: here('no_workers') },
  ])('runs a model in a $kind context with $load', async ({ kind, load, runtime }) => {
    const told = await probeIn(page, kind, load);
    expect(told).toMatchObject(works());
    const { worker, hereReason, nThreads, singleThreadReason } = told.runtime!;
    expect({ worker, hereReason, nThreads, singleThreadReason }).toEqual(runtime);
  });

  it.each([
    { kind: 'page', load: {}, keptIn: 'file system' },
    { kind: 'page', load: { worker: 'here' }, keptIn: 'Cache API' },
    { kind: 'dedicated', load: {}, keptIn: 'file system' },
    { kind: 'dedicated', load: { worker: 'here' }, keptIn: 'file system' },
    { kind: 'shared', load: {}, keptIn: name === 'Firefox' ? 'file system' : 'Cache API' },
    { kind: 'shared', load: { worker: 'here' }, keptIn: 'Cache API' },
    { kind: 'service', load: {}, keptIn: 'Cache API' },
  ])('keeps a model in a $kind context with $load, and goes on with it', async (line) => {
    expect(await probeIn(page, line.kind, { ...line.load, cache: true })).toMatchObject({
      cached: {
        ...{ brokenOff: 'AbortError', phases: ['cache', 'prepare'], warnings: [] },
        keptIn: [name === 'WebKit' ? 'Cache API' : line.keptIn], // WebKitGTK has no file system
      },
    });
  });
});

it('runs a model in place in Node', async () => {
  const model = await Kinglet.load(storyModel, { worker: 'here' });
  const { result } = model.generate('Once upon a time', { maxTokens: 40, temperature: 0 });
  expect((await result).text).toBe(story);
  expect(model.info.runtime).toMatchObject(here('requested'));
  model.dispose();
  await expect(model.tokenize('a')).rejects.toMatchObject({ code: 'disposed' });
});

it('computes an answer without timers, which hidden tabs slow down', async () => {
  const model = await Kinglet.load(storyModel, { worker: 'here' });
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] }); // they never fire
  onTestFinished(() => {
    vi.useRealTimers();
    model.dispose();
  });
  const { result } = model.generate('Once upon a time', { maxTokens: 40, temperature: 0 });
  expect((await result).text).toBe(story);
});
