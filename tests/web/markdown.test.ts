// The Markdown view of `kinglet/markdown` in headless Chromium, with texts that a model may write.
import { rolldown } from 'rolldown';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { root } from './support.ts';

declare const markdown: typeof import('../../web/src/markdown/index.ts');

let browser: Browser;
let page: Page;
beforeAll(async () => {
  const bundle = await rolldown({ cwd: root, input: 'web/src/markdown/index.ts' });
  const { output } = await bundle.generate({ format: 'iife', name: 'markdown' });
  await bundle.close();
  browser = await launchHeadlessShell();
  page = await browser.newPage();
  await page.setContent('<div id="answer" class="markdown"></div>');
  await page.addScriptTag({ content: output[0].code });
});
afterAll(() => browser.close());

/** Returns what is on the page after the text has come in pieces of `pieceLength` characters. */
function drawn(text: string, pieceLength = text.length) {
  return page.evaluate(
    ([whole, step]) => {
      const element = document.querySelector('#answer')!;
      element.replaceChildren();
      const view = new markdown.MarkdownView(element as HTMLElement);
      for (let end = step; end < whole.length + step; end += step) view.update(whole.slice(0, end));
      const elements = [...element.querySelectorAll('*')];
      return {
        html: element.innerHTML,
        text: element.textContent,
        tags: elements.map(({ localName }) => localName),
        attributes: elements.flatMap(({ attributes }) =>
          [...attributes].map(({ name, value }) => `${name}=${value}`),
        ),
      };
    },
    [text, pieceLength] as const,
  );
}

describe('Markdown', () => {
  it('shows which tasks are done', async () => {
    expect((await drawn('- [x] fed\n- [ ] walked\n')).text).toBe('\n☑ fed\n☐ walked\n\n');
    expect((await drawn('1. [X] fed\n\n2. [ ] walked\n')).text).toContain('☑ fed');
  });

  it('shows a picture as a link to it, with its text', async () => {
    const link = (href: string, text: string) =>
      `<a href="${href}" target="_blank" rel="noopener noreferrer">${text}</a>`;
    const shown = async (text: string) => (await drawn(text)).html.replace(/^<p>|<\/p>\n$/g, '');
    const dog = 'https://example.com/dog.png';
    expect(await shown(`A ![big *dog* & cat](${dog})!`)).toBe(
      `A ${link(dog, 'big dog &amp; cat')}!`,
    );
    expect(await shown(`![](${dog})`)).toBe(link(dog, dog));
    expect(await shown(`![a [cat](https://a.b)](${dog})`)).toBe(link(dog, 'a cat'));
    expect(await shown(`[*see* *![the dog](${dog})*](https://a.b) ![d](${dog})`)).toBe(
      `${link('https://a.b', '<em>see</em> <em>the dog</em>')} ${link(dog, 'd')}`,
    );
  });

  it('links what came before its address, and draws nothing else again', async () => {
    const text =
      'Bees fly.\n\nSee [the book][1], [2] and [^3].\n\n- last\n\n' +
      '[1]: https://example.com/1 "Bees"\n\n[2]: https://example.com/2\n[^3]: https://example.com/3';
    const whole = await drawn(text);
    expect(whole.attributes).toContain('href=https://example.com/2');
    expect(whole.attributes).toContain('title=Bees');
    expect(await drawn(text, 1)).toEqual(whole);
    const areKept = await page.evaluate((all) => {
      const element = document.querySelector('#answer')!;
      element.replaceChildren();
      const view = new markdown.MarkdownView(element as HTMLElement);
      view.update(all.slice(0, all.indexOf('[2]: ')));
      const [first, second] = element.children;
      view.update(all);
      return [first === element.children[0], second === element.children[1]];
    }, text);
    expect(areKept).toEqual([true, false]);
  });
});

