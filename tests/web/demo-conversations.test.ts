// Conversations are kept from one visit to the next, with their model and their settings.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { plainText } from '../../demo/src/talk/plain-text.ts';
import type { Site } from './demo-page.ts';
import {
  accessibilityFaults,
  answered,
  answeredAgain,
  ask,
  openPage,
  openPanel,
  openSite,
  openTab,
  opening,
} from './demo-page.ts';
import { splitModel } from './split-model.ts';
import { storyModel, tellByCli, withChatTemplate } from './support.ts';

const template =
  '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}' +
  '{% if add_generation_prompt %}assistant:{% endif %}';

let site: Site;

beforeAll(async () => {
  site = await openSite();
});

afterAll(async () => {
  await site.close();
});

const query = '?temperature=0&tokens=20';
const open = () => openPage(site.browser, `${site.plain.url}${query}`);

async function titles(page: Page): Promise<string[]> {
  await openPanel(page, 'history');
  const found = await page.locator('.conversation-title').allTextContents();
  await page.locator('#panel-close').click();
  return found.map((title) => title.trim());
}

/** Opens a model that chats, from an address from which the page can load the model again. */
async function openChat(page: Page): Promise<void> {
  const bytes = withChatTemplate(readFileSync(storyModel), template);
  await page
    .context()
    .route('**/chat.gguf', (route) => route.fulfill({ body: Buffer.from(bytes) }));
  await openPanel(page, 'models');
  await page.locator('#address').fill('chat.gguf');
  await page.locator('#address').press('Enter');
  await page.locator('.welcome').waitFor();
}

/** Saves a conversation from the list; returns the file. */
async function save(page: Page, title: string, kind: string) {
  await openPanel(page, 'history');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: `Save ${title} as ${kind}` }).click();
  const file = await download;
  await page.locator('#panel-close').click();
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

