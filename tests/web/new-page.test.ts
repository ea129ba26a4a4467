// npx kinglet new, from the packed package: each page that it makes is opened in Chromium.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createServer } from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { accessibilityFaults, beyondTheEdge } from './demo-page.ts';
import { addPacked, installPacked } from './packed.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

const chatTemplate = '{% for m in messages %}{{ m.content }}\n{% endfor %}';

let browser: Browser;
let folder: string;
let program: string;
let version: string;
beforeAll(async () => {
  ({ folder } = installPacked('new-page'));
  const installed = join(folder, 'node_modules/kinglet');
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    bin: { kinglet: string };
    version: string;
  };
  ({ version } = manifest);
  program = join(installed, manifest.bin.kinglet);
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
});

function kinglet(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    ...{ cwd: folder, encoding: 'utf8' },
  });
  return { status, stdout, stderr };
}

const enabled = (selector: string) => (page: Page) => page.locator(`${selector}:enabled`).waitFor();

async function served(page: string) {
  const { server, url } = await serve(page, { isolated: false });
  const close = () => {
    server.closeAllConnections();
    return Promise.resolve(server.close());
  };
  return { url, close };
}

/** What `npm install` and `npm run dev` do. React is found in the folders above. */
async function developed(page: string) {
  addPacked(page);
  const server = await createServer({
    ...{ root: page, configFile: join(page, 'vite.config.js'), logLevel: 'error' },
    ...{ cacheDir: join(page, 'cache'), server: { port: 0, host: '127.0.0.1' } },
  });
  await server.listen();
  const address = server.httpServer!.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return { url: `http://127.0.0.1:${String(address.port)}/`, close: () => server.close() };
}

/** How bright the background behind the page is, from 0 to 1: the body's, or that of its root. */
function brightnessOfPage(): number {
  const channels = [document.body, document.documentElement]
    .map((element) =>
      getComputedStyle(element)
        .backgroundColor.match(/[\d.]+/g)!
        .map(Number),
    )
    .find(([, , , alpha = 1]) => alpha > 0);
  return channels ? (channels[0]! + channels[1]! + channels[2]!) / 765 : 1; // none of its own
}

describe('a page for each template', () => {
  it.each([
    ['chat', enabled('button[name=send]')],
    ['element', enabled('kinglet-chat button[part~=send]')],
    ['rag', enabled('button[name=send]')],
    ['tools', enabled('button[name=send]')],
    ['offline', enabled('kinglet-chat button[part~=send]')],
    [
      'react',
      async (page: Page) => {
        await page.locator('input').fill('Once upon a time');
        await enabled('button')(page);
      },
    ],
  ])('%s', async (template, ready) => {
    const name = `My ${template} page`;
    const { status, stdout, stderr } = kinglet('new', name, '--template', template);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const page = join(folder, name);
    const isBuilt = existsSync(join(page, 'package.json'));
    expect(isBuilt).toBe(template === 'react');
    const commands = stdout.split('\n').filter((line) => line.startsWith('  '));
    expect(commands[0]).toBe(`  cd ${JSON.stringify(name)}`);
    // The models that are named are put where the commands put them.
    const models = commands.flatMap((command) => / -o (\S+) https:/.exec(command)?.[1] ?? []);
    expect(models).toHaveLength(template === 'rag' ? 2 : 1);
    const model = withChatTemplate(readFileSync(storyModel), '{{ messages[-1].content }}');
    for (const file of models) {
      mkdirSync(join(page, file, '..'), { recursive: true });
      if (file === 'embedder.gguf') {
        cpSync(join(root, 'tests/fixtures/encoder/nomic-bert.gguf'), join(page, file));
      } else writeFileSync(join(page, file), model);
    }
    if (isBuilt) {
      expect(commands.slice(-2)).toEqual(['  npm install', '  npm run dev']);
      expect(stdout).toContain(`npm install PATH/kinglet-${version}.tgz`);
      const manifest = JSON.parse(readFileSync(join(page, 'package.json'), 'utf8')) as object;
      expect(manifest).toMatchObject({
        name: 'my-react-page',
        dependencies: { kinglet: `^${version}` },
      });
    }
    const { url, close } = await (isBuilt ? developed(page) : served(page));
    const opened = await browser.newPage();
    const errors: string[] = [];
    opened.on('pageerror', (error) => errors.push(error.message));
    onTestFinished(async () => {
      await opened.close();
      await close();
      expect(errors).toEqual([]);
    });
    await opened.goto(url);
    await opened.waitForFunction(() => crossOriginIsolated); // so that it has threads
    await ready(opened);
    for (const colorScheme of ['light', 'dark'] as const) {
      await opened.emulateMedia({ colorScheme });
      const brightness = await opened.evaluate(brightnessOfPage);
      expect(brightness < 0.5).toBe(colorScheme === 'dark');
      for (const [width, height] of [
        [1280, 800],
        [375, 740],
        [320, 568],
      ] as const) {
        await opened.setViewportSize({ width, height });
        expect(await beyondTheEdge(opened)).toEqual([]);
      }
      expect(await accessibilityFaults(opened)).toEqual([]);
    }
  });
});

