// Opens the recipes of the folder examples in Chromium, with the packed package next to them.
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kinglet } from 'kinglet';
import type { ChatMessage } from 'kinglet';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { complaintsOf } from './complaints.ts';
import { accessibilityFaults } from './demo-page.ts';
import { copyTemplate, installPacked } from './packed.ts';
import { exactly } from './scripted-model.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; " +
  "connect-src 'self'; img-src data:; style-src 'self'";
const template = '{{ messages[-1].content }}';
const model = withChatTemplate(readFileSync(storyModel), template);

let browser: Browser;
let folder: string;
let served: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  ({ folder } = installPacked('recipes'));
  for (const recipe of ['chat', 'element', 'rag', 'tools', 'offline']) {
    copyTemplate(folder, recipe, recipe);
    writeFileSync(join(folder, recipe, 'model.gguf'), model);
  }
  cpSync(join(root, 'tests/fixtures/encoder/nomic-bert.gguf'), join(folder, 'rag/embedder.gguf'));
  served = await serve(folder, { headers: { 'Content-Security-Policy': policy } });
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
  served.server.closeAllConnections();
  served.server.close();
});

/** Opens a recipe as a new visitor. */
async function open(recipe: string): Promise<Page> {
  const { page } = await visit();
  await page.goto(`${served.url}${recipe}/`);
  return page;
}

/** Makes a page of a new visitor. What the browser's console complains of fails the test. */
async function visit(): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  return { page, context };
}

const markdownAnswer =
  '**bold**\n\n- one\n- two\n\n```js\nlet a;\n```\n\n|a|\n|-|\n|b|\n\n' +
  '<img src=x onerror=alert(1)> [run](javascript:alert(1)) [bird](https://example.com/)';

async function expectMarkdown(answer: Locator): Promise<void> {
  await expect.poll(() => answer.locator('strong').allTextContents()).toEqual(['bold']);
  expect(await answer.locator('li').allTextContents()).toEqual(['one', 'two']);
  expect(await answer.locator('pre code').textContent()).toBe('let a;\n');
  expect(await answer.locator('td').textContent()).toBe('b');
  expect(await answer.locator('img, [style], a[href^=javascript]').count()).toBe(0);
  expect(await answer.locator('a[href^=https]').getAttribute('rel')).toBe('noopener noreferrer');
}

