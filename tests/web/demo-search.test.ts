// The demo page's search panel in headless Chromium, with a tiny embedding model. Its weights are
// random, so a text is similar only to itself.
import { mkdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerPrompt } from '../../demo/src/search/answer-prompt.ts';
import { accessibilityFaults, drop, openPage, openPanel, openSite } from './demo-page.ts';
import type { Site } from './demo-page.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { root, storyModel, tellByCli, withChatTemplate } from './support.ts';

declare const links: typeof import('../../demo/src/search/citation-links.ts');

const screenshots = `${root}build/screenshots`;
const encoder = (name: string) => readFileSync(`${root}tests/fixtures/encoder/${name}.gguf`);

// For the model, a character is a token, and 200 tokens are a passage.
const wren =
  'A wren sings in the hedge all day long. It is a very small bird. Its nest is round, of moss and dry leaves.';
const texts = {
  'birds.txt': `${wren}\n\nThe goldcrest is smaller still, the smallest of Europe. It weighs five grams, and lives in firs and spruces.`,
  'soup.md': '# Soup\n\nCut the leek. Boil it with salt. Serve it hot.',
};

let site: Site;
let hub: FaultyServer;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  site = await openSite();
  hub = await startFaultyServer();
  const path =
    'second-state/All-MiniLM-L6-v2-Embedding-GGUF/resolve/main/all-MiniLM-L6-v2-Q8_0.gguf';
  hub.files.set(`/${path}`, { bytes: encoder('modern-bert'), etag: '"1"' });
});

afterAll(async () => {
  hub.close();
  await site.close();
});

/** Opens the search panel in a page whose hub has one model. */
async function openSearch(options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const query = `?temperature=0&tokens=20&hub=${hub.url.replace(/\/$/, '')}`;
  const page = await openPage(site.browser, `${site.plain.url}${query}`, options);
  await openPanel(page, 'search');
  await page.locator('#search-query').waitFor();
  return page;
}

async function loadModel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Load all-MiniLM-L6-v2' }).click();
  await page.locator('#search-model', { hasText: 'all-MiniLM-L6-v2' }).waitFor();
}

/** Unfolds the list of texts. */
async function unfold(page: Page): Promise<void> {
  const list = page.locator('details', { has: page.locator('#search-texts') });
  if (!(await list.evaluate((element: HTMLDetailsElement) => element.open))) {
    await list.locator('summary').click();
  }
}

/** Waits until the panel lists `nTexts` texts and all of their passages are embedded. */
async function embedded(page: Page, nTexts: number): Promise<void> {
  await unfold(page);
  await expect
    .poll(() => page.locator('#search-texts p', { hasText: /· [\d,]+ passages?$/ }).count())
    .toBe(nTexts);
  await page.locator('#search-progress').waitFor({ state: 'hidden' });
}

/** Returns what the panel finds: the names of texts with their passages. */
async function search(page: Page, query: string): Promise<string[][]> {
  await page.locator('#search-query').fill(query);
  await page.locator('#search-results[aria-busy=false]').waitFor();
  expect(await page.locator('#search-status').textContent()).toMatch(/^The nearest of /);
  const names = await page.locator('.passage strong').allTextContents();
  const passages = await page.locator('.passage-text').allTextContents();
  return names.map((name, i) => [name, passages[i] ?? '']);
}

/** Returns the number of documents in the page's storage. */
function keptTexts(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const opening = indexedDB.open('kinglet search index');
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const count = opening.result.transaction('documents').objectStore('documents').count();
    await new Promise((resolve) => (count.onsuccess = resolve));
    opening.result.close();
    return count.result;
  });
}