describe('kinglet', () => {
  it('explains itself', () => {
    const help = kinglet('--help');
    expect(help.status).toBe(0);
    for (const name of ['chat', 'react', 'element', 'rag', 'tools', 'offline', 'extension']) {
      expect(help.stdout).toContain(`  ${name} `);
    }
    expect(kinglet()).toEqual(help);
    expect(kinglet('--version').stdout).toBe(`kinglet ${version}\n`);
  });

  it.each([
    [
      ['new', 'x', '--template', 'reakt'],
      /^kinglet: unknown template "reakt"; did you mean react\?\n {2}chat /,
    ],
    [
      ['new', 'x', '-t', 'game'],
      /^kinglet: unknown template "game"; these are the templates:\n {2}chat /,
    ],
    [
      ['new', 'x', '--tempalte=chat'],
      /^kinglet: kinglet has no option "--tempalte"; did you mean --template\?\n$/,
    ],
    [
      ['new', 'x', '--fast'],
      /^kinglet: kinglet has no option "--fast"; kinglet --help lists them\n$/,
    ],
    [['new', 'x', '--template'], /^kinglet: a name is missing: --template NAME\n$/],
    [['new'], /^kinglet: a folder is missing: kinglet new FOLDER\n$/],
    [['new', 'x', 'y'], /^kinglet: expected one folder, found "y" after it\n$/],
    [['make', 'x'], /^kinglet: kinglet has no command "make"; kinglet new FOLDER makes a page\n$/],
    [['serve', '-m', 'x'], /^kinglet: serve is a command of the program, .*: docs\/program\.md\./],
    [['new', 'x'.repeat(300)], /^kinglet: the page cannot be written: ENAMETOOLONG[^\n]*\n$/],
  ])('refuses %j', (args, message) => {
    const { status, stdout, stderr } = kinglet(...args);
    expect(stderr).toMatch(message);
    expect([status, stdout]).toEqual([1, '']);
    expect(existsSync(join(folder, 'x'))).toBe(false);
  });

  it('says how to enter a folder whose name looks like an option', () => {
    expect(kinglet('new', '--', '-weird').stdout).toContain('\n  cd ./-weird\n');
  });

  it('makes an extension, and says how to load it', () => {
    const { status, stdout } = kinglet('new', 'my-extension', '-t', 'extension');
    expect(status).toBe(0);
    expect(stdout).toContain('chrome://extensions');
    expect(stdout).toContain('about:debugging');
    expect(readdirSync(join(folder, 'my-extension'))).not.toContain('isolate.js');
  });

  it('writes into an empty folder, and into no other', () => {
    const place = (name: string) => join(folder, name);
    mkdirSync(place('empty'));
    expect(kinglet('new', 'empty').status).toBe(0);
    expect(readdirSync(place('empty')).sort()).toEqual([
      'index.html',
      'isolate.js',
      'kinglet',
      'main.js',
      'style.css',
    ]);
    mkdirSync(place('full'));
    writeFileSync(place('full/notes.txt'), 'mine');
    const refused = kinglet('new', 'full');
    expect(refused.stderr).toMatch(/^kinglet: .*full is not empty: name another folder\n$/);
    expect(refused.status).toBe(1);
    expect(readdirSync(place('full'))).toEqual(['notes.txt']);
    symlinkSync(place('nowhere'), place('dangling'));
    expect(kinglet('new', 'dangling').stderr).toMatch(
      /^kinglet: .*dangling is a link to a folder that does not exist: name another folder\n$/,
    );
    mkdirSync(place('target'));
    symlinkSync(place('target'), place('link'));
    expect(kinglet('new', 'link').status).toBe(0);
    expect(readdirSync(place('target'))).toContain('index.html');
    const file = kinglet('new', 'full/notes.txt');
    expect(file.stderr).toMatch(/notes\.txt cannot be used as a folder: ENOTDIR/);
    expect(readFileSync(place('full/notes.txt'), 'utf8')).toBe('mine');
  });

  it('prepares the beginning of a conversation', () => {
    const place = (name: string) => join(folder, name);
    writeFileSync(place('model.gguf'), withChatTemplate(readFileSync(storyModel), chatTemplate));
    writeFileSync(place('system.txt'), 'You tell stories to children. '.repeat(9));
    writeFileSync(place('messages.json'), '[{"role": "user", "content": "Tell me one."}]');
    writeFileSync(place('empty.json'), '[]');
    writeFileSync(place('two-lines.txt'), 'two\nlines');
    const model = ['prepare', '-m', 'model.gguf'];
    const given = ['--system', 'system.txt', '--messages', 'messages.json', '--kv', 'q8'];
    const made = kinglet(...model, ...given, '-o', 'page.kprompt');
    expect(made).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringMatching(/MB\n$/) as string,
    });
    expect(readFileSync(place('page.kprompt'), 'latin1')).toMatch(/^KGLS/);
    for (const [args, message] of [
      [model, /^kinglet: --output is missing\n$/],
      [[...model, '-o', 'x'], /^kinglet: --system or --messages is missing\n$/],
      [
        [...model, '-o', 'x', '--messages', 'empty.json'],
        /^kinglet: empty\.json: .* one message\n$/,
      ],
      [[...model, '-o', 'x', '--tools', 'two-lines.txt'], /^kinglet: two-lines\.txt: [^\n]*\n$/],
      [[...model, '-o', 'x', '--system', 'none.txt'], /^kinglet: ENOENT.*none\.txt/],
      [[...model, '-o', 'x', '--tools', 'system.txt'], /^kinglet: system\.txt: .*JSON/],
    ] as const) {
      expect(kinglet(...args)).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(message) as string,
      });
    }
    expect(existsSync(place('x'))).toBe(false);
    expect(kinglet('prepare', '--help').stdout).toMatch(/^Usage: kinglet prepare /);
  });
});