describe('chat', () => {
  const ready = (page: Page) => page.locator('button[name=send]:enabled').waitFor();
  const shown = (page: Page) => page.locator('#log > div').allTextContents();

  async function ask(page: Page, question: string): Promise<void> {
    await ready(page);
    await page.locator('input[name=message]').fill(question);
    await page.locator('input[name=message]').press('Enter');
    await page.locator('#log .user', { hasText: question }).waitFor(); // the page is at it
  }

  it('shows Markdown as elements, and nothing that could do harm', async () => {
    const { page } = await visit();
    await page.addInitScript((content) => {
      const messages = [
        { role: 'user', content: '**a**' },
        { role: 'assistant', content },
      ];
      localStorage.setItem('kinglet chat', JSON.stringify(messages));
    }, markdownAnswer);
    await page.goto(`${served.url}chat/`);
    await expectMarkdown(page.locator('#log .assistant'));
    expect(await page.locator('#log .user').textContent()).toBe('**a**');
  });

  it('streams answers, and keeps the conversation over reloads until it is cleared', async () => {
    const page = await open('chat');
    await ready(page);
    expect(await page.locator('#status').textContent()).toBe('Kinglet Stories 5M is ready.');
    await page.evaluate(() => {
      const lengths = new Set<number>();
      Object.assign(globalThis, { lengths });
      new MutationObserver(() => {
        lengths.add(document.querySelector('#log .assistant')?.textContent.length ?? 0);
      }).observe(document.body, { subtree: true, childList: true });
    });
    await ask(page, 'Once upon a time');
    await ready(page);
    const nStates = () => (globalThis as unknown as { lengths: Set<number> }).lengths.size;
    expect(await page.evaluate(nStates)).toBeGreaterThan(5);
    await ask(page, 'One day');
    await ready(page);
    const before = await shown(page);
    expect(before).toHaveLength(4);
    expect(before.filter((_, i) => i % 2 === 0)).toEqual(['Once upon a time', 'One day']);
    for (const text of before) expect(text).not.toBe('');
    await page.reload();
    expect(await shown(page)).toEqual(before);
    await page.locator('#clear').click();
    await page.reload();
    await ready(page);
    expect(await shown(page)).toEqual([]);
  });

  it.each(['[{"role": "us', 'null', '{}'])('begins anew where it kept %s', async (kept) => {
    const { page } = await visit();
    await page.addInitScript((value) => {
      localStorage.setItem('kinglet chat', value);
    }, kept);
    await page.goto(`${served.url}chat/`);
    await ready(page);
    expect(await shown(page)).toEqual([]);
    expect(await page.locator('#status').textContent()).toBe('Kinglet Stories 5M is ready.');
  });

  it('stops, keeps what was said, and goes on', async () => {
    const page = await open('chat');
    await ready(page);
    // From here, the click might come after the end.
    await page.evaluate(() => {
      new MutationObserver((_, observer) => {
        if (!document.querySelector('#log .assistant:not(:empty)')) return;
        observer.disconnect();
        document.querySelector<HTMLButtonElement>('button[name=stop]')!.click();
      }).observe(document.querySelector('#log')!, { childList: true, subtree: true });
    });
    await ask(page, 'Once upon a time');
    await page.locator('#log .assistant:not(:empty)').waitFor();
    await ready(page);
    const [, stopped] = await shown(page);
    expect(stopped).not.toBe('');
    expect(await page.locator('#status').textContent()).toBe('');
    await ask(page, 'One day');
    await ready(page);
    expect((await shown(page))[1]).toBe(stopped);
    expect((await shown(page))[3]).not.toBe('');
  });

  it('keeps what there is of an answer when the page is left', async () => {
    const page = await open('chat');
    await ask(page, 'Once upon a time');
    await page.locator('#log .assistant:not(:empty)').waitFor();
    await page.reload();
    const [question, answer] = await shown(page);
    expect(question).toBe('Once upon a time');
    expect(answer).not.toBe('');
  });

  it('opens a file that is picked, and keeps its model where a file is none', async () => {
    const page = await open('chat');
    await ready(page);
    const pick = (name: string, buffer: Buffer) =>
      page.locator('#file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    const other = withChatTemplate(readFileSync(storyModel), `${template} `);
    await pick('notes.zip', Buffer.from('PK\u0003\u0004 and more'));
    await page.locator('#status', { hasText: /a zip archive, expected a GGUF file/ }).waitFor();
    await ask(page, 'Once upon a time');
    await ready(page);
    expect((await shown(page))[1]).not.toBe('');
    await pick('other.gguf', Buffer.from(other));
    await page.locator('#status', { hasText: 'is ready.' }).waitFor();
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(['<html><title>Sign in</title>'], 'dropped.gguf'));
      document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, dataTransfer: data }));
    });
    await page.locator('#status', { hasText: 'a web page, "Sign in"' }).waitFor();
  });
});

