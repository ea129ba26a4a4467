// What the page says about models before the user loads one: which model chats, what it costs, and
// which model suits the machine.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { firstChatModels } from '../../demo/src/catalogue.ts';
import type { ChatModel } from '../../dist/catalogue/index.js';
import type { Site } from './demo-page.ts';
import { accessibilityFaults, answered, ask, openPage, openPanel, openSite } from './demo-page.ts';
import { startFaultyServer } from './faulty-server.ts';
import { chooseModels, giveFiles } from './seeing-page.ts';
import { splitModel } from './split-model.ts';
import { storyModel, tellByCli, withChatTemplate } from './support.ts';

let site: Site;

beforeAll(async () => {
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

const small = firstChatModels.find(({ name }) => name.includes('135M'))!;
const larger = firstChatModels.find(({ name }) => name.includes('360M'))!;

/** Opens the page on a machine that reports these numbers of cores and gigabytes of memory. */
async function openOn(nCores: number, memory: number, query = ''): Promise<Page> {
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  onTestFinished(() => context.close());
  await context.addInitScript(
    (machine) => {
      for (const [name, value] of Object.entries(machine)) {
        Object.defineProperty(Navigator.prototype, name, { get: () => value });
      }
    },
    { hardwareConcurrency: nCores, deviceMemory: memory },
  );
  const page = await context.newPage();
  await page.goto(`${site.plain.url}?tokens=20&temperature=0${query}`);
  await answered(page);
  return page;
}

const card = (page: Page, name: string) =>
  page.locator('.card').filter({ has: page.locator('strong', { hasText: name }) });

describe('the first visit', () => {
  it.each([
    [8, 8, larger],
    [2, 8, small],
    [8, 1, small],
  ])(
    'offers one that chats to %i cores and %i GB, and says what it costs',
    async (n, gb, model) => {
      const page = await openOn(n, gb);
      const offer = page.locator('.offer');
      await offer.getByRole('button', { name: `Load ${model.name}` }).waitFor();
      const text = (await offer.textContent())!.replace(/\s+/g, ' ');
      expect(text).toContain(`a download of ${String(Math.round(model.bytes / 1e6))} MB, once`);
      expect(text).toMatch(/about \d+ MB of memory while you use it/);
      expect(await accessibilityFaults(page)).toEqual([]);
      await ask(page, 'The cat');
      await offer.waitFor({ state: 'hidden' }); // a user who writes needs no offer
    },
  );

  it('loads what is offered, and chats', async () => {
    const hub = await startFaultyServer();
    onTestFinished(() => {
      hub.close();
    });
    hub.files.set(pathOf(larger), { bytes: chatModel(), etag: '"1"' });
    const page = await openOn(8, 8, `&hub=${hub.url.replace(/\/$/, '')}`);
    await page.locator('.offer').getByRole('button', { name: 'Load' }).click();
    await page.locator('.welcome').waitFor();
    expect(await page.locator('#mode-chat').isChecked()).toBe(true);
    expect(await page.locator('#chat-off').isVisible()).toBe(false);
    expect(await ask(page, 'Tell me of Tim.')).toMatch(/\w/);
    // The model is on this device now, and marked in both lists.
    await openPanel(page, 'models');
    await expect.poll(() => page.locator('.card[aria-current=true]').count()).toBe(2);
    expect(await card(page, larger.name).last().textContent()).toContain('Loaded');
  });
});

describe('the list of models', () => {
  it('begins with the visitor’s own, marks the one that is loaded, and folds where they come from', async () => {
    const page = await openOn(8, 8);
    await openPanel(page, 'models');
    const titles = page.locator('#panel-body h3');
    expect(await titles.allTextContents()).toEqual([
      ...['Your own', 'To chat with', 'To ask about pictures', 'To tell stories'],
    ]);
    const loaded = page.locator('.card[aria-current=true]');
    expect(await loaded.count()).toBe(1);
    expect(await loaded.textContent()).toMatch(/Kinglet Stories 5M[^]*Loaded/);
    expect(await loaded.getByRole('button').count()).toBe(0);
    const address = card(page, small.name).getByRole('link');
    expect(await address.isVisible()).toBe(false);
    await card(page, small.name).locator('summary').click();
    expect(await address.textContent()).toBe(small.address);
    expect(await address.getAttribute('href')).toBe(
      'https://huggingface.co/bartowski/SmolLM2-135M-Instruct-GGUF',
    );
  });

  it('says what may be too much for the machine', async () => {
    const hints = async (page: Page) => {
      await openPanel(page, 'models');
      return {
        small: await card(page, small.name).locator('.hint').allTextContents(),
        large: await card(page, 'Llama 3.2 1B').locator('.hint').allTextContents(),
      };
    };
    const onSmall = await hints(await openOn(2, 1));
    expect(onSmall.large).toEqual(['May not fit: this device has 1.0 GB of memory']);
    const onSlow = await hints(await openOn(2, 8));
    expect(onSlow).toEqual({ small: [], large: ['Probably slow: this machine has 2 cores'] });
    expect(await hints(await openOn(8, 8))).toEqual({ small: [], large: [] });
  });
});

/** Files to choose or drop. */
const files = (contents: Record<string, Uint8Array>) =>
  Object.entries(contents).map(([name, bytes]) => ({
    ...{ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) },
  }));

describe('files of the visitor’s', () => {
  it('are called by their names, not by those of the models they were made from', async () => {
    const page = await openOn(8, 8);
    await chooseModels(page, files({ 'My model.Q4_0.gguf': readFileSync(storyModel) }));
    await page.locator('#model-name', { hasText: /^My model.Q4_0$/ }).waitFor();
  });

  it('open as one model if they are its parts, in any order, and the page says what is left', async () => {
    const page = await openOn(8, 8);
    const [first, second, third] = splitModel(chatModel(), 3);
    await giveFiles(
      page,
      'drop',
      files({
        'tales-00003-of-00003.gguf': third!,
        'tales-00001-of-00003.gguf': first!,
        'other.gguf': readFileSync(storyModel),
        'tales-00002-of-00003.gguf': second!,
      }),
    );
    await page.locator('#model-name', { hasText: /^tales$/ }).waitFor();
    await page.locator('#alert', { hasText: /^Not opened: other\.gguf\. .*one model/ }).waitFor();
    expect(await ask(page, 'Tell me of Tim.')).toMatch(/\w/);
    await openPanel(page, 'inspect');
    await page.locator('#inspect').click();
    await page.locator('#file-content', { hasText: 'GGUF version 3' }).waitFor();
  });
});

describe('without a network', () => {
  it('says so, and tries again on request', async () => {
    const hub = await startFaultyServer();
    onTestFinished(() => {
      hub.close();
    });
    hub.files.set(pathOf(small), { bytes: chatModel(), etag: '"1"' });
    const page = await openOn(2, 8, `&hub=${hub.url.replace(/\/$/, '')}`);
    await page.context().setOffline(true);
    await page.locator('.offer').getByRole('button', { name: 'Load' }).click();
    const alert = page.locator('#alert');
    await alert.getByText(`${small.name} could not be loaded: this device is offline.`).waitFor();
    await openPanel(page, 'models');
    const note = page.locator('#panel-body').getByText('This device is offline');
    await note.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().setOffline(false);
    await note.waitFor({ state: 'hidden' });
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#mode-chat:checked').waitFor();
    expect(await alert.textContent()).toBe('');
  });

  it('offers no second try of what cannot succeed', async () => {
    const page = await openOn(2, 8);
    await chooseModels(page, files({ 'diary.gguf': Buffer.from('Dear diary') }));
    const alert = page.locator('#alert', { hasText: 'could not be loaded' });
    await alert.waitFor();
    expect(await alert.getByRole('button').allTextContents()).toEqual(['Close']);
  });
});

describe('an empty conversation', () => {
  it('has beginnings to choose from, above the only hint that this model does not chat', async () => {
    const page = await openOn(8, 8);
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.locator('.offer').getByText('This small model only tells stories').waitFor();
    expect(await page.locator('#chat-off').isVisible()).toBe(false);
    expect(await accessibilityFaults(page)).toEqual([]);
    const example = page.locator('.welcome button').nth(1);
    const beginning = (await example.textContent())!;
    await example.click();
    expect(await answered(page)).toBe(tellByCli(beginning, 20));
    expect(await page.locator('.welcome').count()).toBe(0);
  });
});

describe('Chat', () => {
  it('says why it is off, and where models that chat are', async () => {
    const page = await openPage(site.browser, `${site.plain.url}?tokens=20`);
    expect(await page.locator('#chat-off').isVisible()).toBe(false); // the offer says it
    await ask(page, 'The cat');
    await page.locator('#chat-off').waitFor();
    expect(await page.locator('#mode-chat').isDisabled()).toBe(true);
    expect(await page.locator('#chat-off').textContent()).toMatch(
      /Chat is off: .*no chat template/,
    );
    expect(await page.locator('#mode-chat').getAttribute('aria-describedby')).toBe('chat-off');
    await page.getByRole('button', { name: 'Models that chat' }).click();
    await page.locator('#panel h2', { hasText: 'Models' }).waitFor();
  });
});

function chatModel(): Buffer {
  const template =
    '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}' +
    '{% if add_generation_prompt %}assistant:{% endif %}';
  return Buffer.from(withChatTemplate(readFileSync(storyModel), template));
}

function pathOf({ address }: ChatModel): string {
  const [owner, repo, ...file] = address.slice('hf:'.length).split('/');
  return `/${owner!}/${repo!}/resolve/main/${file.join('/')}`;
}
