// Pictures on the page: how they get into a question, and what the page shows and keeps of them.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { ChatMessage, ContentPart } from 'kinglet';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { pictureModels } from '../../dist/catalogue/index.js';
import type { Site } from './demo-page.ts';
import {
  accessibilityFaults,
  answered,
  answeredAgain,
  ask,
  openPage,
  openPanel,
  openSite,
} from './demo-page.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { NamedFile } from './seeing-page.ts';
import {
  chooseModels,
  giveFiles,
  openModels,
  openSeeing,
  pixelsOf,
  png,
  reader,
  textModel,
} from './seeing-page.ts';

let site: Site;

beforeAll(async () => {
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

// Uses kernels that Node has too.
const query = '?temperature=0&tokens=8&kernels=simd128&threads=1';
const open = (more = '') => openPage(site.browser, `${site.plain.url}${query}${more}`);

async function openToSee(): Promise<Page> {
  const page = await open();
  await openSeeing(page);
  return page;
}

const alertText = async (page: Page) => {
  const alert = page.getByRole('alert').filter({ hasText: /\w/ });
  await alert.waitFor();
  return (await alert.locator('p').textContent()) ?? '';
};

const drafts = (page: Page) => page.locator('#draft img');
const alts = (page: Page, where: string) =>
  page.locator(`${where} img`).evaluateAll((all) => all.map((image) => image.getAttribute('alt')));

/** Returns whether there are images and all of them have been decoded. */
async function shown(page: Page, where: string): Promise<boolean> {
  return page
    .locator(`${where} img`)
    .evaluateAll(
      (all) => all.length > 0 && all.every((image) => (image as HTMLImageElement).naturalWidth > 0),
    );
}

async function choose(page: Page, files: NamedFile[]): Promise<void> {
  await page.locator('#add').click();
  await page.locator('#pictures').setInputFiles(files);
}

describe('a model that reads text only', () => {
  it('has no button for pictures; given one, says why, and where those are that do', async () => {
    const page = await open();
    expect(await page.locator('#add').isVisible()).toBe(false);
    await openModels(page, [textModel]);
    await page.locator('#send:enabled').waitFor();
    expect(await page.locator('#add').isVisible()).toBe(false);
    expect(await page.locator('main').textContent()).not.toContain('reads text only');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator('#prompt').fill('See?');
    await giveFiles(page, 'drop', [png('bird.png', 20, 20)]);
    expect(await alertText(page)).toBe('Pictures are off: this model reads text only.');
    expect(await page.locator('#prompt').inputValue()).toBe('See?');
    await page.getByRole('button', { name: 'Models that see' }).click();
    const cards = page.locator('.card').filter({ hasText: /VLM|-VL/ });
    expect(await cards.locator('strong').allTextContents()).toEqual([
      ...['SmolVLM 256M Instruct', 'LFM2-VL 450M', 'SmolVLM 500M Instruct'],
    ]);
    expect(await cards.first().textContent()).toMatch(/279 MB, 104 MB of it to see/);
  });

  it('reads pictures with the second file, chosen or dropped later, by its name or its content', async () => {
    const page = await open();
    await openModels(page, [textModel]);
    const answer = await ask(page, 'Hello.');
    await openModels(page, [{ ...reader, name: 'other.gguf' }]);
    await page.locator('#add:enabled').waitFor();
    await page.locator('#model-facts', { hasText: 'reads pictures' }).waitFor();
    expect(await answered(page)).toBe(answer); // the same model, so the same conversation

    const another = await open();
    await giveFiles(another, 'drop', [reader, textModel]);
    await another.locator('#add:enabled').waitFor();
  });

  it('keeps what it has when the second file is of another model', async () => {
    const page = await open();
    await chooseModels(page, [reader]);
    expect(await alertText(page)).toMatch(
      /^Kinglet Stories 5M could not be loaded: .*another model/,
    );
    expect(await ask(page, 'One day')).toMatch(/\w/);
  });
});

describe('a model of the list that sees', () => {
  const [known] = pictureModels;
  const pathOf = (address: string) => {
    const [owner, repo, file] = address.slice('hf:'.length).split('/');
    return `/${owner!}/${repo!}/resolve/main/${file!}`;
  };

  it('is loaded with its second file, and again at the next visit', async () => {
    const hub = await startFaultyServer();
    onTestFinished(() => {
      hub.close();
    });
    hub.files.set(pathOf(known!.address), { bytes: textModel.buffer, etag: '"1"' });
    hub.files.set(pathOf(known!.mmproj.address), { bytes: reader.buffer, etag: '"2"' });
    const page = await open(`&hub=${hub.url.replace(/\/$/, '')}`);
    await openPanel(page, 'models');
    await page.getByRole('button', { name: `Load ${known!.name}` }).click();
    await page.locator('#add:enabled').waitFor();
    await openPanel(page, 'models');
    const kept = page.locator('#kept .card');
    await expect.poll(() => kept.count()).toBe(2);
    const second = kept.filter({ hasText: 'mmproj' });
    expect(await second.textContent()).toContain('reads pictures');
    expect(await second.getByRole('button').allTextContents()).toEqual([
      expect.stringContaining('Delete'),
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.reload();
    await page.locator('.offer').getByRole('button', { name: 'Load' }).click();
    await page.locator('#add:enabled').waitFor();
    await giveFiles(page, 'drop', [png('bird.png', 64, 48)]);
    await drafts(page).waitFor();
    expect(await ask(page, 'What is this?')).toMatch(/\S/);
  });

  it('need not be of the list: what reads pictures is looked for on the hub', async () => {
    const page = await open('&hub=http://hub.test');
    const json = { siblings: [{ rfilename: 'model.gguf' }, { rfilename: 'mmproj-model.gguf' }] };
    await page.route('http://hub.test/**', (route) => {
      const headers = { 'access-control-allow-origin': '*' };
      const url = route.request().url();
      if (url.includes('/api/')) return route.fulfill({ json, headers });
      const { buffer: body } = url.includes('mmproj') ? reader : textModel;
      return route.fulfill({ body, headers });
    });
    await openPanel(page, 'models');
    await page.locator('#address').fill('hf:owner/repo/model.gguf');
    await page.locator('#address').press('Enter');
    await page.locator('#add:enabled').waitFor();
    await giveFiles(page, 'drop', [png('bird.png', 64, 48)]);
    await drafts(page).waitFor();
    expect(await ask(page, 'What is this?')).toMatch(/\S/);
    expect(await page.locator('.note.wrong').count()).toBe(0);
  });
});

describe('a picture', () => {
  it('is dropped, pasted or chosen, several at once, and removed', async () => {
    const page = await openToSee();
    await giveFiles(page, 'drop', [png('a.png', 30, 20), png('b.png', 20, 30)]);
    await drafts(page).nth(1).waitFor();
    await giveFiles(page, 'paste', [png('c.png', 20, 20)]);
    await drafts(page).nth(2).waitFor();
    await giveFiles(page, 'paste', [png('text.png', 20, 20)], 'a cell of a sheet'); // becomes text
    await choose(page, [png('d.png', 40, 40), png('e.png', 10, 10)]);
    await drafts(page).nth(4).waitFor();
    expect(await page.locator('#add-menu').isVisible()).toBe(false);
    const named = (...names: string[]) => names.map((name) => `Picture: ${name}.png`);
    expect(await alts(page, '#draft')).toEqual(named('a', 'b', 'c', 'd', 'e'));
    await expect.poll(() => shown(page, '#draft')).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove b.png' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => alts(page, '#draft')).toEqual(named('a', 'c', 'd', 'e'));
    await page.locator('#prompt:focus').waitFor();
    expect(await page.locator('#mode-write').isDisabled()).toBe(true);
  });

  it('reaches the model as it is, with the words, and stays for the next question', async () => {
    const page = await openToSee();
    await choose(page, [png('one.png', 64, 48), png('two.png', 48, 64)]);
    await drafts(page).nth(1).waitFor();
    const first = await ask(page, 'What is this?');
    expect(await drafts(page).count()).toBe(0);
    expect(await alts(page, '.exchange')).toEqual(['Picture: one.png', 'Picture: two.png']);
    await expect.poll(() => shown(page, '.exchange')).toBe(true);
    const second = await ask(page, 'And that?');
    expect(await accessibilityFaults(page)).toEqual([]);

    const model = await Kinglet.load(new Blob([new Uint8Array(textModel.buffer)]), {
      ...{ nThreads: 1, kernels: 'simd128' },
      mmproj: new Blob([new Uint8Array(reader.buffer)]),
    });
    onTestFinished(() => {
      model.dispose();
    });
    const image = (width: number, height: number): ContentPart => {
      return { type: 'image', image: { width, height, data: pixelsOf(width, height) } };
    };
    const content = [
      image(64, 48),
      image(48, 64),
      { type: 'text', text: 'What is this?' } as const,
    ];
    const messages: ChatMessage[] = [{ role: 'user', content }];
    const chat = () => model.chat(messages, { temperature: 0, maxTokens: 8 }).result;
    const expected = await chat();
    expect(first.trim()).toBe(expected.text.trim());
    messages.push({ role: 'assistant', content: expected.text });
    messages.push({ role: 'user', content: 'And that?' });
    expect(second.trim()).toBe((await chat()).text.trim());
  });

  it('is shared by forks of the answer', async () => {
    const page = await openToSee();
    await choose(page, [png('one.png', 64, 48)]);
    await drafts(page).waitFor();
    await ask(page, 'What is this?');
    await openPanel(page, 'inspect');
    expect(await page.locator('#memory').textContent()).toContain('Weights that read pictures');
    await page.locator('#fork-run').click();
    await page.locator('#forks [role=status]', { hasText: 'Close a fork' }).waitFor();
  });

  it('may be all that is sent, and is turned into words again', async () => {
    const page = await openToSee();
    await giveFiles(page, 'drop', [png('bird.png', 64, 48)]);
    await drafts(page).waitFor();
    const first = await ask(page, '');
    expect(await answeredAgain(page, page.locator('.exchange').last(), 'Regenerate')).toBe(first);
    await openPanel(page, 'history');
    await page.getByRole('button', { name: 'bird.png', exact: true }).waitFor();
  });

  it('is scaled down where its file is large, and kept as it is where it is not', async () => {
    const page = await openToSee();
    const noise = png('noise.png', 3000, 1000);
    noise.buffer = Buffer.concat([noise.buffer, Buffer.alloc(4_000_001)]); // after the PNG's end
    await choose(page, [noise, png('small.png', 3000, 10)]);
    await drafts(page).nth(1).waitFor();
    await expect.poll(() => shown(page, '#draft')).toBe(true);
    const widths = await drafts(page).evaluateAll((all) =>
      all.map((image) => (image as HTMLImageElement).naturalWidth),
    );
    expect(widths).toEqual([2048, 3000]);
  });

  it.each([
    [
      'a GIF, whatever its name',
      { name: 'a.png', bytes: 'GIF89a\x01\0\x01\0\0\0\0' },
      /a.png is a GIF/,
    ],
    [
      'no picture',
      { name: 'a.png', bytes: 'Dear diary' },
      /a.png is not a picture that this browser/,
    ],
    ['too large', { name: 'a.png', bytes: 'x'.repeat(100_000_001) }, /a.png has more than 100 MB/],
  ])('that is %s is refused in words, and the draft stays', async (_, file, words) => {
    const page = await openToSee();
    await choose(page, [png('good.png', 20, 20)]);
    await drafts(page).waitFor();
    await page.locator('#prompt').fill('What is this?');
    const bytes = Buffer.from(file.bytes, 'latin1');
    if (bytes.length < 1000) {
      await choose(page, [{ name: file.name, mimeType: 'image/png', buffer: bytes }]);
    } else {
      // The file is larger than Playwright lets a test pass to a page.
      await page.evaluate((size) => {
        const transfer = new DataTransfer();
        const parts = Array.from({ length: 10 }, () => new Uint8Array(size / 10 + 1));
        transfer.items.add(new File(parts, 'a.png', { type: 'image/png' }));
        document.body.dispatchEvent(
          new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: transfer }),
        );
      }, bytes.length);
    }
    expect(await alertText(page)).toMatch(words);
    expect(await drafts(page).count()).toBe(1);
    expect(await page.locator('#prompt').inputValue()).toBe('What is this?');
  });

  it('is not sent to a model that took the other’s place and sees nothing', async () => {
    const page = await openToSee();
    await choose(page, [png('good.png', 20, 20)]);
    await drafts(page).waitFor();
    await page.locator('#prompt').fill('What is this?');
    await openModels(page, [{ ...textModel, name: 'blind.gguf' }]);
    await page.locator('#add').waitFor({ state: 'hidden' });
    await page.locator('#prompt').press('Enter');
    expect(await alertText(page)).toBe('Pictures are off: this model reads text only.');
    expect(await drafts(page).count()).toBe(1);
    expect(await page.locator('#prompt').inputValue()).toBe('What is this?');
    await page.getByRole('button', { name: 'Remove good.png' }).click();
    expect(await ask(page, 'Hello.')).toMatch(/\S/);
  });
});

describe('while pictures are read', () => {
  it('the page tells how far it is, and Stop ends it', async () => {
    const page = await openToSee();
    await page.evaluate(() => {
      const seen: string[] = [];
      Object.assign(globalThis, { seen });
      new MutationObserver(() => {
        const text = document.querySelector('.looking')?.textContent ?? '';
        if (text && seen.at(-1) !== text) seen.push(text);
        // Not a certain picture's number: the page is painted once a frame, and some are skipped.
        if (text.startsWith('Reading picture '))
          document.querySelector<HTMLElement>('#send')?.click();
      }).observe(document.body, { childList: true, characterData: true, subtree: true });
    });
    const seen = () => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
    // A picture that is read within a frame shows no progress.
    for (let i = 0; (await seen()).length === 0 && i < 20; ++i) {
      await choose(page, [png('one.png', 90 + i, 64)]);
      await drafts(page).waitFor();
      await ask(page, 'What is this?');
      expect(await page.locator('.looking').textContent()).toBe('');
      await page.locator('#new').click();
    }
    expect((await seen())[0]).toMatch(/^Reading the picture: \d of \d+$/);

    const many = Array.from({ length: 30 }, (_, i) => png(`${String(i)}.png`, 90 + i, 64));
    await choose(page, many);
    await drafts(page).nth(29).waitFor();
    await ask(page, 'And these?');
    await page.locator('.note', { hasText: 'Stopped' }).waitFor();
    const last = (await seen()).at(-1);
    expect(last).toMatch(/^Reading picture \d+ of 30: \d+ of \d+$/);
    expect(await page.locator('.exchange img').count()).toBe(30);
  });

  it('what does not fit is told as other failures are, and can be edited', async () => {
    const page = await openPage(site.browser, `${site.plain.url}${query}&ctx=64`);
    await openSeeing(page);
    await choose(page, [png('wide.png', 200, 64)]);
    await drafts(page).waitFor();
    await ask(page, 'What is this?');
    await page.locator('.note.wrong', { hasText: 'prompt_too_long' }).waitFor();
    expect(await page.locator('.exchange img').count()).toBe(1);
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Edit the prompt').inputValue()).toBe('What is this?');
  });
});

describe('conversations with pictures', () => {
  async function reload(page: Page): Promise<void> {
    await page.reload();
    await page.locator('.exchange img').first().waitFor();
  }

  it('are kept, shown again, and gone on with', async () => {
    const page = await openToSee();
    await choose(page, [png('kept.png', 64, 48)]);
    await drafts(page).waitFor();
    const first = await ask(page, 'What is this?');
    const second = await ask(page, 'And that?');
    await reload(page);
    expect(await alts(page, '.exchange')).toEqual(['Picture: kept.png']);
    await expect.poll(() => shown(page, '.exchange')).toBe(true);
    expect(await page.locator('.exchange').count()).toBe(2);
    // With the same model file as before, the conversation goes on.
    await openSeeing(page);
    await page.locator('#new').click();
    await openPanel(page, 'history');
    await page.getByRole('button', { name: 'What is this?', exact: true }).click();
    expect(await answeredAgain(page, page.locator('.exchange').first(), 'Regenerate')).toBe(first);
    expect(await ask(page, 'And that?')).toBe(second);
  });

  it('say so to a model that reads text only', async () => {
    const page = await openToSee();
    await choose(page, [png('kept.png', 64, 48)]);
    await drafts(page).waitFor();
    await ask(page, 'What is this?');
    await reload(page);
    await openModels(page, [textModel]);
    await ask(page, 'Hello?');
    await page.locator('.note.wrong', { hasText: 'this model reads text only' }).waitFor();
  });

  it('are saved with them, small to read and whole for programs', async () => {
    const page = await openToSee();
    const file = png('a [b].png', 640, 32);
    await choose(page, [file]);
    await drafts(page).waitFor();
    await ask(page, 'What is this?');
    const save = async (kind: string) => {
      await openPanel(page, 'history');
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: `Save What is this? as ${kind}` }).click();
      const path = await (await download).path();
      await page.locator('#panel-close').click();
      return readFileSync(path, 'utf8');
    };
    const markdown = await save('Markdown');
    const [, data = ''] =
      /## You\n\n!\[a \\\[b\\\]\.png\]\((data:image\/jpeg;base64,[^)]+)\)\n\nWhat/.exec(markdown)!;
    expect(data.length).toBeLessThan(20_000);
    const size = await page.evaluate(async (url) => {
      const bytes = Uint8Array.from(atob(url.split(',')[1] ?? ''), (c) => c.charCodeAt(0));
      const { width, height } = await createImageBitmap(new Blob([bytes]));
      return [width, height];
    }, data);
    expect(size).toEqual([320, 16]);
    const { exchanges } = JSON.parse(await save('JSON')) as {
      exchanges: { pictures: { name: string; url: string }[] }[];
    };
    const url = `data:image/png;base64,${file.buffer.toString('base64')}`;
    expect(exchanges[0]!.pictures).toEqual([{ name: file.name, url }]);
  });
});

describe('the menu', () => {
  it('is used by keys, and offers the camera of a phone there', async () => {
    const page = await openToSee();
    await page.locator('#add').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Live camera' }).waitFor();
    expect(await page.getByText('Take a photo').isVisible()).toBe(false);
    expect(await page.locator('#add').getAttribute('aria-expanded')).toBe('true');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Tab');
    await page.locator('#pictures:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#add:focus').waitFor();
    expect(await page.locator('#add-menu').isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await page.locator('#transcript').click();
    expect(await page.locator('#add-menu').isVisible()).toBe(false);

    const phone = await openPage(site.browser, `${site.plain.url}${query}`, {
      ...{ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } },
    });
    await openSeeing(phone);
    await phone.locator('#add').click();
    await phone.getByText('Take a photo').waitFor();
    expect(await phone.locator('#photo').getAttribute('capture')).toBe('environment');
    await phone.locator('#photo').setInputFiles([png('photo.png', 30, 40)]);
    await drafts(phone).waitFor();
  });
});