describe('the search panel', () => {
  it('says what it needs, and in which order', async () => {
    const page = await openSearch();
    const panel = page.locator('#panel-body');
    await panel.getByText('Searching by meaning needs a small model of its own').waitFor();
    expect(await panel.locator('.card').count()).toBe(4);
    const status = page.locator('#search-status');
    expect(await status.textContent()).toMatch(/Load an embedding model first|\u00a0/);
    await page.locator('#search-query').fill('bird');
    await status.getByText('Load an embedding model first.').waitFor();
    await loadModel(page);
    await status.getByText('Add a text first.').waitFor();
    await drop(page, { 'empty.txt': '' });
    await status.getByText('No passage is embedded yet.').waitFor();
  });

  it('shows a dropped text before the models to choose from, and embeds it with the chosen', async () => {
    const page = await openSearch({ viewport: { width: 375, height: 740 } });
    await page.locator('#panel-close').click();
    await drop(page, { 'birds.txt': wren });
    const text = page.locator('#search-texts .card', { hasText: 'birds.txt' });
    await text.getByText(`${String(wren.length)} characters · not embedded yet`).waitFor();
    const load = page
      .locator('#panel')
      .getByRole('button', { name: /^Load / })
      .first();
    expect((await text.boundingBox())!.y).toBeLessThan((await load.boundingBox())!.y);
    await loadModel(page);
    await text.getByText('1 passage').waitFor();
    // At the next visit, the model is loaded again, and the texts are folded.
    await page.reload();
    await openPanel(page, 'search');
    await page.locator('#search-model', { hasText: 'all-MiniLM-L6-v2' }).waitFor();
    expect(await page.locator('#search-texts').isVisible()).toBe(false);
  });

  it('begins with the query and its results, above seven texts, which are folded', async () => {
    const page = await openSearch({ viewport: { width: 390, height: 844 } });
    await loadModel(page);
    const seven = Array.from({ length: 7 }, (_, i) => [`${String(i)}.txt`, `${wren} ${String(i)}`]);
    await drop(page, Object.fromEntries(seven) as Record<string, string>);
    await page.locator('summary', { hasText: /^7 texts/ }).waitFor();
    await page.locator('#search-progress').waitFor({ state: 'hidden' });
    expect(await page.locator('#search-texts').isVisible()).toBe(false);
    expect(await search(page, wren)).toHaveLength(6);
    const top = async (part: string) => (await page.locator(part).boundingBox())!.y;
    const tops = ['#search-query', '#search-results', '.pick >> nth=0', '#search-model'].map(top);
    const places = await Promise.all(tops);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[1]).toBeLessThan(844 / 2);
  });

  it('tries again to load a model when the network is back', async () => {
    const context = await site.browser.newContext({ serviceWorkers: 'block' });
    const page = await context.newPage();
    await page.goto(`${site.plain.url}?tokens=1&hub=${hub.url.replace(/\/$/, '')}`);
    await openPanel(page, 'search');
    await page.locator('#search-query').waitFor();
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Load all-MiniLM-L6-v2' }).click();
    const alert = page.locator('#search-alert', { hasText: 'this device is offline' });
    await alert.waitFor();
    await context.setOffline(false);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#search-model', { hasText: 'all-MiniLM-L6-v2' }).waitFor();
    expect(await page.locator('#search-alert').textContent()).toBe('');
    await context.close();
  });

  it('embeds dropped files, finds and marks passages, keeps and deletes them', async () => {
    const page = await openSearch({ viewport: { width: 1280, height: 800 } });
    await loadModel(page);
    await drop(page, texts);
    await embedded(page, 2);
    await page
      .locator('summary', { hasText: /^2 texts, \d+ passages · about [\d.]+ k?B, kept/ })
      .waitFor();

    const found = await search(page, 'It is a very small bird.');
    expect(new Set(found.map(([name]) => name))).toEqual(new Set(Object.keys(texts)));
    expect(found.map(([, passage]) => passage)).toContain(wren);
    const scores = (await page.locator('.passage-score').allTextContents()).map(Number);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    const mark = page.locator('.passage', { hasText: 'hedge' }).locator('mark');
    await mark.waitFor();
    expect(await mark.textContent()).toBe('It is a very small bird.');
    expect(await mark.locator('b').allTextContents()).toEqual(['very', 'small', 'bird']);
    await page.screenshot({ path: `${screenshots}/search.png` });

    const [first] = await search(page, wren);
    expect(first).toEqual(['birds.txt', wren]);
    expect(await page.locator('.passage-score').first().textContent()).toBe('1.00');

    expect(await keptTexts(page)).toBe(2);
    await page.reload();
    await openPanel(page, 'search');
    await page.locator('#search-model', { hasText: 'all-MiniLM-L6-v2' }).waitFor();
    await embedded(page, 2);
    expect((await search(page, wren))[0]).toEqual(first);

    await page.getByRole('button', { name: 'Delete birds.txt' }).click();
    await expect
      .poll(() => page.locator('.passage strong').allTextContents())
      .not.toContain('birds.txt');
    await page.getByRole('button', { name: 'Delete all texts' }).click();
    await page.locator('#search-status', { hasText: 'Add a text first.' }).waitFor();
    await expect.poll(() => keptTexts(page)).toBe(0);
    await page.reload();
    await openPanel(page, 'search');
    await page.locator('#search-query').waitFor();
    expect(await page.locator('#search-texts li').count()).toBe(0);
  });

  it('takes what is pasted and pages of HTML as they are read, and refuses what is not text', async () => {
    const page = await openSearch();
    await drop(page, {
      'page.html':
        '<title>No</title><style>p{}</style><body style="color: red"><h2>Trains</h2><p style="top: 0">The train\n leaves <b>at noon</b>.<p>It is late.',
      'dropped.tar': `${'\0'.repeat(257)}ustar`,
    });
    await page.locator('#alert', { hasText: /dropped.tar could not .* a tar archive/ }).waitFor();
    await page.locator('#search-files').setInputFiles({
      ...{ name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from('\u0089PNG\0\0') },
    });
    await page.locator('#search-alert', { hasText: 'picture.png could not be added' }).waitFor();
    await page.locator('summary', { hasText: 'Paste a text' }).click();
    await page
      .locator('#search-paste')
      .fill('Rain falls in the night, and the river rises slowly.');
    await page.getByRole('button', { name: 'Add this text' }).click();
    await unfold(page);
    const names = page.locator('#search-texts strong');
    await names.getByText('Rain falls in the night, and the river r …').waitFor();
    await loadModel(page);
    await embedded(page, 2);
    const passages = (await search(page, 'train')).map(([, passage]) => passage);
    expect(passages).toContain('## Trains\n\nThe train leaves at noon.\n\nIt is late.');
  });

  it('can be cancelled, and goes on', async () => {
    const page = await openSearch();
    await loadModel(page);
    const long = Array.from({ length: 20_000 }, (_, i) => `The wren number ${String(i)} sings.`);
    await drop(page, { 'long.txt': long.join('\n\n') });
    await page.locator('#search-progress', { hasText: /^[1-9]\d* of \d/ }).waitFor();
    // The panel answers a query while it embeds the text.
    expect((await search(page, 'wren')).length).toBeGreaterThan(0);
    await page.locator('#search-progress').getByRole('button', { name: 'Cancel' }).click();
    const row = page.locator('#search-texts li');
    await page.locator('#search-progress', { hasText: 'not embedded yet' }).waitFor();
    await unfold(page);
    const [done = 0, total = 0] = /([\d,]+) of ([\d,]+) passages embedded/
      .exec((await row.locator('p').textContent()) ?? '')!
      .slice(1)
      .map((text) => Number(text.replace(',', '')));
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(total);
    await page.locator('#search-progress').getByRole('button', { name: 'Go on' }).click();
    await page.locator('#search-progress progress').waitFor();
    const now = page.locator('#search-progress', { hasText: / of [\d,]+ passages embedded/ });
    expect(parseInt((await now.textContent())!.replace(',', ''))).toBeGreaterThanOrEqual(done);
    await page.getByRole('button', { name: 'Delete long.txt' }).click();
    await page.locator('#search-progress').waitFor({ state: 'hidden' });
    expect(await row.count()).toBe(0);
  });

  it('embeds the texts again for another model, and lists none without a model', async () => {
    const page = await openSearch();
    await loadModel(page);
    await drop(page, texts);
    await embedded(page, 2);
    await page.getByRole('button', { name: 'Unload all-MiniLM-L6-v2' }).click();
    await page.locator('#search-status', { hasText: 'Load an embedding model first.' }).waitFor();
    await page.locator('#search-texts').waitFor({ state: 'hidden' });
    const buffer = encoder('gemma-embedding');
    const mimeType = 'application/octet-stream';
    await page
      .locator('#search-model-file')
      .setInputFiles({ name: 'gemma.gguf', mimeType, buffer });
    await page.locator('#search-model', { hasText: 'gemma' }).waitFor();
    await embedded(page, 2);
    expect((await search(page, 'bird')).length).toBeGreaterThan(1);
    // It cannot read the picked file again, so it asks for a model.
    await page.reload();
    await openPanel(page, 'search');
    await page.getByRole('button', { name: 'Load all-MiniLM-L6-v2' }).waitFor();
    expect(await page.locator('#search-texts').isVisible()).toBe(false);
    await loadModel(page);
    await embedded(page, 2);
    expect((await search(page, wren))[0]).toEqual(['birds.txt', wren]);
  });

  it('replaces a file of the same name, but no pasted text that begins alike', async () => {
    const page = await openSearch();
    await loadModel(page);
    await drop(page, texts);
    await embedded(page, 2);
    await drop(page, { 'soup.md': 'Boil the beans.' });
    await page.locator('#search-texts', { hasText: '15 characters · 1 passage' }).waitFor();
    await embedded(page, 2);
    expect((await search(page, 'Boil the beans.'))[0]).toEqual(['soup.md', 'Boil the beans.']);
    await page.locator('summary', { hasText: 'Paste a text' }).click();
    const begin = 'Rain falls in the night, and the river rises';
    for (const end of ['slowly.', 'fast.']) {
      await page.locator('#search-paste').fill(`${begin} ${end}`);
      await page.getByRole('button', { name: 'Add this text' }).click();
    }
    await embedded(page, 4);
    expect(await page.locator('#search-texts strong').allTextContents()).toEqual([
      'Rain falls in the night, and the river r …',
      'Rain falls in the night, and the river r … (2)',
      'birds.txt',
      'soup.md',
    ]);
  });

  it('has the texts until the page is closed if the browser refuses storage', async () => {
    const page = await openSearch();
    await page.addInitScript(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException('refused', 'SecurityError');
      };
    });
    await page.reload();
    await openPanel(page, 'search');
    await loadModel(page);
    await drop(page, texts);
    await embedded(page, 2);
    const summary = page.locator('summary', { hasText: /^2 texts/ });
    expect(await summary.textContent()).toContain('for as long as this page is open');
    await page.getByRole('button', { name: 'Unload all-MiniLM-L6-v2' }).click();
    await page.locator('#search-texts', { hasText: 'not embedded yet' }).waitFor();
    await loadModel(page);
    await embedded(page, 2);
    expect((await search(page, wren))[0]).toEqual(['birds.txt', wren]);
  });

  it('deletes what earlier versions of the page kept', async () => {
    const page = await openSearch();
    const databases = () =>
      page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
    await page.evaluate(async () => {
      const opening = indexedDB.open('kinglet search');
      await new Promise((resolve) => (opening.onsuccess = resolve));
      opening.result.close();
    });
    expect(await databases()).toContain('kinglet search');
    await page.reload();
    await expect.poll(databases).not.toContain('kinglet search');
  });

  it('has the chat model answer from the passages', async () => {
    const page = await openSearch();
    await loadModel(page);
    await drop(page, { 'soup.md': texts['soup.md'] });
    await embedded(page, 1);
    await search(page, 'hot soup');
    const answerButton = page.locator('#search-answer-button');
    expect(await answerButton.isDisabled()).toBe(true);
    const template = '{% for message in messages %}{{ message.content }}\n{% endfor %}';
    await openPanel(page, 'models');
    const model = Buffer.from(withChatTemplate(readFileSync(storyModel), template));
    const mimeType = 'application/octet-stream';
    await page.locator('#file').setInputFiles({ name: 'chat.gguf', mimeType, buffer: model });
    await page.locator('.welcome').waitFor();
    await openPanel(page, 'search');
    await answerButton.and(page.getByText('Answer with chat')).click();
    const link = page.locator('.answer-sources a');
    await link.getByText('[1] soup.md').waitFor();
    await answerButton.getByText('Answer with').waitFor();
    const sources = [{ name: 'soup.md', text: texts['soup.md'] }];
    const expected = tellByCli(`${answerPrompt('hot soup', sources)}\n`, 20);
    const shown = () => page.locator('#search-answer .answer').innerText();
    const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
    await expect.poll(async () => plain(await shown())).toBe(plain(expected));
    await link.click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('passage-1');
    await page.locator('#search-query').fill('leek');
    await page.locator('.answer-sources a').waitFor({ state: 'detached' });
  });

  it('gets an embedding model that is dropped on the page', async () => {
    const page = await openSearch();
    await page.locator('#panel-close').click();
    await openPanel(page, 'models');
    const buffer = encoder('gemma-embedding');
    const mimeType = 'application/octet-stream';
    await page.locator('#file').setInputFiles({ name: 'gemma.gguf', mimeType, buffer });
    const line = page.locator('#search-model', { hasText: /^gemma/ });
    await line.getByText('queries begin with “task: search result | query:”').waitFor();
    expect(await page.locator('#model-name').textContent()).toBe('Kinglet Stories 5M');
    await page.getByRole('button', { name: 'Unload gemma' }).click();
    await page.getByRole('button', { name: 'Load all-MiniLM-L6-v2' }).waitFor();
  });

  it('says why a model cannot be loaded', async () => {
    const page = await openSearch();
    const [mimeType, buffer] = ['application/octet-stream', encoder('bert-rerank')];
    const input = page.locator('#search-model-file');
    await input.setInputFiles({ name: 'ranker.gguf', mimeType, buffer });
    await page
      .locator('#search-alert', { hasText: /ranker could not .* a reranker computes scores/ })
      .waitFor();
    await input.setInputFiles({ name: 'diary.gguf', mimeType, buffer: Buffer.from('Dear diary') });
    await page.locator('#search-alert', { hasText: /diary could not .*GGUF/ }).waitFor();
  });

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['desktop', { width: 1280, height: 800 }],
      ['phone', { width: 390, height: 844 }],
    ])('is accessible with results on a %s', async (name, viewport) => {
      const page = await openSearch({ colorScheme, viewport });
      await loadModel(page);
      await drop(page, texts);
      await embedded(page, 2);
      await search(page, 'It is a very small bird.');
      await page.locator('.passage mark').first().waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
      const overflow = () =>
        page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(await overflow()).toBeLessThanOrEqual(0);
      await page.locator('.search-results').evaluate((element) => {
        element.scrollIntoView();
      });
      await page.screenshot({ path: `${screenshots}/search-${name}-${colorScheme}.png` });
    });
  });
});