describe('element', () => {
  const chat = 'kinglet-chat';
  const part = (page: Page, name: string) => page.locator(`${chat} [part~=${name}]`);
  const said = (page: Page) => part(page, 'content').allInnerTexts();
  /** What Markdown keeps of a text without marks: it makes elements of line breaks. */
  const inWords = (text: string) => text.trim().split(/\s+/);

  async function openReady(): Promise<Page> {
    const page = await open('element');
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor();
    return page;
  }

  it('shows Markdown as elements, and nothing that could do harm', async () => {
    const page = await openReady();
    await page.evaluate((content) => {
      document.querySelector('kinglet-chat')!.chat.restore([
        { role: 'user', content: '**a**' },
        { role: 'assistant', content },
      ]);
    }, markdownAnswer);
    await expectMarkdown(part(page, 'assistant'));
    expect(await part(page, 'user').textContent()).toBe('You: **a**');
  });

  it('asks with the keyboard alone, and has the roles that screen readers need', async () => {
    const page = await openReady();
    expect(await part(page, 'status').textContent()).toBe('');
    expect(await part(page, 'progress').isVisible()).toBe(false);
    const message = page.getByRole('textbox', { name: 'Message' });
    expect(await message.getAttribute('placeholder')).toBe('A question');
    await page.evaluate(() => {
      document.querySelector('kinglet-chat')!.setAttribute('temperature', '0');
      document.querySelector('kinglet-chat')!.focus();
      const counts = { changes: 0, busy: false };
      Object.assign(globalThis, { counts });
      const element = document.querySelector('kinglet-chat')!;
      element.addEventListener('change', () => {
        counts.changes++;
        counts.busy ||=
          element.shadowRoot!.querySelector('[role=log]')!.getAttribute('aria-busy') === 'true';
      });
    });
    await page.keyboard.type('Once upon');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('a time');
    expect(await message.inputValue()).toBe('Once upon\na time');
    await page.keyboard.press('Enter');
    await page.locator(`${chat} [role=log][aria-busy=false] [part~=assistant]`).waitFor();
    expect(await part(page, 'user').textContent()).toBe('You: Once upon\na time');
    const [answer] = await said(page);
    const seen = await page.evaluate(() => ({
      ...(globalThis as unknown as { counts: { changes: number; busy: boolean } }).counts,
      messages: document.querySelector('kinglet-chat')!.chat.getState().messages,
    }));
    expect(seen.busy).toBe(true);
    expect(seen.changes).toBeGreaterThan(5); // it streams
    const [question, { content, ...rest }] = seen.messages as [ChatMessage, ChatMessage];
    expect(question).toEqual({ role: 'user', content: 'Once upon\na time' });
    expect(rest).toEqual({ role: 'assistant' });
    expect(inWords(content as string).length).toBeGreaterThan(20);
    expect(inWords(answer!)).toEqual(inWords(content as string));
    expect(await message.inputValue()).toBe('');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    const background = (name: string) =>
      part(page, name).evaluate((element) => getComputedStyle(element).backgroundColor);
    await page.evaluate(() => {
      const words = Object.assign(document.createElement('span'), { textContent: 'Fragen' });
      words.slot = 'send';
      document.querySelector('kinglet-chat')!.append(words);
    });
    expect(await page.getByRole('button', { name: 'Fragen' }).isEnabled()).toBe(true);
    expect(await background('user')).toBe('rgb(39, 44, 26)'); // the page's custom property
    const weight = (element: Element) => getComputedStyle(element).fontWeight;
    expect(await part(page, 'send').evaluate(weight)).toBe('600');
    expect(await part(page, 'stop').evaluate(weight)).toBe('500');
  });

  it.each([
    ['light', 'dark', 'light'],
    ['dark', 'light', 'dark'],
    ['no', 'dark', 'light'],
  ] as const)(
    'has the colors of a page with %s scheme on a %s system',
    async (own, system, seen) => {
      const { page } = await visit();
      writeFileSync(
        join(folder, 'element/plain.html'),
        `<!doctype html><html lang="en"><title>Plain</title><link rel="icon" href="data:,">
       <script type="module" src="kinglet/element/index.js"></script><kinglet-chat></kinglet-chat>`,
      );
      await page.emulateMedia({ colorScheme: system });
      await page.goto(`${served.url}element/plain.html`);
      await page.evaluate(
        (scheme) => {
          document.documentElement.style.colorScheme = scheme;
        },
        own.replace('no', ''),
      );
      const color = await part(page, 'input').evaluate((input) => getComputedStyle(input).color);
      expect(color).toBe(seen === 'light' ? 'rgb(0, 0, 0)' : 'rgb(255, 255, 255)');
    },
  );

  it('stops with Escape and keeps what was said', async () => {
    const page = await openReady();
    await page.evaluate(() => {
      const element = document.querySelector('kinglet-chat')!;
      element.addEventListener('change', () => {
        const { isAnswering, messages } = element.chat.getState();
        if (!isAnswering || messages[1]?.content === '') return;
        const escape = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true });
        element.shadowRoot!.querySelector('textarea')!.dispatchEvent(escape);
      });
    });
    await page.getByRole('textbox').fill('Once upon a time');
    await page.getByRole('textbox').press('Enter');
    await page.locator(`${chat} [role=log][aria-busy=false] [part~=assistant]`).waitFor();
    const [stopped] = await said(page);
    expect(stopped).not.toBe('');
    expect(await part(page, 'error').textContent()).toBe('');
    expect(await page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true);
  });

  it('keeps a model that was picked, and its answer, when it is moved', async () => {
    const page = await openReady();
    const seen = await page.evaluate(async () => {
      const element = document.querySelector('kinglet-chat')!;
      const { chat } = element;
      for (const name of ['temperature', 'max-tokens', 'system']) element.setAttribute(name, '');
      const { setup } = chat;
      element.setAttribute('temperature', '0');
      await chat.load(await (await fetch('model.gguf')).blob());
      const { model } = chat.getState();
      const whole = await chat.ask('Once upon a time');
      chat.clear();
      const answer = chat.ask('Once upon a time');
      const place = document.body.appendChild(document.createElement('div'));
      const moves = [
        () => {
          place.append(element);
        },
        () => {
          document.body.insertBefore(element, place);
        },
      ];
      for (const move of moves) {
        move();
        await new Promise((resolve) => setTimeout(resolve));
      }
      const moved = await answer;
      const isKept = chat.getState().model === model;
      element.remove();
      element.setAttribute('model', 'model.gguf?other');
      place.append(element);
      const { isLoading } = chat.getState();
      return { setup, whole: whole?.content, moved: moved?.content, isKept, isLoading };
    });
    expect(seen.whole).toMatch(/Lily/);
    expect(seen).toMatchObject({ moved: seen.whole, isKept: true, isLoading: true });
    expect(JSON.stringify(seen.setup)).toBe('{"answer":{}}'); // empty attributes count as absent
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor();
  });

  it('says what failed, takes another model, and frees it when it leaves the page', async () => {
    const page = await openReady();
    expect(page.workers().length).toBeGreaterThan(0);
    const setModel = (address: string) =>
      page.evaluate((given) => {
        document.querySelector('kinglet-chat')!.setAttribute('model', given);
      }, address);
    await setModel('style.css');
    await page.getByRole('alert').filter({ hasText: 'the file begins with "/* The' }).waitFor();
    await setModel('model.gguf?again');
    const send = page.getByRole('button', { name: 'Send', disabled: false });
    await page.getByRole('alert').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
    await send.waitFor();
    await page.evaluate(() => {
      document.querySelector('kinglet-chat')!.setAttribute('max-tokens', 'many');
    });
    await page.getByRole('textbox').fill('Once upon a time');
    await send.click();
    await page.getByRole('alert').filter({ hasText: 'maxTokens must be' }).waitFor();
    expect(await page.getByRole('textbox').inputValue()).toBe('Once upon a time');
    expect(await said(page)).toEqual([]);
    // Without a model, it says what is missing; until then it says nothing of it.
    await expect.poll(() => part(page, 'status').textContent()).toBe('');
    await page.evaluate(() => {
      document.body.append(document.createElement('kinglet-chat'));
    });
    const other = page.locator('kinglet-chat:last-of-type');
    await other
      .getByRole('status')
      .filter({ hasText: /^No model yet.*"model"/ })
      .waitFor();
    expect(await other.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await page.evaluate(() => {
      const given = document.querySelector('kinglet-chat:last-of-type')!;
      given.setAttribute('model', 'model.gguf?other');
    });
    await other
      .getByRole('status')
      .filter({ hasText: /^(?:Loading the model)?$/ })
      .waitFor();
    await page.evaluate(() => {
      for (const element of document.querySelectorAll('kinglet-chat')) element.remove();
    });
    await expect.poll(() => page.workers().length).toBe(0);
  });
});

