// Downloads in each browser, from a server that has the faults of real servers.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AnyPage } from './any-browser.ts';
import { browserNames, holdCache, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer, ServedFile } from './faulty-server.ts';
import { loadInPage, nTokens, opening } from './loading-page.ts';
import type { PageLoadOptions } from './loading-page.ts';
import { splitModel } from './split-model.ts';
import { storyModel, tellByCli } from './support.ts';

const bytes = new Uint8Array(readFileSync(storyModel));
const half = bytes.length >> 1;

const path = '/model.gguf';
let story: string;
beforeAll(() => {
  story = tellByCli(opening, nTokens);
});

describe.each(browserNames)('%s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;

  beforeAll(async () => {
    server = await startFaultyServer();
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
    await holdCache(page);
  });

  afterAll(async () => {
    await page.close();
    server.close();
  });

  beforeEach(() => {
    server.files.clear();
    server.requests.length = 0;
  });

  function serve(file: Partial<ServedFile> = {}): ServedFile {
    const served = { bytes, etag: '"1"', ...file };
    server.files.set(path, served);
    return served;
  }

  const load = (options?: PageLoadOptions) => loadInPage(page, path, { cache: false, ...options });
  const ranges = () => server.requests.map(({ range }) => range);

  describe('a download', () => {
    it('tells how far it has come, and what it does', async () => {
      serve();
      const { text, phases, progress } = await load();
      expect(text).toBe(story);
      expect(phases).toEqual(['download', 'prepare']);
      expect(progress.at(-1)).toEqual({ loaded: bytes.length, total: bytes.length });
      const loaded = progress.map((at) => at.loaded);
      expect(loaded).toEqual(loaded.toSorted((a, b) => a - b));
    });

    it('needs neither Content-Length nor ETag', async () => {
      serve({ etag: undefined, hidesLength: true });
      expect((await load()).text).toBe(story);
    });

    it('tells the size of all parts of a split model from the start', async () => {
      const parts = splitModel(bytes, 3);
      parts.forEach((part, i) => {
        server.files.set(`/m-0000${String(i + 1)}-of-00003.gguf`, { bytes: part });
      });
      const { text, progress } = await loadInPage(page, '/m-00001-of-00003.gguf', { cache: false });
      const total = parts.reduce((sum, part) => sum + part.length, 0);
      expect(text).toBe(story);
      expect(progress[0]!.total).toBe(total);
      expect(progress.at(-1)).toEqual({ loaded: total, total });
    });

    it('is of one file if that is whole, though it has the name of a part', async () => {
      const hubBase = `${server.url}mirror/`;
      const siblings = [{ rfilename: 'm-Q8_0-00001-of-00003.gguf' }];
      server.files.set('/mirror/api/models/owner/repo/revision/main', {
        bytes: new TextEncoder().encode(JSON.stringify({ siblings })),
      });
      for (const [source, file] of [
        ['/m-00001-of-00003.gguf', '/m-00001-of-00003.gguf'],
        ['/m-00003-of-00003.gguf', '/m-00003-of-00003.gguf'],
        ['hf:owner/repo:Q8_0', '/mirror/owner/repo/resolve/main/m-Q8_0-00001-of-00003.gguf'],
      ] as const) {
        server.files.set(file, { bytes });
        const { text, message } = await loadInPage(page, source, { hubBase, cache: false });
        expect({ text, message }).toEqual({ text: story, message: undefined });
      }
    });

    it('is not needed to inspect a file, a later part too', async () => {
      const path = '/m-00002-of-00002.gguf';
      server.files.set(path, { bytes: splitModel(bytes, 2)[1]! });
      const metadata = await page.evaluate(
        async (part: string) => (await kinglet.inspect(part)).metadata,
        path,
      );
      expect(metadata).toContainEqual({ key: 'split.no', value: 1 });
    });

    it('comes from the hub, of a revision too', async () => {
      const hubBase = `${server.url}mirror/`;
      server.files.set('/mirror/owner/repo/resolve/main/model.gguf', { bytes });
      server.files.set('/mirror/owner/repo/resolve/refs%2Fpr%2F1/a/b%20c.gguf', { bytes });
      for (const source of ['hf:owner/repo/model.gguf', 'hf:owner/repo@refs%2Fpr%2F1/a/b c.gguf']) {
        expect((await loadInPage(page, source, { hubBase, cache: false })).text).toBe(story);
      }
    });

    it('comes from the hub by its weight type, and without the hub from the cache', async () => {
      const hubBase = `${server.url}mirror/`;
      const listing = '/mirror/api/models/owner/repo/revision/main';
      const siblings = ['README.md', 'model-Q4_K_M.gguf', 'model-Q8_0.gguf', 'mmproj-Q8_0.gguf'];
      const json = JSON.stringify({
        siblings: siblings.map((rfilename) => ({ rfilename })),
      });
      server.files.set(listing, { bytes: new TextEncoder().encode(json) });
      const path = '/mirror/owner/repo/resolve/main/model-Q8_0.gguf';
      server.files.set(path, { bytes, etag: '"1"' });
      const source = 'hf:owner/repo:q8_0';
      expect((await loadInPage(page, source, { hubBase })).text).toBe(story);
      expect(await loadInPage(page, 'hf:owner/repo:Q6_K', { hubBase })).toMatchObject({
        code: 'not_found',
        message:
          'owner/repo has no such file for a model of type Q6_K; name one of: ' +
          'model-Q4_K_M.gguf, model-Q8_0.gguf',
      });
      server.files.delete(listing);
      expect(await loadInPage(page, source, { hubBase })).toMatchObject({ code: 'not_found' });
      const faults = Array.from({ length: 9 }, () => ({ byte: 0, kind: 'cut' as const }));
      server.files.set(listing, { bytes, faults });
      expect((await loadInPage(page, source, { hubBase })).text).toBe(story);
    });

    it('sends the headers that it is given', async () => {
      serve();
      await load({ headers: { Authorization: 'Bearer 123' } });
      expect(server.requests[0]!.headers.authorization).toBe('Bearer 123');
    });
  });

  describe('an interrupted download', () => {
    it('goes on where it was cut, again and again', async () => {
      serve({
        faults: [
          { byte: half, kind: 'cut' },
          { byte: half, kind: 'cut' },
          { byte: half + 300_000, kind: 'cut' },
        ],
      });
      const { text, progress } = await load();
      expect(text).toBe(story);
      expect(progress.at(-1)!.loaded).toBe(bytes.length);
      expect(ranges()).toEqual([
        undefined,
        `bytes=${String(half)}-`,
        `bytes=${String(half)}-`,
        `bytes=${String(half + 300_000)}-`,
      ]);
    });

    it('goes on when the server has stalled', async () => {
      serve({ faults: [{ byte: half, kind: 'stall' }] });
      expect((await load({ stallTimeout: 500 })).text).toBe(story);
      expect(ranges()).toEqual([undefined, `bytes=${String(half)}-`]);
    });

    it('goes on from another site, whose Content-Range is hidden', async () => {
      serve({
        lastModified: 'Sat, 21 Nov 2026 10:00:00 GMT',
        faults: [{ byte: half, kind: 'cut' }],
      });
      expect((await loadInPage(page, `${server.otherSite}model.gguf`, { cache: false })).text).toBe(
        story,
      );
      expect(ranges()).toEqual([undefined, `bytes=${String(half)}-`]);
    });

    it('reads past what it has where the server gives no parts', async () => {
      serve({ refusesRanges: true, faults: [{ byte: half, kind: 'cut' }] });
      expect((await load()).text).toBe(story);
      expect(server.requests.map(({ sent }) => sent)).toEqual([half, bytes.length]);
    });

    it('begins anew when the file has changed meanwhile', async () => {
      const file = serve({ bytes: bytes.map((byte, i) => (i < half ? byte : ~byte)) });
      file.faults = [
        {
          byte: half,
          kind: () => {
            serve({ etag: '"2"' });
          },
        },
        { byte: half, kind: 'cut' },
      ];
      expect((await load()).text).toBe(story);
      expect(ranges()).toEqual([undefined, `bytes=${String(half)}-`, undefined]);
    });

    it('gives up on a file that changes all the time', async () => {
      let version = 0;
      const change = () => {
        version += 1;
        const byte = half - 1000 * version; // before the start of the next range
        serve({
          etag: `"${String(version)}"`,
          faults: [
            { byte, kind: change },
            { byte, kind: 'cut' },
          ],
        });
      };
      change();
      expect(await load()).toMatchObject({ text: undefined, code: 'file_changed' });
    });

    it('is not taken up when nothing tells one version from another', async () => {
      serve({ etag: undefined, faults: [{ byte: half, kind: 'cut' }] });
      const { code, message } = await load();
      expect(code).toBe('network');
      // Bytes that the browser had not passed on when the connection was cut are lost.
      const [, nRead, nExpected] = /broke off after (\d+) of (\d+) bytes/.exec(message ?? '') ?? [];
      expect(Number(nRead)).toBeLessThanOrEqual(half);
      expect(Number(nExpected)).toBe(bytes.length);
      expect(server.requests).toHaveLength(1);
    });

    it('ends a stalled request when it is aborted', async () => {
      serve({ faults: [{ byte: half, kind: 'stall' }] });
      expect(await load({ abortAt: 1 })).toMatchObject({ text: undefined, code: 'AbortError' });
    });
  });

  describe('a file that cannot be had', () => {
    it.each([
      [{ status: 404 }, 'not_found', /answered 404 \(Not Found\)/],
      [{ status: 410 }, 'not_found', /answered 410 \(Gone\)/],
      [{ status: 401 }, 'access_denied', /401 \(Unauthorized\).*gated.*Authorization/],
      [{ status: 403 }, 'access_denied', /403 \(Forbidden\)/],
      [{ status: 503 }, 'network', /503 \(Service Unavailable\)/],
      [
        { contentType: 'text/html; charset=utf-8' },
        'not_gguf',
        /web page.*probably there is no such file/,
      ],
      [{ faults: [{ byte: 0, kind: 'stall' as const }] }, 'network', /nothing arrived|no answer/],
    ])('is refused in words: %o', async (file, code, message) => {
      serve({ etag: undefined, ...file });
      const outcome = await load({ stallTimeout: 500 });
      expect(outcome).toMatchObject({ text: undefined, code });
      expect(outcome.message).toMatch(message);
    });

    it.each(['file:///models/a.gguf', 'C:\\models\\a.gguf'])(
      'is no path, which pages cannot read: %s',
      async (path) => {
        const outcome = await loadInPage(page, path);
        expect(outcome).toMatchObject({ text: undefined, code: 'invalid_argument' });
        expect(outcome.message).toMatch(/a page cannot read .*a\.gguf: let the user pick the file/);
      },
    );

    it('is told apart by why another site does not give it', async () => {
      serve({ hasNoCors: true });
      expect(
        await loadInPage(page, `${server.otherSite}model.gguf`, { cache: false }),
      ).toMatchObject({
        code: 'cors',
        message: expect.stringContaining('Access-Control-Allow-Origin') as string,
      });
      expect(await loadInPage(page, 'http://127.0.0.1:1/model.gguf')).toMatchObject({
        code: 'network',
      });
    });
  });

  describe('a hub address', () => {
    it.each([
      'hf:',
      'hf:owner',
      'hf:owner/repo:',
      'hf:owner/repo/',
      'hf:owner//x.gguf',
      'hf:a/b@/x.gguf',
    ])('is refused where it is incomplete: %s', async (source) => {
      expect(await loadInPage(page, source)).toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('hf:owner/repo/file.gguf') as string,
      });
    });
  });
});
