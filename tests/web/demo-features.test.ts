// Tests every feature of the page by clicking.
import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Site } from './demo-page.ts';
import {
  accessibilityFaults,
  answered,
  ask,
  openPage,
  openPanel,
  openSite,
  opening,
} from './demo-page.ts';
import { startFaultyServer } from './faulty-server.ts';
import {
  root,
  storyModel,
  tellByCli,
  vocabularyOf,
  withChatTemplate,
  withMetadata,
} from './support.ts';

let site: Site;

beforeAll(async () => {
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

const open = (query = '?temperature=0&tokens=30') =>
  openPage(site.browser, `${site.plain.url}${query}`);

const action = (page: Page, name: string) =>
  page.locator('.exchange').last().getByRole('button', { name, exact: true }).click();

describe('writing', () => {
  it('stops by button and by key, and writes again', async () => {
    const page = await open('?tokens=5');
    await openPanel(page, 'settings');
    await page.locator('#maxTokens').fill('4000');
    await page.locator('#maxTokens').blur();
    await page.locator('#panel-close').click();
    for (const key of [undefined, 'Escape']) {
      // Stops from inside the page: the text may end before a command of this test arrives.
      await page.evaluate((pressed) => {
        const observer = new MutationObserver(() => {
          const last = [...document.querySelectorAll('.exchange')].at(-1)!;
          if (last.getAttribute('data-state') !== 'writing') return;
          observer.disconnect();
          if (pressed) document.dispatchEvent(new KeyboardEvent('keydown', { key: pressed }));
          else document.querySelector<HTMLElement>('#send')!.click();
        });
        observer.observe(document.querySelector('#transcript')!, {
          ...{ subtree: true, childList: true, attributes: true },
        });
      }, key);
      expect(await ask(page, opening)).not.toBe('');
      expect(await page.locator('.note').last().textContent()).toBe('Stopped');
    }
    expect(await page.locator('#send').textContent()).toBe('Send');
  });

  it('regenerates, goes on where the text ended, and takes an edited prompt', async () => {
    const page = await open();
    const story = tellByCli(opening, 60);
    await action(page, 'Regenerate');
    // The old answer disappears a moment after the click.
    await expect.poll(() => answered(page), { timeout: 20_000 }).toBe(tellByCli(opening, 30));
    await action(page, 'Go on');
    await page.locator('.answer', { hasText: story }).waitFor();
    await action(page, 'Edit');
    await page.locator('.edit textarea').fill('The cat');
    await page.locator('.edit textarea').press('Enter');
    await page.locator('.prompt-text', { hasText: 'The cat' }).waitFor();
    expect(await answered(page)).toBe(tellByCli('The cat', 30));
    expect(await page.locator('.exchange').count()).toBe(1);
  });

  it('copies a text, and starts over', async () => {
    const page = await open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await action(page, 'Copy');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      opening + tellByCli(opening, 30),
    );
    await page.locator('#new').click();
    expect(await page.locator('.exchange').count()).toBe(0);
  });

  it('brings the last prompt back with the arrow key', async () => {
    const page = await open();
    await page.locator('#prompt').press('ArrowUp');
    expect(await page.locator('#prompt').inputValue()).toBe(opening);
  });
});

describe('chatting', () => {
  const template =
    '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}' +
    '{% if add_generation_prompt %}assistant:{% endif %}';

  async function openChat(source = template): Promise<Page> {
    const page = await open('?temperature=0&tokens=20');
    const bytes = withChatTemplate(readFileSync(storyModel), source);
    await openPanel(page, 'models');
    await page.locator('#file').setInputFiles({
      ...{ name: 'chat.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) },
    });
    await page.locator('.welcome').waitFor();
    return page;
  }

  it('answers in the layout of the file’s template, with all that was said', async () => {
    const page = await openChat();
    const first = await ask(page, 'Tell me of Tim.');
    expect(first.trim()).toBe(cliText('user: Tell me of Tim.\nassistant:'));
    const second = await ask(page, 'And Lily?');
    const said = tellByCli('user: Tell me of Tim.\nassistant:', 20);
    const context = `user: Tell me of Tim.\nassistant: ${said}\nuser: And Lily?\nassistant:`;
    expect(second.trim()).toBe(cliText(context));
  });

  it('folds what the model thinks', async () => {
    const page = await openChat(`${template}{{ '<think>\\n' }}{# </think> #}`);
    expect(await ask(page, 'Tell me of Tim.')).toBe('');
    const thoughts = page.locator('.thoughts');
    expect(await thoughts.locator('summary').textContent()).toBe('Thoughts');
    expect(await thoughts.locator('p').isVisible()).toBe(false);
    await thoughts.locator('summary').click();
    const thought = tellByCli('user: Tell me of Tim.\nassistant:<think>\n', 20);
    expect(await thoughts.locator('p').textContent()).toBe(thought.trim());
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('begins with an opener, and forgets what followed an edited question', async () => {
    const page = await openChat();
    await page.locator('.welcome button').first().click();
    await answered(page);
    await ask(page, 'And then?');
    expect(await page.locator('.exchange').count()).toBe(2);
    await page.getByRole('button', { name: 'Edit' }).first().click();
    await page.locator('.edit textarea').fill('Tell me of Tim.');
    await page.getByRole('button', { name: 'Send', exact: true }).first().click();
    await page.locator('.prompt-text', { hasText: 'Tim' }).waitFor();
    expect((await answered(page)).trim()).toBe(cliText('user: Tell me of Tim.\nassistant:'));
    expect(await page.locator('.exchange').count()).toBe(1);
  });

  /** Returns the program's text, trimmed: the page's Markdown has other spaces at both ends. */
  const cliText = (prompt: string) => tellByCli(prompt, 20).trim();
});

describe('the tokens of an answer', () => {
  const shares = async (page: Page) =>
    (await page.locator('.choice-share').allTextContents()).map((text) =>
      parseFloat(text.replace('<', '')),
    );

  it('show what might have stood there, and another is gone on from', async () => {
    const page = await open();
    await action(page, 'Tokens');
    expect(await page.locator('.token').count()).toBe(30);
    expect(await page.locator('.tokens').textContent()).toBe(tellByCli(opening, 30));
    await page.locator('.token', { hasText: /^girl$/ }).click();
    const found = await shares(page);
    expect(found).toHaveLength(8);
    expect(found).toEqual(found.toSorted((a, b) => b - a));
    expect(found.reduce((sum, share) => sum + share)).toBeLessThan(101); // each share is rounded
    expect(await page.locator('.choice[aria-current]').textContent()).toContain('girl');
    await page.locator('.choice', { hasText: 'boy' }).click();
    const beginning = ', there was a little boy';
    const story = beginning + tellByCli(opening + beginning, 30);
    await page.locator('.tokens', { hasText: story }).waitFor();
    expect(await answered(page)).toBe(story);
    expect(await page.locator('.choices').count()).toBe(0);
    await page.locator('.token', { hasText: /^boy$/ }).click(); // the token can be changed again
    expect(await page.locator('.choice[aria-current]').textContent()).toContain('boy');
    await page.locator('.prompt-text').click();
    await action(page, 'Tokens');
    expect(await page.locator('.answer:visible').textContent()).toBe(story);
  });

  it('can be walked through with the keys', async () => {
    const page = await open();
    await action(page, 'Tokens');
    await page.locator('.token').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    expect(await page.locator('.token[aria-expanded=true]').textContent()).toBe('was');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    expect(await page.locator('.choices').count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('was');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('was');
  });

  it('grow with the answer', async () => {
    const page = await open('?temperature=0&tokens=5');
    await action(page, 'Tokens');
    await action(page, 'Go on');
    await expect.poll(() => page.locator('.token').count()).toBe(10);
    expect(await page.locator('.tokens').textContent()).toBe(tellByCli(opening, 10));
  });
});

describe('the keyboard', () => {
  it('stays where one writes while answers come, and reaches their actions in order', async () => {
    const page = await open('?temperature=0&tokens=10');
    await ask(page, 'One day');
    const focused = () =>
      page.evaluate(() => {
        const { activeElement } = document;
        const all = [...document.querySelectorAll('.exchange')];
        const exchange = all.findIndex((one) => one.contains(activeElement));
        return exchange < 0
          ? activeElement?.id
          : `${String(exchange)} ${activeElement!.textContent}`;
      });
    expect(await focused()).toBe('prompt');
    const names = ['Regenerate', 'Go on', 'Edit', 'Tokens', 'Copy'];
    const order = [0, 1].flatMap((i) => names.map((name) => `${String(i)} ${name}`));
    for (const name of order.toReversed()) {
      await page.keyboard.press('Shift+Tab');
      expect(await focused()).toBe(name);
    }
  });
});

describe('the focus', () => {
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.id);

  it('is on the prompt when a model is there, but stays in a panel', async () => {
    const page = await open();
    expect(await focused(page)).toBe('prompt');
    await openPanel(page, 'inspect');
    await page.locator('#kernels').focus();
    await page.locator('#kernels').selectOption('scalar');
    await page.locator('#engine-facts', { hasText: 'kernels scalar' }).waitFor();
    expect(await focused(page)).toBe('kernels');
    await openPanel(page, 'models');
    await page.locator('#file').setInputFiles({
      ...{ name: 'own.gguf', mimeType: 'application/octet-stream' },
      buffer: Buffer.from(withChatTemplate(readFileSync(storyModel), 'a template')),
    });
    await page.locator('.welcome').waitFor();
    await expect.poll(() => focused(page)).toBe('prompt');
  });
});

describe('settings', () => {
  it('apply presets, and are remembered', async () => {
    const page = await open('');
    await openPanel(page, 'settings');
    await page.getByRole('button', { name: 'Precise' }).click();
    expect(await page.locator('#temperature').inputValue()).toBe('0.3');
    await page.reload();
    await answered(page);
    await openPanel(page, 'settings');
    expect(await page.locator('#temperature').inputValue()).toBe('0.3');
    await page.getByRole('button', { name: 'Back to the defaults' }).click();
    expect(await page.locator('#temperature').inputValue()).toBe('0.8');
  });

  it('begin with what the file recommends, as long as nobody has chosen', async () => {
    const page = await open('');
    const bytes = withMetadata(readFileSync(storyModel), {
      'tokenizer.chat_template': '{% for m in messages %}{{ m.content }}{% endfor %}',
      ...{ 'general.sampling.temp': 0.25, 'general.sampling.top_p': 0.5 },
    });
    const buffer = Buffer.from(bytes);
    await openPanel(page, 'settings');
    const ofModel = page.getByRole('button', { name: 'The model’s' });
    expect(await ofModel.isVisible()).toBe(false);
    await openPanel(page, 'models');
    await page.locator('#file').setInputFiles({
      ...{ name: 'own.gguf', mimeType: 'application/octet-stream', buffer },
    });
    await page.locator('.welcome').waitFor();
    await openPanel(page, 'settings');
    expect(await page.locator('#temperature').inputValue()).toBe('0.25');
    expect(await page.locator('#topP').inputValue()).toBe('0.5');
    expect(await ofModel.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'Precise' }).click();
    expect(await page.locator('#temperature').inputValue()).toBe('0.3');
    await ofModel.click();
    expect(await page.locator('#temperature').inputValue()).toBe('0.25');
  });

  it('load the model again with other kernels', async () => {
    const page = await open();
    await openPanel(page, 'inspect');
    await page.locator('#kernels').selectOption('scalar');
    await page.locator('#engine-facts', { hasText: 'kernels scalar' }).waitFor();
    await page.locator('#panel-close').click();
    expect(await ask(page, opening)).toBe(tellByCli(opening, 30, ['--kernels', 'scalar']));
  });

  it('change the context and how it is stored', async () => {
    const page = await open();
    await openPanel(page, 'settings');
    await page.locator('#nCtx').fill('128');
    await page.locator('#nCtx').blur();
    await page.locator('#model-facts', { hasText: '128 tokens of context' }).waitFor();
    await openPanel(page, 'inspect');
    // Both at once: the second change must not be lost while the first one is carried out.
    await page.evaluate(() => {
      for (const [id, kind] of [
        ['#kvKeys', 'q8'],
        ['#kvValues', 'q4'],
      ] as const) {
        const select = document.querySelector<HTMLSelectElement>(id);
        if (!select) throw new Error(`there is no ${id}`);
        select.value = kind;
        select.dispatchEvent(new Event('change'));
      }
    });
    await page.locator('.legend', { hasText: 'of 128 tokens, q8 and q4' }).waitFor();
    await page.locator('#panel-close').click();
    expect(await ask(page, opening)).toMatch(/\w/);
  });
});

describe('panels', () => {
  it('begin at their top', async () => {
    const page = await open();
    const body = page.locator('#panel-body');
    const top = () => body.evaluate((element) => element.scrollTop);
    await openPanel(page, 'models');
    await body.evaluate((element) => {
      element.scrollTop = 200;
    });
    expect(await top()).toBe(200);
    await page.locator('#panel-close').click();
    await openPanel(page, 'inspect');
    expect(await top()).toBe(0);
  });
});

describe('looking inside', () => {
  it('says what it is, and what computes', async () => {
    const page = await open();
    expect(await page.locator('main').textContent()).not.toMatch(/kernel|thread|simd/i);
    await openPanel(page, 'inspect');
    expect(await page.locator('.inspect').textContent()).toMatch(
      /^The model at work on this machine/,
    );
    expect(await page.locator('#engine-facts').textContent()).toMatch(
      /^Engine relaxed-simd, kernels/,
    );
  });

  it('plots the speed of the last answer', async () => {
    const page = await open('?temperature=0&tokens=200');
    await openPanel(page, 'inspect');
    await expect.poll(() => page.locator('#decode-speed').textContent()).toMatch(/\d/);
    expect(Number(await page.locator('#prefill-speed').textContent())).toBeGreaterThan(0);
    const points = await page.locator('.plot-line').getAttribute('points');
    expect(points!.split(' ').length).toBeGreaterThan(5);
  });

  it('shows the memory, which shrinks with the kind of keys and values', async () => {
    const page = await open();
    await openPanel(page, 'inspect');
    const kvBytes = async () =>
      Number(await page.locator('.legend .kv dd').getAttribute('data-bytes'));
    await page.locator('#kv-kind').selectOption('f32');
    await page.locator('.legend', { hasText: 'f32' }).waitFor();
    const f32 = await kvBytes();
    await page.locator('#kv-kind').selectOption('f16');
    await page.locator('.legend', { hasText: 'f16' }).waitFor();
    expect(await kvBytes()).toBe(f32 / 2);
    await page.locator('#kv-kind').selectOption('q4');
    await page.locator('.legend', { hasText: 'q4' }).waitFor();
    expect(await kvBytes()).toBeLessThan(f32 / 4); // the first 64 of 512 tokens are f16
  });
});

describe('forks', () => {
  async function fork(page: Page, nForks: number, nTokens: number): Promise<void> {
    await page.locator('#fork-count').fill(String(nForks));
    await page.locator('#fork-length').fill(String(nTokens));
    await page.locator('#fork-run').click();
  }

  const strips = (page: Page) =>
    page
      .locator('.page-strip')
      .evaluateAll((all) => all.map((strip) => strip.getAttribute('aria-label')));

  it('share the pages of the text, copy what they write into, and give them back', async () => {
    const page = await open('?temperature=0&tokens=90');
    await openPanel(page, 'inspect');
    await fork(page, 3, 20);
    const closers = page.getByRole('button', { name: /^Close fork/ });
    await closers.first().and(page.locator(':enabled')).waitFor();
    // 5 tokens of the prompt and 45 of the answer fill one page and part of another. Each fork adds
    // 20 tokens, of which the last 6 begin a new page.
    const own = 'pages 1 shared, 1 copied to write, 1 its own';
    expect(await strips(page)).toEqual([
      'Start: pages 1 shared, 0 copied to write, 1 its own',
      ...['A', 'B', 'C'].map((name) => `Fork ${name}: ${own}`),
    ]);
    expect(await page.locator('#pages-used').textContent()).toBe('8 of 16');
    expect(await page.locator('#pages-copied').textContent()).toBe('3');
    const pageBytes = (32 * 6144 * 36) / 128; // q8
    expect(await page.locator('#bytes-saved').textContent()).toBe(
      `${Math.round((3 * pageBytes) / 1e3).toFixed(0)} kB`,
    );
    const cells = await page.locator('.page-map .page').allTextContents();
    expect(cells.join('').split('').toSorted().join('')).toBe('4AABBCCS');
    expect(cells).toHaveLength(16);
    const [ending = '', ...texts] = await page.locator('.fork-text').allTextContents();
    expect(tellByCli(opening, 45).endsWith(ending.slice('… '.length))).toBe(true);
    expect(texts.every((text) => /\w/.test(text))).toBe(true);
    expect(new Set(texts).size).toBe(3);

    await closers.nth(1).click();
    await page.locator('#pages-used', { hasText: '6 of 16' }).waitFor();
    expect((await strips(page))[2]).toBe('Fork B: closed');
    await page.locator('#kv-kind').selectOption('q8'); // begins another session
    await page.locator('#fork-result').waitFor({ state: 'hidden' });
  });

  it('begin before an answer too, or with nothing said, and can be stopped', async () => {
    const page = await open('?temperature=0&tokens=90');
    await openPanel(page, 'inspect');
    await page.locator('#fork-where').selectOption('0');
    await fork(page, 2, 5);
    await page.locator('#forks [role=status]', { hasText: 'Close a fork' }).waitFor();
    expect((await strips(page))[0]).toBe('Start: pages 0 shared, 0 copied to write, 1 its own');
    await page.locator('#new').click();
    await fork(page, 8, 400);
    await page.locator('.fork-text', { hasText: /\w/ }).first().waitFor();
    await page.locator('#fork-run', { hasText: 'Stop' }).click();
    await page.locator('#forks [role=status]', { hasText: 'Stopped' }).waitFor();
    expect(await page.locator('#fork-run').textContent()).toBe('Fork');
  });
});

describe('the file inspector', () => {
  it('lists metadata, tensors and sizes by type', async () => {
    const page = await open();
    await openPanel(page, 'inspect');
    await page.locator('#inspect').click();
    await page.locator('#file-content summary').first().waitFor();
    for (const summary of await page.locator('#file-content summary').all()) await summary.click();
    const text = await page.locator('#file-content').textContent();
    expect(text).toContain('llama.context_length512');
    expect(text).toContain('blk.0.attn_q.weightQ4_0256 × 256');
    expect(text).toMatch(/Q4_0\d+2\.\d MBQ6_K1430 kBF32/);
  });
});

describe('the benchmark', () => {
  it('gives a table that can be copied', async () => {
    const page = await open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await openPanel(page, 'inspect');
    await page.locator('#benchmark-run').click();
    await page.locator('#benchmark-result').waitFor();
    await page.locator('#panel').getByRole('button', { name: 'Copy' }).click();
    await page.locator('#panel [role=status]', { hasText: /^Copied$/ }).waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    expect(text).toMatch(/^Kinglet Stories 5M: 5.2M parameters, 3.1 MB\nEngine relaxed-simd,/);
    expect(text).toMatch(/\| reading 128 tokens \| [1-9][\d.]* \|\n\| writing 64 tokens \| [1-9]/);
  });
});

describe('comparing', () => {
  const text = (page: Page, side: string) =>
    page.locator(`#compare-${side} .side-text`).textContent();

  async function compare(page: Page): Promise<string> {
    await page.locator('#compare-run').click();
    await page.locator('#compare-run', { hasText: 'Compare' }).waitFor();
    return (await page.locator('.verdict').textContent()) ?? '';
  }

  it('marks the first difference of two kinds of keys and values', async () => {
    const page = await open();
    await openPanel(page, 'compare');
    await page.locator('#compare-length').fill('200');
    expect(await compare(page)).toMatch(/^The same for \d+ tokens; the first difference is marked/);
    await page.locator('mark').nth(1).waitFor();
    const before = (side: string) =>
      page.evaluate(
        (id) => document.querySelector(`#compare-${id} mark`)!.previousSibling!.textContent,
        side,
      );
    expect(await before('left')).toBe(await before('right'));
    const [left, right] = await page.locator('mark').allTextContents();
    expect(left).not.toBe(right);
  });

  it('shows both sides in rows that begin at the same heights', async () => {
    const page = await open();
    await page.setViewportSize({ width: 390, height: 844 });
    await openPanel(page, 'compare');
    for (const part of ['.side-way', 'p.soft >> nth=0', '.side-facts', '.side-text']) {
      const [left, right] = await Promise.all(
        ['left', 'right'].map((side) => page.locator(`#compare-${side} ${part}`).boundingBox()),
      );
      expect({ part, y: right!.y }).toEqual({ part, y: left!.y });
    }
  });

  it('asks a model that chats in its chat', async () => {
    const page = await open('?temperature=0');
    const source = '{{ messages[0].content }}, said';
    const bytes = withChatTemplate(readFileSync(storyModel), source);
    await openPanel(page, 'models');
    await page.locator('#file').setInputFiles({
      ...{ name: 'chat.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) },
    });
    await page.locator('.welcome').waitFor();
    await openPanel(page, 'compare');
    await page.locator('#compare-prompt').fill('I am Tim');
    await page.locator('#compare-length').fill('12');
    await compare(page);
    expect((await text(page, 'left'))!.trim()).toBe(tellByCli('I am Tim, said', 12).trim());
  });

  it('says what it compares before it is run, and leaves no gaps', async () => {
    const page = await open();
    await openPanel(page, 'compare');
    const box = async (part: string) => (await page.locator(part).boundingBox())!;
    const [options, sides] = [await box('.compare-options'), await box('.sides')];
    expect(sides.y - options.y - options.height).toBeLessThanOrEqual(24);
    const right = page.locator('#compare-right');
    expect(await right.textContent()).toContain('What it writes will stand here.');
    expect(await right.textContent()).toContain('About a seventh of the memory');
    await page.getByLabel('Right: keys and values').selectOption('f16');
    expect(await right.textContent()).toContain('Half the memory.');
    expect(await page.locator('.compare').textContent()).toContain('Keys and values are what');
  });

  it('finds none between a fork of the session and the session itself', async () => {
    const page = await open();
    await openPanel(page, 'compare');
    await page.locator('#compare-prompt').fill(' Suddenly');
    await page.locator('#compare-context').check();
    await page.locator('#compare-length').fill('20');
    await page.getByLabel('Right: keys and values').selectOption('f32');
    expect(await compare(page)).toBe('No difference in 20 tokens.');
    expect(await text(page, 'right')).toBe(await text(page, 'left'));
  });

  it('runs two kernel sets', async () => {
    const page = await open();
    await openPanel(page, 'compare');
    await page.locator('#compare-prompt').fill(opening);
    await page.locator('#compare-length').fill('40');
    await page.getByLabel('Right: keys and values').selectOption('f32');
    await page.getByLabel('Right: kernels').selectOption('scalar');
    expect(await compare(page)).toMatch(/same|No difference/);
    expect(await text(page, 'left')).toBe(tellByCli(opening, 40));
    expect(await text(page, 'right')).toBe(tellByCli(opening, 40, ['--kernels', 'scalar']));
  });
});

describe('a file that holds a vocabulary only', () => {
  it('is said to be one, splits what is typed into tokens, and leaves out what cannot work', async () => {
    const page = await open();
    await openPanel(page, 'inspect'); // makes the panel for the model before
    await openPanel(page, 'models');
    const bytes = vocabularyOf(withChatTemplate(readFileSync(storyModel), 'a template'));
    await page.locator('#file').setInputFiles({
      ...{ name: 'words.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) },
    });
    await page.locator('.vocabulary', { hasText: 'contains only a vocabulary' }).waitFor();
    expect(await page.locator('#model-facts').textContent()).toBe(
      'A vocabulary of 2,048 tokens, without weights',
    );
    await page.locator('#prompt').fill('Once upon a time');
    await page.locator('.vocabulary [role=status]', { hasText: '4 tokens' }).waitFor();
    expect(await page.locator('.split li').count()).toBe(4);
    expect(await page.locator('.split').textContent()).toMatch(/^Once\d+upon\d+a\d+time\d+$/);
    await page.locator('#prompt').press('Enter');
    expect(await page.locator('.exchange').count()).toBe(0);
    expect(await page.locator('#send').isDisabled()).toBe(true);
    expect(await page.locator('#mode-chat').isDisabled()).toBe(true);

    await openPanel(page, 'inspect');
    expect(await page.locator('#memory').isVisible()).toBe(false);
    expect(await page.locator('#fork-run').isDisabled()).toBe(true);
    expect(await page.locator('#benchmark-run').isDisabled()).toBe(true);
    await page.locator('#inspect').click();
    await page.locator('#file-content', { hasText: 'Tensors, 0' }).waitFor();
    await openPanel(page, 'compare');
    expect(await page.locator('#compare-run').isDisabled()).toBe(true);

    await openPanel(page, 'models');
    await page.getByRole('button', { name: 'Load Kinglet Stories 5M' }).click();
    await page.locator('.vocabulary').waitFor({ state: 'detached' });
    expect(await ask(page, opening)).toBe(tellByCli(opening, 30));
    await openPanel(page, 'inspect');
    expect(await page.locator('#memory').isVisible()).toBe(true);
    expect(await page.locator('#fork-run').isEnabled()).toBe(true);
  });
});

describe('models', () => {
  const fileName = () =>
    readdirSync(`${root}demo/dist/assets`).find((name) => name.endsWith('.gguf'))!;

  async function load(page: Page, address: string): Promise<void> {
    await openPanel(page, 'models');
    await page.locator('#address').fill(address);
    await page.locator('#address').press('Enter');
  }

  it('open from an address', async () => {
    const page = await open();
    await load(page, `assets/${fileName()}`);
    await page.locator('#new:disabled').waitFor();
    expect(await ask(page, opening)).toBe(tellByCli(opening, 30));
  });

  it('tell how far they have come, and can be cancelled', async () => {
    const page = await open();
    const server = await startFaultyServer();
    onTestFinished(() => {
      server.close();
    });
    const bytes = readFileSync(storyModel);
    const faults = [{ byte: 1 << 20, kind: 'stall' as const }];
    server.files.set('/slow.gguf', { bytes, etag: '"1"', faults });
    await load(page, `${server.url}slow.gguf`);
    await page.locator('#loading', { hasText: /^slow\.gguf · 1\.0 MB of 3\.1 MB/ }).waitFor();
    const progress = page.locator('#loading progress');
    expect(Number(await progress.getAttribute('value'))).toBeCloseTo((1 << 20) / bytes.length, 2);
    await page.locator('#loading').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('#loading').waitFor({ state: 'hidden' });
    expect(await ask(page, opening)).toBe(tellByCli(opening, 30)); // by the model before
  });

  it('are kept, listed with their size, and deleted', async () => {
    const page = await open();
    await load(page, `assets/${fileName()}?second`);
    await page.locator('#new:disabled').waitFor();
    await openPanel(page, 'models');
    const kept = page.locator('#kept');
    await kept.locator('h3', { hasText: /^On this device, [36]\.\d MB$/ }).waitFor();
    const nBefore = await kept.locator('.card').count();
    await kept.getByRole('button', { name: 'Delete' }).first().click();
    await expect.poll(() => kept.locator('.card').count()).toBe(nBefore - 1);
    for (let i = 1; i < nBefore; ++i)
      await kept.getByRole('button', { name: 'Delete' }).first().click();
    await kept.waitFor({ state: 'hidden' });
  });
});
