// The hook for React in Chromium, in React's development build: there StrictMode mounts everything
// twice.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { complaintsOf } from './complaints.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

/** What the page below keeps of the latest render, and what it can do. */
interface Shown {
  states: { isAnswering: boolean; length: number }[];
  render: (source?: string, maxTokens?: number) => void;
  used: {
    model: { info: { name: string } } | undefined;
    error: Error | undefined;
    messages: { role: string; content: string }[];
    ask: (question: string) => Promise<{ content: string } | undefined>;
    stop: () => void;
    clear: () => void;
  };
}

const source = `
  import { createElement, StrictMode } from 'react';
  import { flushSync } from 'react-dom';
  import { createRoot } from 'react-dom/client';
  import { useKinglet } from 'kinglet/react';

  const root = createRoot(document.body.appendChild(document.createElement('main')));
  const states = [];
  function Chat({ source, maxTokens }) {
    const used = useKinglet(source, { answer: { temperature: 0, maxTokens } });
    states.push({ isAnswering: used.isAnswering, length: used.messages.at(-1)?.content.length });
    globalThis.used = used;
    return createElement('output', null, used.model ? 'ready' : (used.error?.message ?? 'loading'));
  }
  globalThis.states = states;
  // Ends when the effects of the render have run, too.
  globalThis.render = (source, maxTokens) => {
    const chat = source && createElement(Chat, { source, maxTokens });
    flushSync(() => root.render(createElement(StrictMode, null, chat)));
  };`;

const folder = join(root, 'build/react');
let browser: Browser;
let served: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.js'), source);
  const template = '{{ messages[-1].content }}';
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="main.js"></script>',
  );
  const alias = { 'kinglet/react': join(root, 'dist/react/index.js') };
  await build({
    ...{ root: folder, mode: 'development', logLevel: 'error', base: './' },
    resolve: { alias },
    define: { 'process.env.NODE_ENV': '"development"' },
    build: { target: 'es2022' },
  });
  const model = withChatTemplate(readFileSync(storyModel), template);
  for (const name of ['one', 'two']) writeFileSync(join(folder, `dist/${name}.gguf`), model);
  cpSync(join(folder, 'main.js'), join(folder, 'dist/wrong.gguf'));
  served = await serve(join(folder, 'dist'), { isolated: false }); // one worker for each model
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
  served.server.closeAllConnections();
  served.server.close();
});

async function open(): Promise<Page> {
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  onTestFinished(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(served.url);
  return page;
}

const render = (page: Page, name?: string, maxTokens = 100) =>
  page.evaluate(
    (given) => {
      (globalThis as unknown as Shown).render(...given);
    },
    [name, maxTokens] as const,
  );
const ready = (page: Page) => page.locator('output', { hasText: 'ready' }).waitFor();
const ask = (page: Page, question: string) =>
  page.evaluate(async (given) => {
    const shown = globalThis as unknown as Shown;
    const answer = await shown.used.ask(given);
    await new Promise((resolve) => setTimeout(resolve)); // the last render
    return { answer, messages: shown.used.messages };
  }, question);

describe('useKinglet', () => {
  it('has one model in StrictMode, and frees it when its component goes', async () => {
    const page = await open();
    let nStarted = 0;
    page.on('worker', () => ++nStarted);
    await render(page, 'one.gguf');
    await ready(page);
    expect(nStarted).toBeGreaterThan(0);
    expect(page.workers()).toHaveLength(1);
    await render(page);
    await expect.poll(() => page.workers().length).toBe(0);
    await render(page, 'two.gguf');
    await ready(page);
    expect(page.workers()).toHaveLength(1);
    await render(page, 'one.gguf'); // another source
    await page.locator('output', { hasText: 'loading' }).waitFor();
    await ready(page);
    expect(page.workers()).toHaveLength(1);
  });

  it('renders answers as they grow, with the options of the latest render', async () => {
    const page = await open();
    await render(page, 'one.gguf');
    await ready(page);
    const { answer, messages } = await ask(page, 'Once upon a time');
    expect(answer?.content).not.toBe('');
    expect(messages).toEqual([{ role: 'user', content: 'Once upon a time' }, answer]);
    const lengths = await page.evaluate(() =>
      (globalThis as unknown as Shown).states
        .filter(({ isAnswering }) => isAnswering)
        .map(({ length }) => length),
    );
    expect(new Set(lengths).size).toBeGreaterThan(5);
    await render(page, 'one.gguf', 3);
    const short = await ask(page, 'Once upon a time');
    expect(short.messages).toHaveLength(4);
    expect(answer?.content.startsWith(short.answer!.content)).toBe(true);
    expect(short.answer!.content.length).toBeLessThan(answer!.content.length / 4);
    expect(page.workers()).toHaveLength(1); // the model was not loaded again
    await page.evaluate(() => {
      (globalThis as unknown as Shown).used.clear();
    });
    const shown = () => page.evaluate(() => (globalThis as unknown as Shown).used.messages);
    await expect.poll(shown).toEqual([]);
  });

  it('takes a question back that is stopped at once, and shows what failed', async () => {
    const page = await open();
    await render(page, 'one.gguf');
    await ready(page);
    const stopped = await page.evaluate(async () => {
      const shown = globalThis as unknown as Shown;
      const answer = shown.used.ask('Once upon a time');
      shown.used.stop();
      return { answer: await answer, messages: shown.used.messages };
    });
    expect(stopped).toEqual({ answer: undefined, messages: [] });
    await render(page, 'one.gguf', -1);
    expect(await ask(page, 'Once upon a time')).toEqual({ answer: undefined, messages: [] });
    const message = await page.evaluate(() => (globalThis as unknown as Shown).used.error?.message);
    expect(message).toMatch(/maxTokens must be/);
    await render(page, 'wrong.gguf');
    await page.locator('output', { hasText: 'expected "GGUF"' }).waitFor();
    await expect.poll(() => page.workers().length).toBe(0);
  });
});
