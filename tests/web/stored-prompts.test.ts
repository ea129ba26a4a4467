// Prompts that begin alike are computed once: prepared by the maker of a page, or kept by the page.
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KingletError, LoadOptions } from '../../dist/index.js';
import { Kinglet, ModelCache } from '../../dist/index.js';
import { createFetch } from '../../dist/openai/index.js';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { kinglet as program } from '../cli/program.ts';
import type { AnyPage } from './any-browser.ts';
import { browserNames, holdCache, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { storyModel } from './support.ts';

const chatTemplate = '{% for m in messages %}{{ m.content }}\n{% endfor %}';
const stories = new Uint8Array(readFileSync(storyModel));
const system = 'Once upon a time there was a little girl who had a big red ball. '.repeat(20);
const messages = [{ role: 'system', content: system }];
const asked = (question: string) => [...messages, { role: 'user', content: question }];

const folder = mkdtempSync(join(tmpdir(), 'kinglet-prompts-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function withModel<T>(
  options: LoadOptions,
  use: (model: Kinglet, warnings: KingletError[]) => Promise<T>,
): Promise<T> {
  const warnings: KingletError[] = [];
  const model = await Kinglet.load(stories, {
    ...{ nThreads: 1, nCtx: 512, chatTemplate, ...options },
    onWarning: (warning) => warnings.push(warning),
  });
  try {
    return await use(model, warnings);
  } finally {
    model.dispose();
  }
}

const answer = (model: Pick<Kinglet, 'chat'>, question: string) =>
  model.chat(asked(question), { maxTokens: 12, temperature: 0 }).result;

describe('a prepared state', () => {
  let state: Uint8Array<ArrayBuffer>;
  let alone: string;
  beforeAll(async () => {
    await withModel({}, async (model) => {
      alone = (await answer(model, 'Tom')).text;
      state = await model.prepare({ messages });
    });
  });

  it('is where chat() starts, with the same answer, in every session', async () => {
    await withModel({ prepared: [state] }, async (model, warnings) => {
      const { text, usage, timings } = await answer(model, 'Tom');
      expect(text).toBe(alone);
      expect(timings.restoredTokens).toBeGreaterThan(256);
      expect(timings.restoredBytes).toBe(state.length);
      expect(usage.cachedTokens).toBe(timings.restoredTokens);
      expect((await answer(model, 'Sue')).timings.restoredTokens).toBe(0); // the context has it
      const session = await model.newSession();
      expect((await answer(session, 'Tom')).timings.restoredTokens).toBe(timings.restoredTokens);
      await model.generate('The end', { maxTokens: 1 }).result;
      expect((await answer(model, 'Sue')).timings.restoredTokens).toBe(timings.restoredTokens);
      expect(warnings).toEqual([]);
    });
  });

  it('is where requests of the API start', async () => {
    await withModel({ prepared: [state] }, async (model) => {
      const response = await createFetch(model)('http://here/v1/chat/completions', {
        method: 'POST',
        body: JSON.stringify({ messages: asked('Tom'), max_tokens: 2 }),
      });
      const { usage } = (await response.json()) as {
        usage: { prompt_tokens_details: { cached_tokens: number } };
      };
      expect(usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(256);
    });
  });

  it('is reported, and computed anew, if it cannot be used', async () => {
    const changed = state.slice();
    changed[changed.length - 3]! ^= 1;
    const foreign = state.slice();
    foreign[16]! ^= 1;
    for (const [given, atOnce] of [
      [changed, []], // is noticed when it is restored
      [foreign, ['wrong_shape']],
      [state.slice(0, 100), ['corrupt']],
      [new TextEncoder().encode('<html>'), ['corrupt']],
    ] as const) {
      await withModel({ prepared: [given] }, async (model, warnings) => {
        const { text, timings, warnings: later = [] } = await answer(model, 'Tom');
        expect({ text, restored: timings.restoredTokens }).toEqual({ text: alone, restored: 0 });
        const told = [...warnings.map(({ message }) => message), ...later];
        expect(told).toEqual([expect.stringMatching(/prompt prepared\[0\] is not used: .{20}/)]);
        expect(warnings.map((warning) => warning.code)).toEqual(atOnce);
      });
    }
  });

  it('is not for other kinds of keys and values', async () => {
    await withModel({ prepared: [state], kv: 'q4' }, async (model) => {
      expect((await answer(model, 'Tom')).timings.restoredTokens).toBe(0);
    });
  });

  it('can be made by the program and used here, and the other way round', async () => {
    const files = { system: join(folder, 'system.txt'), template: join(folder, 'chat.jinja') };
    writeFileSync(files.system, `${system}\n`); // the end of its last line is not part of it
    writeFileSync(files.template, chatTemplate);
    const made = join(folder, 'made.kprompt');
    const model = ['-m', storyModel.pathname, '--ctx', '512', '--chat-template', files.template];
    const prepared = program(['prepare', ...model, '--system', files.system, '-o', made]);
    expect(prepared.status, prepared.stderr).toBe(0);
    await withModel({ prepared: [made] }, async (page) => {
      const { text, timings } = await answer(page, 'Tom');
      expect({ text, bytes: timings.restoredBytes }).toEqual({
        ...{ text: alone, bytes: statSync(made).size },
      });
    });
    const cache = join(folder, 'of-the-program');
    const chat = () =>
      program(
        [
          ...['chat', ...model, '--system', system, '-n', '12', '--temp', '0', '--speed'],
          ...['--prompt-cache', cache],
        ],
        'Tom\n',
      );
    const first = chat();
    expect(first.stderr).toMatch(/ 0 of them known/);
    rmSync(join(cache, readdirSync(cache)[0]!));
    writeFileSync(join(cache, 'page.kprompt'), state);
    // What a killed process leaves goes after an hour; what one writes now, and others' files, stay.
    for (const name of ['old.kprompt.part', 'new.kprompt.part', 'old.gguf.part']) {
      writeFileSync(join(cache, name), 'x');
      if (name.startsWith('old')) utimesSync(join(cache, name), 0, 0);
    }
    const second = chat();
    expect(second.stderr).toMatch(/ [34]\d\d of them known/);
    expect(second.stdout).toBe(first.stdout);
    expect(readdirSync(cache).filter((name) => name.endsWith('.part'))).toEqual([
      ...['new.kprompt.part', 'old.gguf.part'],
    ]);
  });
});

it('a download that is slower than computing is left to a later visit', async () => {
  const server = await startFaultyServer();
  const state = await withModel({}, (model) => model.prepare({ messages }));
  const byte = Math.floor(state.length / 2);
  server.files.set('/page.kprompt', {
    bytes: state,
    etag: '"1"',
    faults: [{ byte, kind: 'stall' }],
  });
  try {
    const prepared = [`${server.url}page.kprompt`];
    await withModel({ prepared, cache: join(folder, 'slow') }, async (model, warnings) => {
      expect(warnings.map(({ message }) => message)).toEqual([
        expect.stringMatching(
          /download would take (too long|\d+ s more), and computing .* about \d/,
        ),
      ]);
      expect((await answer(model, 'Tom')).timings.restoredTokens).toBe(0);
    });
    await withModel({ prepared, cache: join(folder, 'slow') }, async (model, warnings) => {
      expect(warnings).toEqual([]);
      expect((await answer(model, 'Tom')).timings.restoredTokens).toBeGreaterThan(256);
    });
  } finally {
    server.close();
  }
});

describe('kept states', () => {
  const keep = (name: string, maxBytes = 1e8) => ({
    ...{ cache: join(folder, name), keepPrompts: { maxBytes } },
  });
  const restored = async (model: Kinglet, question: string) =>
    (await answer(model, question)).timings.restoredTokens;
  /** Writing goes on after the answer. */
  const settled = async (model: Kinglet) => {
    await model.tokenize('a');
    await new Promise((resolve) => setTimeout(resolve, 100));
  };

  it('outlive the model, and are no models in the cache', async () => {
    await withModel(keep('a'), async (model) => {
      expect(await restored(model, 'Tom')).toBe(0);
      await settled(model);
    });
    await withModel(keep('a'), async (model, warnings) => {
      expect(await restored(model, 'Sue')).toBeGreaterThan(256);
      expect(warnings).toEqual([]);
    });
    const cache = new ModelCache(join(folder, 'a'));
    expect(await cache.list()).toEqual([]);
    await cache.clear();
    await withModel(keep('a'), async (model) => {
      expect(await restored(model, 'Tom')).toBe(0);
    });
  });

  it('are replaced if they are damaged', async () => {
    await withModel(keep('b'), async (model) => {
      await answer(model, 'Tom');
      await settled(model);
    });
    const files = readdirSync(join(folder, 'b')).map((name) => join(folder, 'b', name));
    const largest = files.sort((x, y) => statSync(y).size - statSync(x).size)[0]!;
    const bytes = readFileSync(largest);
    bytes[bytes.length - 9]! ^= 1;
    writeFileSync(largest, bytes);
    await withModel(keep('b'), async (model, warnings) => {
      expect(await restored(model, 'Tom')).toBe(0);
      expect(warnings.length).toBeGreaterThan(0);
      await settled(model);
    });
    await withModel(keep('b'), async (model, warnings) => {
      expect(await restored(model, 'Tom')).toBeGreaterThan(256);
      expect(warnings).toEqual([]);
    });
  });

  it('stay within their limit: the least recently used goes first', async () => {
    const ask = (model: Kinglet, who: string) =>
      model.chat(
        [{ role: 'system', content: system.replaceAll('girl', who) }, ...asked('Tom').slice(1)],
        { maxTokens: 1 },
      ).result;
    const { timings } = await withModel(keep('c'), async (model) => {
      await ask(model, 'girl');
      await settled(model);
      await model.generate('The end', { maxTokens: 1 }).result;
      return ask(model, 'girl');
    });
    await withModel(keep('c', 2.5 * timings.restoredBytes), async (model) => {
      const restoredOf = async (who: string) => {
        const result = await ask(model, who);
        await settled(model);
        return result.timings.restoredTokens > 0;
      };
      expect(await restoredOf('boy')).toBe(false);
      expect(await restoredOf('girl')).toBe(true);
      expect(await restoredOf('cat')).toBe(false); // in the place of the boy
      expect(await restoredOf('girl')).toBe(true);
      expect(await restoredOf('boy')).toBe(false);
    });
  });
});

describe.concurrent.each(browserNames)('in %s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer();
    server.files.set('/model.gguf', { bytes: stories });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
    await holdCache(page);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it('a page keeps and prepares states', async () => {
    const seen = await page.evaluate(
      async (template: string, system: string) => {
        const tokens: number[] = [];
        const texts: string[] = [];
        const warnings: string[] = [];
        const visit = async (options: object) => {
          const model = await kinglet.Kinglet.load('/model.gguf', {
            ...{ nThreads: 1, nCtx: 512, chatTemplate: template, ...options },
            onWarning: ({ code, message }) => {
              // A browser may release the last visit's locks late.
              if (code !== 'cache_unavailable') warnings.push(message);
            },
          });
          const { text, timings } = await model.chat(
            [
              { role: 'system', content: system },
              { role: 'user', content: 'Tom' },
            ],
            { maxTokens: 8, temperature: 0 },
          ).result;
          texts.push(text);
          tokens.push(timings.restoredTokens);
          const state = await model.prepare({ messages: [{ role: 'system', content: system }] });
          await new Promise((resolve) => setTimeout(resolve, 500));
          model.dispose();
          return state;
        };
        const keepPrompts = { maxBytes: 1e8 };
        const state = await visit({ keepPrompts });
        await visit({ keepPrompts });
        await visit({ prepared: [state] });
        return { tokens, texts, warnings };
      },
      chatTemplate,
      system,
    );
    expect(seen.warnings).toEqual([]);
    expect(seen.tokens[0]).toBe(0);
    expect(seen.tokens[1]).toBeGreaterThan(256);
    expect(seen.tokens[2]).toBe(seen.tokens[1]);
    expect(new Set(seen.texts).size).toBe(1);
  });

  it('models that share the storage and end at any moment do not damage it', async () => {
    const seen = await page.evaluate(
      async (template: string, system: string) => {
        const warnings: string[] = [];
        const load = () =>
          kinglet.Kinglet.load('/model.gguf', {
            ...{ nThreads: 1, nCtx: 512, chatTemplate: template },
            keepPrompts: { maxBytes: 3e6 }, // fewer states than are made
            onWarning: ({ code, message }) => {
              if (code !== 'cache_unavailable') warnings.push(message);
            },
          });
        const texts = new Map<string, Set<string>>();
        const visit = async (who: string, afterMs: number) => {
          const model = await load();
          const timer = setTimeout(() => {
            model.dispose();
          }, afterMs);
          try {
            const { text, warnings: later } = await model.chat(
              [
                { role: 'system', content: system.replaceAll('girl', who) },
                { role: 'user', content: 'Tom' },
              ],
              { maxTokens: 8, temperature: 0 },
            ).result;
            warnings.push(...(later ?? []).filter((warning) => !warning.includes('not kept')));
            if (!texts.has(who)) texts.set(who, new Set());
            texts.get(who)?.add(text);
            await new Promise((resolve) => setTimeout(resolve, Math.min(afterMs / 4, 300)));
          } catch {
            // It was disposed of before it had an answer.
          } finally {
            clearTimeout(timer);
            model.dispose();
          }
        };
        for (let round = 0; round < 6; ++round) {
          const visits = ['girl', 'boy', 'cat'].map((who, i) =>
            visit(who, ((round * 3 + i) * 131) % 900),
          );
          await Promise.all(visits);
        }
        for (const who of ['girl', 'boy', 'cat']) await visit(who, 60_000);
        return { warnings, texts: [...texts.values()].map((found) => found.size) };
      },
      chatTemplate,
      system,
    );
    expect(seen).toEqual({ warnings: [], texts: [1, 1, 1] });
  });
});

it('survive tabs that are killed while they are computed or stored', async () => {
  const server = await startFaultyServer();
  server.files.set('/model.gguf', { bytes: stories });
  const browser = await launchHeadlessShell();
  try {
    const context = await browser.newContext();
    /** Opens a tab and asks a question there; kills the tab after some time, if one is given. */
    const visit = async (killAfterMs?: number) => {
      const page = await context.newPage();
      await page.goto(server.url);
      await page.waitForFunction(() => 'kinglet' in globalThis);
      const answering = page.evaluate(
        async ([template, system]) => {
          const warnings: string[] = [];
          const model = await kinglet.Kinglet.load('/model.gguf', {
            ...{ nThreads: 1, nCtx: 512, chatTemplate: template },
            keepPrompts: { maxBytes: 1e8 },
            onWarning: ({ code, message }) => {
              // The browser may release a killed tab's locks late.
              if (code !== 'cache_unavailable') warnings.push(message);
            },
          });
          const messages = [
            { role: 'system', content: system },
            { role: 'user', content: 'Tom' },
          ];
          const result = await model.chat(messages, { maxTokens: 8, temperature: 0 }).result;
          await new Promise((resolve) => setTimeout(resolve, 500));
          return {
            text: result.text,
            warnings: [...warnings, ...(result.warnings ?? [])],
            restoredTokens: result.timings.restoredTokens,
          };
        },
        [chatTemplate, system] as const,
      );
      if (killAfterMs === undefined) return answering.finally(() => page.close());
      const crashed = page.waitForEvent('crash');
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      page.goto('chrome://crash').catch(() => undefined);
      await Promise.all([crashed, answering.catch(() => undefined)]);
      return undefined;
    };
    for (let ms = 20; ms < 600; ms += 60) await visit(ms);
    const first = await visit();
    const second = await visit();
    const alone = await withModel(
      {},
      (model) => model.chat(asked('Tom'), { maxTokens: 8, temperature: 0 }).result,
    );
    expect(first).toMatchObject({ text: alone.text, warnings: [] });
    expect(second).toMatchObject({ text: alone.text, warnings: [] });
    expect(second?.restoredTokens).toBeGreaterThan(256);
  } finally {
    await browser.close();
    server.close();
  }
});
