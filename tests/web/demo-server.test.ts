// The page from `kinglet serve`, with the server's model in place of a model in the page.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stories } from '../cli/program.ts';
import { accessibilityFaults, answered, ask, beyondTheEdge } from './demo-page.ts';
import { openPage, openSite, opening } from './demo-page.ts';
import type { Site } from './demo-page.ts';
import { metric, serve, type Served } from './serve-program.ts';
import { root, tellByCli, withChatTemplate } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

const folder = mkdtempSync(join(tmpdir(), 'kinglet-demo-server-'));
const onPage = ['--page', `${root}demo/dist`];

let site: Site;
let teller: Served; // the story model, which has no chat template
let chatter: Served; // the story model with a chat template
let locked: Served;

beforeAll(async () => {
  const chatty = join(folder, 'chatty.gguf');
  writeFileSync(chatty, withChatTemplate(readFileSync(stories), chatTemplate('qwen2.5')));
  [site, teller, chatter, locked] = await Promise.all([
    openSite(),
    serve(stories, [...onPage, '--name', 'Teller']),
    serve(chatty, [...onPage, '--name', 'Chatter']),
    serve(stories, [...onPage, '--name', 'Locked', '--api-key', 'secret']),
  ]);
});

afterAll(async () => {
  await site.close();
  await Promise.all([teller, chatter, locked].map((each) => each.stop('SIGKILL')));
  rmSync(folder, { recursive: true });
});

const query = '?temperature=0&tokens=20';
const open = ({ url }: { url: string }, options = {}) =>
  openPage(site.browser, `${url}/${query}`, options);

async function useServer(page: Page, name: string): Promise<void> {
  await page.getByText('the server', { exact: true }).click();
  await page.locator('#model-name', { hasText: name }).waitFor();
}

const lastState = (page: Page) => page.locator('.exchange').last().getAttribute('data-state');