describe('rag', () => {
  const birds = 'A robin sings at dawn.\n\nThe owl hunts at night, and sleeps by day.';
  const trains = 'The last train leaves at ten.\r\n \r\nTickets are sold on board.';

  it('finds passages of dropped files, and answers with them', async () => {
    const page = await open('rag');
    const send = page.locator('button[name=send]:enabled');
    await send.waitFor();
    const ask = async (question: string) => {
      await page.locator('input[name=question]').fill(question);
      await page.locator('input[name=question]').press('Enter');
    };
    await ask('When does the train leave?');
    await page.getByRole('status').filter({ hasText: 'Add a text first.' }).waitFor();
    await page.evaluate(
      (files) => {
        const data = new DataTransfer();
        for (const [name, text] of files) data.items.add(new File([text!], name!));
        document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, dataTransfer: data }));
      },
      [
        ['birds.txt', birds],
        ['bad.bin', '\0\u0001'],
        ['trains.txt', trains],
        ['empty.txt', '\n\n'],
      ],
    );
    const added = '2 passages can be found. bad.bin: the file does not contain text.';
    await page.getByRole('status').filter({ hasText: added }).waitFor();
    expect(await page.locator('#texts li').allTextContents()).toEqual(['birds.txt', 'trains.txt']);
    const question = 'When does the train leave?';
    await ask(question);
    await page.locator('#answer:not(:empty)').waitFor();
    await send.waitFor();
    const sources = await page.locator('#sources li').allTextContents();
    expect([...sources].sort()).toEqual([`birds.txt: ${birds}`, `trains.txt: ${trains}`]);
    // The same words, said to the same model.
    const texts = sources.map((source) => source.replace(/^\w+\.txt: /, ''));
    const listed = texts.map((text, i) => `[${String(i + 1)}] ${text}`).join('\n\n');
    const chat = await Kinglet.load(new Blob([model]), { nThreads: 1 });
    const prompt = `${listed}\n\nAnswer with these sources only, and name their numbers: ${question}`;
    const { text } = await chat.chat(prompt, { temperature: 0 }).result;
    chat.dispose();
    expect(text).not.toBe('');
    // The page's kernels round differently, and a cache of 8 bits lets that grow in a long text.
    expect((await page.locator('#answer').textContent())!.slice(0, 60)).toBe(text.slice(0, 60));
  });

  it('reads the rest of a text when the page was left meanwhile', async () => {
    const page = await open('rag');
    await page.locator('button[name=send]:enabled').waitFor();
    const buffer = Buffer.from('word '.repeat(20_000));
    await page.locator('#files').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer });
    await page.getByRole('status').filter({ hasText: 'Reading a.txt' }).waitFor();
    await page.reload();
    await page.getByRole('status').filter({ hasText: 'Reading earlier texts' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Ready.' }).waitFor({ timeout: 60_000 });
  });

  it('reads a file again that is picked again, and still has it at the next visit', async () => {
    const page = await open('rag');
    await page.locator('button[name=send]:enabled').waitFor();
    const pick = (text: string) =>
      page
        .locator('#files')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await pick('word '.repeat(1000));
    await page
      .getByRole('status')
      .filter({ hasText: /^\d\d? passages/ })
      .waitFor();
    await pick(birds);
    await page
      .getByRole('status')
      .filter({ hasText: /^1 passages/ })
      .waitFor();
    expect(await page.locator('#texts li').count()).toBe(1);
    await page.reload();
    await page.locator('button[name=send]:enabled').waitFor();
    expect(await page.locator('#texts li').allTextContents()).toEqual(['a.txt']);
  });
});

