// One model for all tabs: Kinglet.load(source, { shared: true }), in three browsers.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Generation, Kinglet, Session } from 'kinglet';
import type { Tab, TabbedBrowser } from './any-browser.ts';
import { browserNames, openKinglet, openTabs } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { storyModel, tellByCli } from './support.ts';

/** What a test leaves in a page. */
interface Here {
  model: Kinglet;
  warnings: string[];
  session: Session | undefined;
  generation: Generation;
  /** How the generation ends: "end", or the code of its error. */
  ending: Promise<string> | undefined;
  /** What it has told, and in how many pieces. */
  told: string;
  nPieces: number;
  /** How many pieces came while another tab generated its answer. */
  nMeanwhile: Promise<number>;
  outcomes: Promise<string[]>;
}

const opening = 'Once upon a time';
const withoutEnd = { temperature: 0, onFull: 'shift', logitBias: { 1: -100, 2: -100 } } as const;
let server: FaultyServer;
let story: string;
beforeAll(async () => {
  story = tellByCli(opening, 40);
  server = await startFaultyServer({ isolated: true });
  server.files.set('/model.gguf', { bytes: readFileSync(storyModel) });
});
afterAll(() => {
  server.close();
});

describe.each(browserNames)('%s', (name) => {
  let browser: TabbedBrowser;
  let tabs: Tab[] = [];
  /** The beginning of a story that the model may not end, told by a tab alone. */
  let endless: string;
  beforeAll(async () => {
    browser = await openTabs(name);
    const alone = await newTab();
    await load(alone, { shared: false });
    await begin(alone);
    endless = await hasTold(alone, 8000);
    await close(alone);
  });
  afterAll(async () => {
    await browser.close();
  });
  afterEach(async () => {
    for (const tab of tabs.splice(0)) await tab.close().catch(() => undefined);
  });

  async function newTab({ url } = server): Promise<Tab> {
    const tab = await browser.newTab();
    tabs.push(tab);
    await openKinglet(tab, url);
    return tab;
  }
  async function close(tab: Tab, how: 'close' | 'kill' = 'close'): Promise<void> {
    tabs = tabs.filter((other) => other !== tab);
    await tab[how]();
  }
  /** Loads the model in the tab, and says what the tab is to it. */
  const load = (tab: Tab, options: object = {}) =>
    tab.evaluate(async (given: object) => {
      const here = globalThis as unknown as Here;
      here.warnings = [];
      here.model = await kinglet.Kinglet.load('/model.gguf', {
        ...{ nThreads: 2, nCtx: 512, shared: true, ...given },
        onWarning: ({ message }) => here.warnings.push(message),
      });
      return here.model.info.runtime.shared;
    }, options);
  const role = (tab: Tab) =>
    tab.evaluate(() => (globalThis as unknown as Here).model.info.runtime.shared);
  const tell = (tab: Tab, maxTokens = 40) =>
    tab.evaluate(
      async (prompt: string, n: number) => {
        const { model } = globalThis as unknown as Here;
        const { result } = model.generate(prompt, { maxTokens: n, temperature: 0 });
        return (await result).text;
      },
      opening,
      maxTokens,
    );

  const warnings = (tab: Tab) => tab.evaluate(() => (globalThis as unknown as Here).warnings);
  /** Begins a story that the model may not end, in the model's first session. */
  const begin = (tab: Tab) =>
    tab.evaluate(
      (prompt: string, options: unknown) => {
        const here = globalThis as unknown as Here;
        here.told = '';
        here.nPieces = 0;
        here.generation = here.model.generate(prompt, {
          ...(options as object),
          maxTokens: 100_000,
        });
        const read = async () => {
          for await (const { text } of here.generation) {
            here.told += text;
            here.nPieces += 1;
          }
          return 'end';
        };
        here.ending = read().catch((error: unknown) => (error as { code: string }).code);
      },
      opening,
      withoutEnd,
    );
  /** Waits until the answer has so many characters; returns what it told, or how it failed. */
  const hasTold = (tab: Tab, length: number) =>
    tab.evaluate(async (n: number) => {
      const here = globalThis as unknown as Here;
      const soon = () => new Promise((resolve) => setTimeout(resolve, 10));
      let failed: string | undefined;
      void here.ending?.then((how) => (failed = how));
      while (here.told.length < n && failed === undefined) await soon();
      return failed ?? here.told.slice(0, n);
    }, length);
  /** Begins a story. */
  const ask = (tab: Tab) =>
    tab.evaluate((prompt: string) => {
      const here = globalThis as unknown as Here;
      here.generation = here.model.generate(prompt, { maxTokens: 40, temperature: 0 });
    }, opening);
  /** Returns the story, or how it failed. */
  const answerOf = (tab: Tab) =>
    tab.evaluate(() =>
      (globalThis as unknown as Here).generation.result.then(({ text }) => text, String),
    );
  /** Continues a session of its own. */
  const continueSession = (tab: Tab, prompt: string, maxTokens: number) =>
    tab.evaluate(
      async (text: string, n: number) => {
        const here = globalThis as unknown as Here;
        here.session ??= await here.model.newSession();
        return (await here.session.generate(text, { maxTokens: n, temperature: 0 }).result).text;
      },
      prompt,
      maxTokens,
    );
  const dispose = (tab: Tab) =>
    tab.evaluate(() => {
      (globalThis as unknown as Here).model.dispose();
    });
  const toldBy = (tab: Tab) => tab.evaluate(() => (globalThis as unknown as Here).told);
  /** Begins to count the pieces of the tab's answer while another tab generates one. */
  const countDuringAnother = (tab: Tab) =>
    tab.evaluate(() => {
      const here = globalThis as unknown as Here;
      const channel = new BroadcastChannel('counting');
      let nBefore = 0;
      here.nMeanwhile = new Promise((resolve) => {
        channel.onmessage = ({ data }) => {
          if (data === 'begun') nBefore = here.nPieces;
          else {
            channel.close();
            resolve(here.nPieces - nBefore);
          }
        };
      });
    });
  const nMeanwhile = (tab: Tab) => tab.evaluate(() => (globalThis as unknown as Here).nMeanwhile);
  /** Generates so many tokens for the tabs that count. */
  const generateForOthers = (tab: Tab, nTokens: number) =>
    tab.evaluate(
      async (prompt: string, options: unknown, n: number) => {
        const { model } = globalThis as unknown as Here;
        const channel = new BroadcastChannel('counting');
        const generation = model.generate(prompt, { ...(options as object), maxTokens: n });
        await generation[Symbol.asyncIterator]().next();
        channel.postMessage('begun');
        const { usage } = await generation.result;
        channel.postMessage('over');
        channel.close();
        return usage.completionTokens;
      },
      opening,
      withoutEnd,
      nTokens,
    );
  const stop = (tab: Tab) =>
    tab.evaluate(async () => {
      const here = globalThis as unknown as Here;
      await here.generation.cancel();
      await here.ending;
      return here.told;
    });

  it('is loaded once, and gives each tab the texts of a tab alone', async () => {
    const [first, second, third] = [await newTab(), await newTab(), await newTab()];
    const before = server.requests.length;
    expect(await load(first)).toBe('host');
    expect(await load(second)).toBe('guest');
    expect(await load(third)).toBe('guest');
    expect(server.requests.length - before).toBe(1);
    for (const tab of [first, second, third]) expect(await tell(tab)).toBe(story);
    expect(await warnings(first)).toEqual([]);
  });

  it('is not shared with other options, and says what cannot be shared', async () => {
    const [first, second] = [await newTab(), await newTab()];
    expect(await load(first)).toBe('host');
    expect(await load(second, { nCtx: 256 })).toBe('host');
    expect(await load(second, { stallTimeout: 1000, headers: { 'X-A': 'b' } })).toBe('guest');
    const refused = await first.evaluate(() =>
      kinglet.Kinglet.load(new Uint8Array(9), { shared: true }).catch(
        (error: unknown) => (error as { code: string }).code,
      ),
    );
    expect(refused).toBe('invalid_argument');
  });

  it.each([2, 3])('gives each of %i tabs its share of the tokens', async (nTabs) => {
    const all: Tab[] = [];
    for (let i = 0; i < nTabs; ++i) {
      all.push(await newTab());
      await load(all[i]!);
    }
    const [last, ...others] = all.reverse();
    for (const tab of others) {
      await begin(tab);
      expect(endless).toContain(await hasTold(tab, 20));
      await countDuringAnother(tab);
    }
    const nTokens = 1500;
    expect(await generateForOthers(last!, nTokens)).toBe(nTokens);
    for (const tab of others) {
      // A round gives each answer one token, but news of it may come to a tab later than to another.
      const n = await nMeanwhile(tab);
      expect(n).toBeGreaterThan(nTokens * 0.75);
      expect(n).toBeLessThan(nTokens * 1.33);
      await stop(tab);
    }
    expect(await tell(last!)).toBe(story);
  });

  it.each(['close', 'kill'] as const)('goes on in another tab after a %s', async (how) => {
    const [first, second, third] = [await newTab(), await newTab(), await newTab()];
    expect(await load(first)).toBe('host');
    await load(second);
    await load(third);
    const words = await continueSession(third, opening, 10);
    await begin(second);
    await hasTold(second, 20);
    await close(first, how);
    // The same answer goes on, without a word that is missing or comes twice.
    const { length } = await toldBy(second);
    const told = await hasTold(second, Math.max(length + 400, endless.length));
    expect(told.slice(0, endless.length)).toBe(endless);
    await stop(second);
    expect(words + (await continueSession(third, '', 30))).toBe(story);
    for (const tab of [second, third]) expect(await tell(tab)).toBe(story);
    expect([await role(second), await role(third)].sort()).toEqual(['guest', 'host']);
  });

  it('keeps what an answer has said when it is cancelled right after a takeover', async () => {
    const [first, second] = [await newTab(), await newTab()];
    await load(first);
    await load(second);
    await begin(second);
    await hasTold(second, 200);
    await close(first);
    const { told, result, finishReason } = await second.evaluate(async () => {
      const here = globalThis as unknown as Here;
      const { text, finishReason } = await here.generation.cancel();
      await here.ending;
      return { told: here.told, result: text, finishReason };
    });
    expect(finishReason).toBe('cancelled');
    expect(told.length).toBeGreaterThanOrEqual(200);
    expect(result).toBe(told);
  });

  it('searches on in an index whose tab is gone', async () => {
    const [first, second] = [await newTab(), await newTab()];
    await load(first);
    await load(second);
    const opened = await second.evaluate(async () => {
      const load = eval('(address) => import(address)') as (address: string) => Promise<unknown>;
      const { SearchIndex } = (await load(
        '/dist/search/index.js',
      )) as typeof import('kinglet/search');
      const { model } = globalThis as unknown as Here;
      const open = (keep: boolean) => SearchIndex.open('shared', { model, keep });
      const indexes = [await open(true), await open(false)];
      for (const index of indexes) await index.add('boats', 'The boat was on the sea.');
      (globalThis as unknown as { indexes: unknown }).indexes = indexes;
      return indexes.map((index) => index.documents.length);
    });
    expect(opened).toEqual([1, 1]);
    await close(first);
    const found = await second.evaluate(async () => {
      const { indexes } = globalThis as unknown as {
        indexes: import('kinglet/search').SearchIndex[];
      };
      const answers = [];
      for (const index of indexes) {
        const hits = await index.search('The boat was on the sea.');
        await index.add('cats', 'The cat sat on the mat.');
        answers.push([hits.map(({ id }) => id), index.documents.length, index.nPending]);
        await index.clear();
        await index.close();
      }
      return answers;
    });
    expect(found).toEqual([
      [['boats'], 2, 0],
      [['boats'], 2, 0],
    ]);
    expect(await role(second)).toBe('host');
  });

  it('works in pages that are not isolated', async () => {
    const bare = await startFaultyServer();
    bare.files.set('/model.gguf', { bytes: readFileSync(storyModel) });
    try {
      const [first, second] = [await newTab(bare), await newTab(bare)];
      expect(await load(first)).toBe('host');
      expect(await load(second)).toBe('guest');
      await begin(second);
      expect(await tell(first)).toBe(story);
      await hasTold(second, 20);
      await stop(second);
      await close(first);
      expect(await tell(second)).toBe(story);
    } finally {
      bare.close();
    }
  });

  it('stays with the other tabs when one is disposed of', async () => {
    const [first, second] = [await newTab(), await newTab()];
    await load(first);
    await load(second);
    await begin(second);
    await dispose(first);
    expect(await hasTold(second, endless.length)).toBe(endless);
    await stop(second);
    expect(await role(second)).toBe('guest');
    expect(await load(first)).toBe('guest'); // its own worker is still the host
    await dispose(second);
    expect(await tell(first)).toBe(story);
    await dispose(first);
    expect(await load(second)).toBe('host'); // nobody used the model any more
    expect(await tell(second)).toBe(story);
  });

  it('gives the host up while its page is put aside, and joins again when it is shown', async () => {
    const [first, second] = [await newTab(), await newTab()];
    await load(first);
    await load(second);
    const turn = (tab: Tab, type: string) =>
      tab.evaluate((kind: string) => {
        dispatchEvent(new PageTransitionEvent(kind, { persisted: true }));
      }, type);
    const words = await continueSession(first, opening, 10);
    await turn(first, 'pagehide');
    await ask(first); // waits until the page is shown
    expect(await tell(second)).toBe(story);
    expect(await role(second)).toBe('host');
    await turn(first, 'pageshow');
    expect(await answerOf(first)).toBe(story);
    expect(await role(first)).toBe('guest');
    expect(words + (await continueSession(first, '', 30))).toBe(story);
  });

  it('rejects what would not be the same again, and nothing hangs', async () => {
    const [first, second] = [await newTab(), await newTab()];
    await load(first);
    await load(second);
    await second.evaluate(
      async ([module, prompt]: [string, string]) => {
        // The test's own import() becomes another function.
        const load = eval('(address) => import(address)') as (
          address: string,
        ) => Promise<typeof import('kinglet/openai')>;
        const { createFetch } = await load(module);
        const here = globalThis as unknown as Here;
        const body = JSON.stringify({
          ...{ prompt, stream: true, temperature: 0 },
          max_tokens: 400,
        });
        const post = async () => {
          const request = { method: 'POST', body };
          const response = await createFetch(here.model)('http://here/v1/completions', request);
          return response.text();
        };
        here.told = '';
        const outcomes = Array.from({ length: 12 }, () =>
          post().then(
            (text) => {
              here.told += '.';
              return /"code":"(\w+)"/.exec(text)?.[1] ?? 'done';
            },
            (error: unknown) => (error as { code: string }).code,
          ),
        );
        here.outcomes = Promise.all(outcomes);
      },
      [`${server.url}dist/openai/index.js`, opening] as [string, string],
    );
    await hasTold(second, 1); // the next one is being answered
    await close(first);
    const outcomes = await second.evaluate(() => (globalThis as unknown as Here).outcomes);
    // Only the one of which something had arrived; the others are answered in this tab.
    const failed = outcomes.filter((outcome) => outcome !== 'done');
    expect(failed.length).toBeLessThan(2);
    expect([[], ['host_gone']]).toContainEqual(failed);
    expect(await tell(second)).toBe(story);
  });

  it('survives tabs that are opened, closed and killed while others compute', async () => {
    let state = 7;
    const random = (n: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    for (let i = 0; i < 3; ++i) await load(await newTab());
    for (let i = 0; i < 12; ++i) {
      for (const tab of tabs) await ask(tab);
      const leaving = tabs[random(tabs.length)]!;
      const way = random(3);
      if (way === 2) await dispose(leaving);
      else await close(leaving, way === 0 ? 'close' : 'kill');
      const [answers, next] = await Promise.all([
        Promise.all(tabs.filter((tab) => tab !== leaving).map(answerOf)),
        newTab(),
      ]);
      expect(new Set(answers)).toEqual(new Set([story]));
      await load(next);
      if (way === 2) await close(leaving);
    }
    for (const tab of tabs) expect(await tell(tab)).toBe(story); // the last host is there
    const roles = await Promise.all(tabs.map(role));
    expect(roles.filter((each) => each === 'host').length).toBe(1);
    for (const tab of tabs) await dispose(tab);
    // Nothing is held or waited for any more.
    const last = tabs[0]!;
    const locks = await last.evaluate(async () => {
      for (let i = 0; ; ++i) {
        const { held = [], pending = [] } = await navigator.locks.query();
        const names = [...held, ...pending].map((lock) => lock.name ?? '');
        const left = names.filter((each) => each.startsWith('kinglet'));
        if (left.length === 0 || i === 100) return left;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    expect(locks).toEqual([]);
  });
});