describe('numbers in an answer', () => {
  it('become links where a passage has them, once', async () => {
    const bundle = await rolldown({ cwd: root, input: 'demo/src/search/citation-links.ts' });
    const { output } = await bundle.generate({ format: 'iife', name: 'links' });
    await bundle.close();
    const page = await site.browser.newPage();
    await page.setContent(
      '<div id="answer"><p>A [1], b [2, 3][4] and <em>c [3]</em> [x] [0]</p><pre>d[1]</pre></div>',
    );
    await page.addScriptTag({ content: output[0].code });
    const [html, clicked] = await page.evaluate(() => {
      const answer = document.querySelector<HTMLElement>('#answer')!;
      const numbers: number[] = [];
      for (let i = 0; i < 2; ++i) links.linkCitations(answer, 3, (number) => numbers.push(number));
      for (const link of answer.querySelectorAll('a')) link.click();
      const marks = answer.innerHTML.replace(/<a href="#passage-(\d)" class="citation">/g, '<$1 ');
      return [marks.replaceAll('</a>', '>'), numbers];
    });
    await page.close();
    expect(html).toBe(
      '<p>A <1 [1]>, b <2 [2]><3 [3]>[4] and <em>c <3 [3]></em> [x] [0]</p><pre>d[1]</pre>',
    );
    expect(clicked).toEqual([1, 2, 3, 3]);
  });
});