describe('tools', () => {
  /** A template that leaves room for some turns in the 512 tokens of the model's context. */
  const terse =
    '{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}' +
    '{% for m in messages %}{{ m.role }}: {{ m.content }}{% for call in m.tool_calls or [] %}' +
    '<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %} {% endfor %}';
  const call = (name: string, given: object) =>
    `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;

  /**
   * Opens the page with a model that gives these answers. A grammar lets the real model write nothing
   * else, so all that reads calls and results is real.
   */
  async function openScripted(answers: string[]): Promise<Page> {
    const { page } = await visit();
    const grammars = answers.map((answer) => exactly(answer));
    await page.addInitScript((given) => {
      Object.assign(globalThis, { grammars: given, prompts: [] });
    }, grammars);
    await page.goto(`${served.url}tools/`);
    await page.locator('button:enabled').waitFor();
    return page;
  }

  beforeAll(() => {
    const inTools = (name: string) => join(folder, 'tools', name);
    writeFileSync(inTools('model.gguf'), withChatTemplate(readFileSync(storyModel), terse));
    renameSync(inTools('kinglet/index.js'), inTools('kinglet/package.js'));
    writeFileSync(
      inTools('kinglet/index.js'),
      `import { Kinglet } from './package.js';
       export * from './package.js';
       const load = Kinglet.load;
       Kinglet.load = async (...given) => {
         const model = await load(...given);
         const { chat } = model;
         model.chat = (messages, options) => {
           prompts.push(structuredClone(messages));
           return chat.call(model, messages, { ...options, grammar: grammars.shift() });
         };
         return model;
       };`,
    );
  });

  /** Asks, and waits until the model has given its last answer. */
  async function ask(page: Page, question: string) {
    await page.locator('input').fill(question);
    await page.locator('input').press('Enter');
    await page.waitForFunction(
      () => (globalThis as unknown as { grammars: string[] }).grammars.length === 0,
    );
    await page.locator('button:enabled').waitFor();
    return {
      calls: await page.locator('#calls li').allTextContents(),
      answer: await page.locator('#answer').textContent(),
      status: await page.getByRole('status').textContent(),
      prompts: await page.evaluate(() => (globalThis as unknown as { prompts: object[] }).prompts),
    };
  }

  it('calls what the model asks for, and gives it the results, until it answers', async () => {
    const page = await openScripted([
      call('add', { numbers: [2, 3] }),
      call('add', { numbers: [5, 4] }) + call('get_time', { zone: 'Nowhere' }),
      'It is 9.',
    ]);
    expect(await page.getByRole('status').textContent()).toBe('Ready.');
    const { calls, answer, status, prompts } = await ask(page, 'What is 2 and 3 and 4?');
    expect(calls).toEqual([
      'add({"numbers":[2,3]}) → 5',
      'add({"numbers":[5,4]}) → 9',
      expect.stringMatching(/^get_time\(\{"zone":"Nowhere"\}\) → \{"error":".+Nowhere.*"\}$/),
    ]);
    expect(answer).toBe('It is 9.');
    expect(status).toBe('');
    expect(prompts).toHaveLength(3);
    expect(prompts[2]).toMatchObject([
      { role: 'user', content: 'What is 2 and 3 and 4?' },
      {
        role: 'assistant',
        tool_calls: [{ function: { name: 'add', arguments: '{"numbers":[2,3]}' } }],
      },
      { role: 'tool', name: 'add', content: '5' },
      { role: 'assistant', tool_calls: [{}, {}] },
      { role: 'tool', name: 'add', content: '9' },
      { role: 'tool', name: 'get_time', content: expect.stringContaining('error') as string },
    ]);
  });

  it('ends a model that only calls, and says so; a call of what is not there is no call', async () => {
    const again = call('add', { numbers: [2, 3] });
    const page = await openScripted(Array.from({ length: 5 }, () => again));
    const { calls, status } = await ask(page, 'What is 2 and 3?');
    expect(calls).toEqual(Array.from({ length: 5 }, () => 'add({"numbers":[2,3]}) → 5'));
    expect(status).toBe('No answer after 5 steps.');
    const other = await openScripted([call('constructor', {})]);
    const { calls: none, answer } = await ask(other, 'What is 2 and 3?');
    expect(none).toEqual([]);
    expect(answer).toBe(call('constructor', {}));
  });
});

describe('offline', () => {
  it.each([
    ['sets the headers for threads', true],
    ['sets none', false],
  ])('works without a network after one visit, if the host %s', async (_, isolated) => {
    const headers = { 'Content-Security-Policy': policy };
    const { server, url } = await serve(join(folder, 'offline'), { isolated, headers });
    const { page, context } = await visit();
    const asked: string[] = [];
    server.on('request', ({ url: path }) => asked.push(path!));
    await page.goto(url);
    const answer = async () => {
      await page.getByRole('button', { name: 'Send', disabled: false }).waitFor();
      await page.getByRole('textbox').fill('Once upon a time');
      await page.getByRole('textbox').press('Enter');
      await page.locator('kinglet-chat [role=log][aria-busy=false] [part~=assistant]').waitFor();
      expect(await page.locator('kinglet-chat [part~=assistant]').textContent()).not.toBe('');
      return page.evaluate(() => {
        const { model } = document.querySelector('kinglet-chat')!.chat.getState();
        return { isIsolated: crossOriginIsolated, variant: model!.info.runtime.variant };
      });
    };
    const first = await answer();
    expect(first.isIsolated).toBe(true); // the service worker sees to it
    expect(asked.filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
    await context.setOffline(true);
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    const before = asked.length;
    await page.reload();
    expect(await answer()).toEqual(first);
    expect(asked).toHaveLength(before);
    const kept = await page.evaluate(async () => {
      const cache = await caches.open('kinglet offline');
      return (await cache.keys()).map((request) => new URL(request.url).pathname);
    });
    expect(kept).toContain(`/kinglet/engine/kinglet-${first.variant}.wasm`);
    expect(kept.filter((path) => path.endsWith('.gguf'))).toEqual([]);
  });

  it('answers with what the network gives where that cannot be kept', async () => {
    const headers = { 'Content-Security-Policy': policy, Vary: '*' };
    const { url } = await serve(join(folder, 'offline'), { isolated: false, headers });
    const { page } = await visit();
    await page.goto(url);
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor();
    const [isIsolated, status, length] = await page.evaluate(async () => {
      const part = await fetch('style.css', { headers: { Range: 'bytes=0-3' } });
      return [crossOriginIsolated, part.status, (await part.text()).length];
    });
    expect({ isIsolated, status, length }).toEqual({ isIsolated: true, status: 206, length: 4 });
  });
});