describe('hostile Markdown', () => {
  it.each([
    ['a script', '<script>globalThis.harmed = true</script>'],
    ['a handler', '<b onclick="harmed = true" onmouseover=harmed=true>bold</b>'],
    ['a picture', '![x](https://example.com/x.png) <img src=x onerror="harmed = true">'],
    ['a picture that runs', '![x](javascript:harmed=true) ![x](data:text/html,<script>1</script>)'],
    ['a frame', '<iframe srcdoc="<script>parent.harmed = true</script>"></iframe>'],
    ['a form', '<form action="https://example.com"><input name=a><button>Log in</button></form>'],
    ['a style', '<style>body { display: none }</style><p style="position: fixed">over</p>'],
    ['an address that runs', '[run](javascript:harmed=true) [run](JaVaScRiPt:harmed=true)'],
    ['an address with data', '[run](data:text/html,<script>1</script>) [v](vbscript:x)'],
    ['a drawing', '<svg onload="harmed = true"><a xlink:href="javascript:harmed=true">x</a></svg>'],
    [
      'mathematics',
      '<math><mtext><style><img src=x onerror="harmed = true"></style></mtext></math>',
    ],
    ['a name of the page', '<a id="prompt" name="prompt">x</a><p id=send>y</p>'],
  ])('leaves no harm after: %s', async (_, text) => {
    for (const step of [text.length, 1]) {
      const { tags, attributes } = await drawn(text, step);
      expect(tags.filter((tag) => !['p', 'a', 'em'].includes(tag))).toEqual([]);
      for (const attribute of attributes) expect(attribute).toMatch(/^(?:target|rel|href)=/);
      for (const attribute of attributes) expect(attribute).not.toMatch(/script:|data:/i);
    }
    expect(await page.evaluate(() => 'harmed' in globalThis)).toBe(false);
  });

  it('is text that the reader sees', async () => {
    const { text } = await drawn('Use <b>bold</b>:\n\n<script>go()</script>\n\na<br>b');
    expect(text).toContain('Use <b>bold</b>:');
    expect(text).toContain('<script>go()</script>');
    expect((await drawn('a<br>b')).html).toBe('<p>a<br>b</p>\n');
  });

  it('opens what it links to elsewhere, without a way back', async () => {
    const { html } = await drawn('[bird](https://example.com/)');
    expect(html).toContain('target="_blank" rel="noopener noreferrer"');
  });

  it('is drawn where a fence is never closed, the same in one piece and in many', async () => {
    const text = 'Look:\n\n```js\nconst a = 1;\n\n<script>harmed = true</script>\n\n- b';
    const whole = await drawn(text);
    expect(whole.text).toContain('const a = 1;\n\n<script>harmed = true</script>\n\n- b');
    expect(await drawn(text, 1)).toEqual(whole);
  });

  it.each([
    ['quotes', '>'.repeat(100_000)],
    ['quotes with spaces', '> '.repeat(50_000) + 'x'],
    ['list items', '- '.repeat(50_000) + 'x'],
    ['numbered items', '1. '.repeat(30_000) + 'x'],
    ['quoted items', '> - '.repeat(20_000) + 'x'],
    ['brackets', '['.repeat(20_000)],
    ['stars', '*a **b '.repeat(3000)],
    ['backticks', '`'.repeat(50_000)],
    ['tags', '<b>'.repeat(20_000)],
    ['cells', '|a'.repeat(5000) + '\n' + '|-'.repeat(5000)],
  ])('does not stop the page: %s', async (_, text) => {
    await drawn(text, Math.ceil(text.length / 4));
    expect(await drawn('*fine*')).toMatchObject({ html: '<p><em>fine</em></p>\n' });
  });

  it('is still Markdown with rules and lists of the usual depth', async () => {
    expect((await drawn('- '.repeat(30))).html).toBe('<hr>\n');
    expect((await drawn('- a\n  - b\n    - c\n')).html).toContain('<li>c</li>');
    expect((await drawn('> > > deep')).html.match(/<blockquote>/g)).toHaveLength(3);
  });
});