describe('the switch', () => {
  it('is absent where the page comes from a server without models', async () => {
    const page = await openPage(site.browser, `${site.plain.url}${query}`);
    expect(await page.locator('#place').isVisible()).toBe(false);
    expect(await page.locator('#server-off').isVisible()).toBe(false);
  });

  it('has the server go on with texts, and says what is off', async () => {
    const page = await open(teller);
    await useServer(page, 'Teller');
    expect(await page.locator('#model-facts').textContent()).toMatch(/^on the server · \d+ tokens/);
    const before = await metric(teller, 'generated_tokens_total');
    const text = await ask(page, 'One day a cat');
    expect(text).toBe(tellByCli('One day a cat', 20));
    expect((await metric(teller, 'generated_tokens_total')) - before).toBe(20);
    expect(await page.locator('.note').last().textContent()).toMatch(
      /^20 tokens, [\d.]+ a second · length reached$/,
    );
    await page.locator('.exchange').last().getByRole('button', { name: 'Go on' }).click();
    const more = tellByCli(`One day a cat${text}`, 20);
    await page.locator('.answer', { hasText: text + more }).waitFor();
    for (const panel of ['inspect', 'compare']) {
      expect(await page.locator(`.tab[data-panel=${panel}]`).isDisabled()).toBe(true);
    }
    expect(await page.locator('#server-off').textContent()).toContain('Inspect, Compare, pictures');
    expect(await page.locator('#kept-here').isVisible()).toBe(false);
    expect(await page.locator('#add').isVisible()).toBe(false);
    const tokens = page.getByRole('button', { name: 'Tokens', exact: true });
    expect(await tokens.evaluateAll((all) => all.map((one) => one.matches(':disabled')))).toEqual([
      ...[true, true],
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('holds for the next visit, with its conversation, and without a model in the page', async () => {
    const page = await open(teller);
    await useServer(page, 'Teller');
    const story = await ask(page, 'One day a cat');
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(request.url()));
    await page.reload();
    await page.locator('#model-name', { hasText: 'Teller' }).waitFor();
    await page.locator('.answer', { hasText: story }).waitFor();
    expect(await page.locator('#place-server').isChecked()).toBe(true);
    expect(loaded.filter((url) => /\.(gguf|wasm)/.test(url))).toEqual([]);
  });

  it('goes back to the model of this page, in the same conversation', async () => {
    const page = await open(teller);
    await useServer(page, 'Teller');
    await ask(page, 'One day a cat');
    await page.getByText('this page', { exact: true }).click();
    await page.locator('#model-name', { hasText: 'Kinglet Stories 5M' }).waitFor();
    const before = await metric(teller, 'generated_tokens_total');
    expect(await ask(page, 'A dog')).toBe(tellByCli('A dog', 20));
    expect(await metric(teller, 'generated_tokens_total')).toBe(before);
    expect(await page.locator('.exchange').count()).toBe(3);
    expect(await page.locator('.tab[data-panel=inspect]').isDisabled()).toBe(false);
    await page.locator('.exchange').last().getByRole('button', { name: 'Tokens' }).click();
    expect(await page.locator('.tokens:visible').textContent()).not.toBe('');
    await page.reload();
    await page.locator('#model-name', { hasText: 'Kinglet Stories 5M' }).waitFor();
    expect(await page.locator('#place-page').isChecked()).toBe(true);
  });
});

describe('an answer of the server', () => {
  it('in a chat is what its client gets', async () => {
    const page = await open(chatter);
    await useServer(page, 'Chatter');
    await page.getByText('Chat', { exact: true }).click();
    const first = await ask(page, 'Tell me of a cat.');
    await ask(page, 'And of a dog?');
    const messages = [
      { role: 'user' as const, content: 'Tell me of a cat.' },
      { role: 'assistant' as const, content: '' },
      { role: 'user' as const, content: 'And of a dog?' },
    ];
    const asked = async (upTo: number) => {
      const { choices } = await chatter.client.chat.completions.create({
        ...{
          model: 'any',
          temperature: 0,
          max_completion_tokens: 20,
          messages: messages.slice(0, upTo),
        },
        ...{ top_p: 0.95 },
      });
      return choices[0]?.message.content ?? '';
    };
    const expected = await asked(1);
    expect(expected).not.toBe('');
    expect(first.trim()).toBe(expected.trim());
    messages[1] = { role: 'assistant', content: expected };
    expect((await answered(page)).trim()).toBe((await asked(3)).trim());
  });

  it('is stopped for the server too', async () => {
    // The scalar kernels are slow, so there is time to stop the answer.
    const slow = await serve(stories, [...onPage, '--name', 'Slow', '--kernels', 'scalar']);
    onTestFinished(async () => {
      await slow.stop('SIGKILL');
    });
    const page = await openPage(site.browser, `${slow.url}/?temperature=1.5&tokens=400`);
    await useServer(page, 'Slow');
    // Tries again, because an answer may end by itself before it is stopped.
    await expect
      .poll(async () => {
        await page.locator('#prompt').fill(opening);
        await page.locator('#prompt').press('Enter');
        await page.locator('[data-state=writing]').waitFor();
        await page.locator('#send').click();
        await answered(page);
        return lastState(page);
      })
      .toBe('stopped');
    await expect.poll(() => metric(slow, 'cancelled_answers_total')).toBeGreaterThan(0);
    await expect.poll(() => metric(slow, 'requests')).toBe(0);
  });

  it('has its thoughts folded, and carries the settings', async () => {
    const page = await open(chatter);
    await useServer(page, 'Chatter');
    let body: unknown;
    await page.route('**/v1/chat/completions', (route) => {
      body = route.request().postDataJSON();
      const chunks = [
        ...[{ reasoning_content: 'Hm, ' }, { reasoning_content: 'cats.' }, { content: 'Miau' }],
      ].map((delta) => ({ choices: [{ delta, finish_reason: null }] }));
      const end = { choices: [{ delta: {}, finish_reason: 'stop' }] };
      const events = [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
      return route.fulfill({
        contentType: 'text/event-stream',
        body: `${events.join('')}data: [DONE]\n\n`,
      });
    });
    await page.getByText('Chat', { exact: true }).click();
    expect((await ask(page, 'Cats?')).trim()).toBe('Miau');
    const thoughts = page.locator('.thoughts').last();
    expect(await thoughts.locator('p').textContent()).toBe('Hm, cats.');
    expect(await thoughts.getAttribute('open')).toBeNull();
    expect(body).toMatchObject({
      ...{ model: 'Chatter', stream: true, temperature: 0, max_tokens: 20 },
      ...{ top_p: 0.95, top_k: 40, min_p: 0.05, repeat_penalty: 1 },
      messages: [{ role: 'user', content: 'Cats?' }],
    });
    expect(body).not.toHaveProperty('seed');
  });

  it('that fails says why, and the page goes on', async () => {
    const page = await openPage(site.browser, `${teller.url}/?temperature=0&tokens=20`);
    await useServer(page, 'Teller');
    const fail = (body: string) =>
      page.route('**/v1/completions', (route) =>
        route.fulfill({ contentType: 'text/event-stream', body }),
      );
    const note = page.locator('.note.wrong').last();
    await fail('data: {"choices":[{"text":"One"}]}\n\n');
    expect(await ask(page, 'A')).toBe('One');
    expect(await note.textContent()).toMatch(/stopped in the middle/);
    await page.unroute('**/v1/completions');
    await fail('data: {"error":{"message":"memory was refused"}}\n\n');
    await ask(page, 'B');
    expect(await note.textContent()).toBe('The server reports: memory was refused');
    await page.unroute('**/v1/completions');
    expect(await ask(page, 'One day a cat')).toBe(tellByCli('One day a cat', 20));
  });
});

describe('a server with a key', () => {
  it('is given it for the session, and refuses another', async () => {
    const page = await site.browser.newPage({ serviceWorkers: 'block' });
    onTestFinished(() => page.close());
    await page.goto(`${locked.url}/${query}`);
    await answered(page);
    await page.getByText('the server', { exact: true }).click();
    await page.locator('#key:focus').waitFor();
    expect(await page.locator('#key-why').textContent()).toContain('an API key is needed');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.type('guess');
    await page.keyboard.press('Enter');
    await page.locator('#key-why', { hasText: 'the API key is wrong' }).waitFor();
    await page.locator('#key-cancel').click();
    expect(await page.locator('#place-page').isChecked()).toBe(true);
    await page.getByText('the server', { exact: true }).click();
    await page.locator('#key').fill('secret');
    await page.keyboard.press('Enter');
    await page.locator('#model-name', { hasText: 'Locked' }).waitFor();
    expect(await page.locator('#key-form').isVisible()).toBe(false);
    expect(await ask(page, 'One day a cat')).toBe(tellByCli('One day a cat', 20));
    await page.reload();
    await page.locator('#model-name', { hasText: 'Locked' }).waitFor();
    // A server that has been restarted may have another key.
    await page.route('**/v1/completions', (route) =>
      route.fulfill({ status: 401, json: { error: { message: 'the API key is wrong' } } }),
    );
    await ask(page, 'A dog');
    await page.locator('#key-why', { hasText: 'the API key is wrong' }).waitFor();
    await page.unroute('**/v1/completions');
    await page.locator('#key').fill('secret');
    await page.keyboard.press('Enter');
    await page.locator('#key-form').waitFor({ state: 'hidden' });
    expect(await ask(page, 'A dog')).toBe(tellByCli('A dog', 20));
    const kept = await page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
    expect(kept).not.toContain('secret');
  });
});

describe('its place on the page', () => {
  for (const [width, height] of [
    [320, 568],
    [568, 320],
    [1280, 800],
  ] as const) {
    it(`fits ${String(width)} by ${String(height)}`, async () => {
      const page = await open(teller, { viewport: { width, height } });
      expect(await beyondTheEdge(page)).toEqual([]);
      await useServer(page, 'Teller');
      expect(await beyondTheEdge(page)).toEqual([]);
      expect(await page.locator('#place').isVisible()).toBe(true);
      expect(await page.locator('#send').isVisible()).toBe(true);
    });
  }
});