describe('conversations', () => {
  it('are kept from the first word on, and shown again after a reload', async () => {
    const page = await open();
    expect(await titles(page)).toEqual([]); // the page's own story is not a conversation
    const story = await ask(page, 'One day a cat');
    await page.reload();
    await page.locator('.exchange').nth(1).waitFor();
    expect(await page.locator('.exchange').count()).toBe(2);
    expect(await answered(page)).toBe(story);
    expect(await titles(page)).toEqual(['One day a cat']);
    // A restored conversation can be continued: the model reads its text again.
    await page.locator('.exchange').last().getByRole('button', { name: 'Go on' }).click();
    const more = tellByCli(`One day a cat${story}`, 20);
    await page.locator('.answer', { hasText: story + more }).waitFor();
  });

  it('are named after their first words, without the marks of Markdown', async () => {
    const page = await open();
    await ask(page, '# **One day** a `cat`');
    expect(await titles(page)).toEqual(['One day a cat']);
    await page.locator('#new').click();
    await ask(page, '**');
    expect(await titles(page)).toEqual(['**', 'One day a cat']); // there is nothing else
  });

  it.each([
    ['**Tell** me of _Tim_ and ~~Tom~~', 'Tell me of Tim and Tom'],
    ['***Both*** and **_both_**, __bold__', 'Both and both, bold'],
    ['## Task\n> - quoted\n* one\n1. two', 'Task\nquoted\none\n1. two'],
    ['See [the page](https://a.example/b_c) and ![a bird](b.png "B")', 'See the page and a bird'],
    ['```js\nf(a)\n```', '\nf(a)\n'],
    ['Escaped \\*stars\\*', 'Escaped *stars*'],
    ['Run `npm ci`, please', 'Run npm ci, please'],
    ...['2 * 3 * 4', '2*3*4', 'f(*args, **kwargs)', 'snake_case_name', '#tag', 'a > b', '-5'].map(
      (text) => [text, text],
    ),
    ['C:\\models\\a', 'C:\\models\\a'],
  ])('%j is %j without marks', (markdown, plain) => {
    expect(plainText(markdown)).toBe(plain);
  });

  it('begin anew, and are opened from the list', async () => {
    const page = await open();
    const cat = await ask(page, 'One day a cat');
    await page.locator('#new').click();
    await ask(page, 'A dog');
    expect(await titles(page)).toEqual(['A dog', 'One day a cat']);
    await openPanel(page, 'history');
    expect(await page.locator('[aria-current=true]').textContent()).toContain('A dog');
    await page.getByRole('button', { name: 'One day a cat', exact: true }).click();
    await page.locator('.prompt-text', { hasText: 'One day a cat' }).waitFor();
    expect(await answered(page)).toBe(cat);
    expect(await page.locator('.exchange').count()).toBe(2);
    await ask(page, 'The bird');
    expect(await titles(page)).toEqual(['One day a cat', 'A dog']); // the newest first
    await openPanel(page, 'history');
    await page.getByRole('button', { name: 'New conversation' }).click();
    expect(await page.locator('.exchange').count()).toBe(0);
    await page.reload();
    await answered(page); // a new story, as no conversation was open
    expect(await page.locator('.exchange').count()).toBe(1);
  });

  it('are renamed, deleted, and brought back', async () => {
    const page = await open();
    await ask(page, 'One day a cat');
    await openPanel(page, 'history');
    await page.getByRole('button', { name: 'Rename One day a cat' }).click();
    await page.locator('.rename input:focus').waitFor();
    await page.keyboard.type('Cats');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cats', exact: true }).waitFor();
    await page.locator('.conversation-title:focus').waitFor();
    await page.getByRole('button', { name: 'Rename Cats' }).click();
    await page.locator('.rename input:focus').waitFor();
    await page.keyboard.type('Dogs');
    await page.keyboard.press('Escape');
    expect(await page.locator('#panel').isVisible()).toBe(true);
    await page.locator('#panel-close').click();
    await page.reload();
    await page.locator('.exchange').nth(1).waitFor();
    expect(await titles(page)).toEqual(['Cats']);

    await openPanel(page, 'history');
    await page.getByRole('button', { name: 'Delete Cats' }).click();
    await page.locator('[role=status]', { hasText: 'Deleted “Cats”' }).waitFor();
    expect(await page.locator('.conversation').count()).toBe(0);
    expect(await page.locator('.exchange').count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.conversation').waitFor();
    await page.getByRole('button', { name: 'Delete Cats' }).click();
    await page.locator('.conversation').waitFor({ state: 'detached' });
    await page.reload();
    await answered(page);
    expect(await titles(page)).toEqual([]);
  });

  it('are saved as Markdown and as JSON', async () => {
    const page = await open();
    await openChat(page);
    const answer = (await ask(page, 'Tell me of Tim.')).trim();
    const saved = (kind: string) => save(page, 'Tell me of Tim.', kind);
    const markdown = await saved('Markdown');
    expect(markdown.name).toBe('Tell me of Tim.md');
    expect(markdown.text).toMatch(/^# Tell me of Tim\.\n\nKinglet Stories 5M, \d{4}-\d\d-\d\d\n\n/);
    expect(markdown.text).toContain('## You\n\nTell me of Tim.\n\n## Kinglet Stories 5M\n\n');
    expect(markdown.text.replaceAll('\n', ' ')).toContain(answer.replaceAll('\n', ' '));
    const json = await saved('JSON');
    expect(json.name).toBe('Tell me of Tim.json');
    const { title, model, changed, exchanges } = JSON.parse(json.text) as Record<string, unknown>;
    expect({ title, model }).toEqual({ title: 'Tell me of Tim.', model: 'Kinglet Stories 5M' });
    expect(Date.parse(String(changed))).toBeGreaterThan(Date.now() - 60_000);
    expect(exchanges).toEqual([
      expect.objectContaining({ mode: 'chat', prompt: 'Tell me of Tim.', reasoning: '' }),
    ]);
  });
});

describe('a conversation that is open in two tabs', () => {
  /** Begins a conversation, and opens it again in another tab. */
  async function openTwice(prompt: string): Promise<[Page, Page]> {
    const page = await open();
    await ask(page, prompt);
    return [page, await openAgain(page)];
  }

  async function openAgain(page: Page): Promise<Page> {
    const tab = await openTab(page.context(), page.url());
    await tab.locator('#send:enabled').waitFor(); // a conversation is shown before its model is there
    return tab;
  }

  async function prompts(page: Page): Promise<string[]> {
    const found = await page.locator('.prompt-text').allTextContents();
    return found.filter((prompt) => prompt !== opening);
  }

  /** Opens a conversation from the list of a tab that has just read what is stored. */
  async function storedPrompts(page: Page, title: string): Promise<string[]> {
    const reader = await openTab(page.context(), page.url());
    await openPanel(reader, 'history');
    await reader.getByRole('button', { name: title, exact: true }).click();
    await reader.locator('#panel').waitFor({ state: 'hidden' });
    await expect.poll(() => prompts(reader)).not.toContain(''); // each is made, then filled
    const found = await prompts(reader);
    await reader.close();
    return found;
  }

  const notice = (page: Page) => page.locator('#alert').textContent();

  it('becomes two when both go on with it, and each tab goes on with its own', async () => {
    const [first, second] = await openTwice('One day a cat');
    expect(await prompts(second)).toEqual(['One day a cat']);
    await ask(second, 'The dog');
    await ask(first, 'The bird');
    const copy = 'One day a cat (copy)';
    expect(await notice(first)).toContain(
      `Another tab has gone on with “One day a cat”. What this tab shows is kept as “${copy}”.`,
    );
    expect(await accessibilityFaults(first)).toEqual([]);
    await ask(first, 'The fish');
    await ask(second, 'The frog');
    expect(await notice(second)).toBe('');
    expect(await titles(first)).toEqual([copy, 'One day a cat']);
    expect(await storedPrompts(first, copy)).toEqual(['One day a cat', 'The bird', 'The fish']);
    const original = ['One day a cat', 'The dog', 'The frog'];
    expect(await storedPrompts(first, 'One day a cat')).toEqual(original);
    expect(await titles(await openTab(first.context(), first.url()))).toHaveLength(2);
  });

  it('becomes no more than two when one tab changes it again before that is stored', async () => {
    const [first, second] = await openTwice('One day a cat');
    await ask(second, 'The dog');
    const release = await holdStorage(second);
    const bird = await ask(first, 'The bird'); // a change by the prompt, and one by the answer
    await release();
    await first.locator('#alert', { hasText: 'Another tab has gone on' }).waitFor();
    await ask(second, 'The frog');
    expect(await notice(second)).toBe('');
    const stored = await openAgain(first);
    expect(await titles(stored)).toEqual(['One day a cat', 'One day a cat (copy)']);
    expect(await answered(stored)).toBe(bird);
  });

  /** Lets no tab read or change what is stored, until the returned function is called. */
  async function holdStorage(page: Page): Promise<() => Promise<void>> {
    const holder = await page.evaluateHandle(async () => {
      const request = indexedDB.open('kinglet conversations');
      await new Promise((resolve) => (request.onsuccess = resolve));
      const store = request.result
        .transaction('conversations', 'readwrite')
        .objectStore('conversations');
      const hold = { isOver: false };
      const goOn = () => {
        if (!hold.isOver) store.count().onsuccess = goOn;
      };
      goOn();
      return hold;
    });
    return () =>
      holder.evaluate((hold) => {
        hold.isOver = true;
      });
  }

  it('is read anew when it is opened from the list', async () => {
    const [first, second] = await openTwice('One day a cat');
    await ask(second, 'The dog');
    await openPanel(first, 'history');
    await first.getByRole('button', { name: 'One day a cat', exact: true }).click();
    await first.locator('.prompt-text', { hasText: 'The dog' }).waitFor();
    await ask(first, 'The bird');
    expect(await titles(first)).toEqual(['One day a cat']);
    const all = ['One day a cat', 'The dog', 'The bird'];
    expect(await storedPrompts(first, 'One day a cat')).toEqual(all);
  });

  it('keeps a name that one tab gives it, and what the other adds', async () => {
    const [first, second] = await openTwice('One day a cat');
    await openPanel(second, 'history');
    await second.getByRole('button', { name: 'Rename One day a cat' }).click();
    await second.locator('.rename input:focus').waitFor();
    await second.keyboard.type('Cats');
    await second.keyboard.press('Enter');
    await second.getByRole('button', { name: 'Cats', exact: true }).waitFor();
    await ask(first, 'The bird');
    expect(await notice(first)).toBe('');
    expect(await storedPrompts(first, 'Cats')).toEqual(['One day a cat', 'The bird']);
    // The second tab has not seen the bird: a new name must not take it away.
    await second.getByRole('button', { name: 'Rename Cats' }).click();
    await second.locator('.rename input:focus').waitFor();
    await second.keyboard.type('Birds');
    await second.keyboard.press('Enter');
    await second.getByRole('button', { name: 'Birds', exact: true }).waitFor();
    expect(await storedPrompts(first, 'Birds')).toEqual(['One day a cat', 'The bird']);
  });

  it('is not deleted with what only the other tab has seen', async () => {
    const [first, second] = await openTwice('One day a cat');
    await ask(second, 'The dog');
    await openPanel(first, 'history');
    const deleteIt = first.getByRole('button', { name: 'Delete One day a cat' });
    await deleteIt.click();
    await first.getByText('“One day a cat” was not deleted: another tab has').waitFor();
    expect(await storedPrompts(first, 'One day a cat')).toEqual(['One day a cat', 'The dog']);
    await deleteIt.click(); // now the visitor knows
    await first.locator('[role=status]', { hasText: 'Deleted “One day a cat”' }).waitFor();

    await ask(second, 'The frog');
    const copy = 'One day a cat (copy)';
    expect(await notice(second)).toContain(
      `Another tab has deleted “One day a cat”. What this tab shows is kept as “${copy}”.`,
    );
    expect(await titles(second)).toEqual([copy]);
    expect(await storedPrompts(first, copy)).toEqual(['One day a cat', 'The dog', 'The frog']);
  });

  it('is the same after it was deleted and brought back', async () => {
    const [first, second] = await openTwice('One day a cat');
    await openPanel(first, 'history');
    await first.getByRole('button', { name: 'Delete One day a cat' }).click();
    await first.getByRole('button', { name: 'Undo' }).click();
    await first.locator('.conversation').waitFor();
    await ask(second, 'The dog');
    expect(await notice(second)).toBe('');
    expect(await storedPrompts(first, 'One day a cat')).toEqual(['One day a cat', 'The dog']);
  });

  it('may have been stored before there were revisions', async () => {
    const page = await open();
    await ask(page, 'One day a cat');
    await page.evaluate(async () => {
      const ended = <T>(request: IDBRequest<T>) =>
        new Promise<T>((resolve) => {
          request.onsuccess = () => {
            resolve(request.result);
          };
        });
      const database = await ended(indexedDB.open('kinglet conversations'));
      const store = database.transaction('conversations', 'readwrite').objectStore('conversations');
      const [record] = (await ended(store.getAll())) as [{ revision?: string }];
      delete record.revision;
      await ended(store.put(record));
      database.close();
    });
    await page.reload();
    await page.locator('#send:enabled').waitFor();
    const second = await openAgain(page);
    await ask(page, 'The bird');
    expect(await titles(page)).toEqual(['One day a cat']);
    await ask(second, 'The dog');
    expect(await titles(second)).toEqual(['One day a cat (copy)', 'One day a cat']);
    expect(await storedPrompts(page, 'One day a cat')).toEqual(['One day a cat', 'The bird']);
  });
});

describe('the next visit', () => {
  it('offers the model again, shows the chat, and goes on with it', async () => {
    const page = await open();
    await openChat(page);
    const first = await ask(page, 'Tell me of Tim.');
    await page.reload();
    await page.locator('.offer', { hasText: 'Last time you used chat.gguf' }).waitFor();
    expect(await page.locator('.offer').textContent()).toMatch(/still on this device, 3\.\d MB/);
    expect(await answered(page)).toBe(first);
    expect(await page.locator('#model-name').textContent()).toBe('No model loaded');
    expect(await page.locator('#send').isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Regenerate' }).isDisabled()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);

    await page.getByRole('button', { name: 'Load chat.gguf' }).click();
    await page.locator('#send:enabled').waitFor();
    await page.locator('.offer').waitFor({ state: 'hidden' });
    const second = await ask(page, 'And Lily?');
    const said = tellByCli('user: Tell me of Tim.\nassistant:', 20);
    const context = `user: Tell me of Tim.\nassistant: ${said.trim()}\nuser: And Lily?\nassistant:`;
    expect(second.trim()).toBe(tellByCli(context, 20).trim());
  });

  it('knows how large a model in parts is on this device', async () => {
    const page = await open();
    const parts = splitModel(withChatTemplate(readFileSync(storyModel), template), 2);
    await page.context().route('**/*-of-00002.gguf', (route) => {
      const isFirst = route.request().url().includes('-00001-');
      return route.fulfill({ body: Buffer.from(parts[isFirst ? 0 : 1]!) });
    });
    await openPanel(page, 'models');
    await page.locator('#address').fill('chat-00001-of-00002.gguf');
    await page.locator('#address').press('Enter');
    await page.locator('.welcome').waitFor();
    await page.reload();
    await page.locator('.offer', { hasText: 'still on this device, 3.' }).waitFor();
    await openPanel(page, 'models');
    const card = page.locator('#kept .card');
    await card.waitFor();
    expect(await card.textContent()).toMatch(/chat-00001-of-00002\.gguf\s+3\.\d MB/);
    await card.getByRole('button', { name: /^Delete/ }).click();
    await page.locator('#kept').waitFor({ state: 'detached' });
  });

  it('asks for a file that the visitor had picked', async () => {
    const page = await open();
    await openPanel(page, 'models');
    const bytes = withChatTemplate(readFileSync(storyModel), template);
    await page.locator('#file').setInputFiles({
      ...{ name: 'mine.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) },
    });
    await page.locator('.welcome').waitFor();
    await page.reload();
    await page.locator('.offer', { hasText: 'It was a file of yours' }).waitFor();
    await page.getByRole('button', { name: 'The small story model' }).click();
    await page.locator('#send:enabled').waitFor();
    expect(await ask(page, opening)).toBe(tellByCli(opening, 20));
    await page.reload();
    await answered(page);
    expect(await page.locator('.offer').isVisible()).toBe(false);
  });
});

describe('a context that fills up', () => {
  // Uses kernels that Node has too: rounding can change a text that makes little sense.
  const openShort = () =>
    openPage(site.browser, `${site.plain.url}?temperature=0&tokens=20&ctx=96&kernels=simd128`);
  const note = (page: Page) => page.locator('.note').last().textContent();

  it('is shown by a meter', async () => {
    const page = await open();
    await page.getByText('25 of 512 tokens of context used').waitFor();
    expect(await page.getByRole('meter').getAttribute('aria-valuenow')).toBe('25');
    await page.locator('#new').click();
    await page.getByText('0 of 512 tokens of context used').waitFor();
    expect(await page.getByRole('meter').getAttribute('aria-valuenow')).toBe('0');
  });

  it('leaves out the oldest questions of a chat, which goes on', async () => {
    const page = await openShort();
    await openChat(page);
    for (let turn = 0; turn < 5; ++turn) await ask(page, `Tell me of number ${String(turn)}.`);
    const [, nDropped] = /the oldest (\d+) questions no longer fit/.exec((await note(page))!)!;
    expect(Number(nDropped)).toBeLessThan(5);
    const { text } = await save(page, 'Tell me of number 0.', 'JSON');
    const { exchanges } = JSON.parse(text) as { exchanges: { prompt: string; text: string }[] };
    const inView = exchanges.slice(Number(nDropped));
    const last = inView.pop()!;
    const model = await Kinglet.load(
      new Blob([withChatTemplate(readFileSync(storyModel), template)]),
    );
    onTestFinished(() => {
      model.dispose();
    });
    const messages = inView.flatMap(({ prompt, text: answer }) => [
      { role: 'user', content: prompt },
      { role: 'assistant', content: answer },
    ]);
    messages.push({ role: 'user', content: last.prompt });
    const expected = await model.chat(messages, { temperature: 0, maxTokens: 20 }).result;
    expect(last.text).toBe(expected.text);
  });

  it('leaves out the beginning of a text, which goes on', async () => {
    const page = await openShort();
    for (let length = 40; length <= 140; length += 20) {
      await answeredAgain(page, page.locator('.exchange').last(), 'Go on');
      await expect.poll(() => note(page)).toMatch(/^\d+ tokens/);
      if (length === 40) expect(await note(page)).not.toContain('no longer fits');
    }
    expect(await note(page)).toContain('the beginning no longer fits');
    await page.getByRole('button', { name: 'Tokens', exact: true }).click();
    expect(await page.locator('.token').count()).toBeGreaterThan(96);
  });
});

describe('where the browser keeps nothing', () => {
  it.each([
    ['there is no database', () => Reflect.deleteProperty(globalThis, 'indexedDB')],
    [
      'the database is denied',
      () => {
        IDBFactory.prototype.open = () => {
          throw new DOMException('denied', 'SecurityError');
        };
      },
    ],
  ])('the list lasts as long as the page, when %s', async (_, deny) => {
    const context: BrowserContext = await site.browser.newContext({ serviceWorkers: 'block' });
    onTestFinished(() => context.close());
    await context.addInitScript(deny);
    await context.addInitScript(() => {
      Object.defineProperty(window, 'localStorage', {
        get: () => {
          throw new DOMException('denied', 'SecurityError');
        },
      });
    });
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`${site.plain.url}${query}`);
    expect(await answered(page)).toBe(tellByCli(opening, 20));
    await ask(page, 'One day a cat');
    await page.locator('#new').click();
    expect(await titles(page)).toEqual(['One day a cat']);
    await openPanel(page, 'history');
    await page.getByText('as long as the page is open').waitFor();
    await page.getByRole('button', { name: 'One day a cat', exact: true }).click();
    await page.locator('.prompt-text', { hasText: 'One day a cat' }).waitFor();
    expect(faults).toEqual([]);
  });
});
