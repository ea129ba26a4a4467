// Runs the code blocks of the guide and the pages next to it in Chromium, without their types. They
// must not fail, and must print the block of text that follows them, if there is one. The code of all
// manuals is compiled under every strict option.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rolldown } from 'rolldown';
import ts from 'typescript';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { pdfOf } from './pdf.ts';
import { compileStrictly } from './strict-types.ts';
import { root, storyModel, withChatTemplate } from './support.ts';

interface Recipe {
  heading: string;
  code: string;
  /** What the code prints; undefined if the guide does not say. */
  output: string | undefined;
}

function recipes(markdown: string): Recipe[] {
  const found: Recipe[] = [];
  const parts = /^## (.+)$|^```[jt]s\n([\s\S]*?)^```$(?:\s*^```text\n([\s\S]*?)^```$)?/gm;
  let heading = '';
  for (const [, title, code, output] of markdown.matchAll(parts)) {
    if (title !== undefined) heading = title;
    else if (code !== undefined) found.push({ heading, code, output });
  }
  return found;
}

const folder = join(root, 'build/guide');
/** The other packages that recipes use, and the names of their bundles. */
const clients = {
  ...{ ai: 'ai', openai: 'openai', '@langchain/openai': 'langchain' },
  'pdfjs-dist': 'pdf',
};
const imports = Object.fromEntries([
  ['kinglet', './kinglet/index.js'],
  ...['catalogue', 'here', 'openai', 'ai-sdk', 'prompt-api', 'search'].map((name) => [
    `kinglet/${name}`,
    `./kinglet/${name}/index.js`,
  ]),
  ...Object.entries(clients).map(([name, file]) => [name, `./clients/${file}.js`]),
]) as Record<string, string>;

async function bundleClients(): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(clients).map(([name, file]) => [file, name])),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  await bundle.write({ dir: join(folder, 'clients'), format: 'es', entryFileNames: '[name].js' });
  await bundle.close();
}

let browser: Browser;
let served: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'kinglet'), { recursive: true });
  await bundleClients();
  const template = '{% for m in messages %}{{ m.content }}\n{% endfor %}';
  writeFileSync(
    join(folder, 'model.gguf'),
    withChatTemplate(readFileSync(storyModel), template.replace('\n', '')),
  );
  const encoders = join(root, 'tests/fixtures/encoder');
  cpSync(join(encoders, 'nomic-bert.gguf'), join(folder, 'embedder.gguf'));
  cpSync(join(encoders, 'jina-bert-v2-rerank.gguf'), join(folder, 'reranker.gguf'));
  const pdfWorker = 'pdf.worker.min.mjs';
  cpSync(join(root, 'node_modules/pdfjs-dist/build', pdfWorker), join(folder, pdfWorker));
  writeFileSync(join(folder, 'rules.pdf'), pdfOf([['Books may be kept for four weeks.']]));
  writeFileSync(
    join(folder, 'seeing-model.gguf'),
    withChatTemplate(readFileSync(join(root, 'tests/fixtures/arch/smollm3.gguf')), template),
  );
  cpSync(join(root, 'tests/fixtures/vision/idefics3-old.gguf'), join(folder, 'mmproj.gguf'));
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><link rel="icon" href="data:,">' +
      `<script type="importmap">${JSON.stringify({ imports })}</script>`,
  );
  served = await serve(folder, { isolated: false });
  browser = await launchHeadlessShell();
});
afterAll(async () => {
  await browser.close();
  served.server.closeAllConnections();
  served.server.close();
});

/** Runs a module in a new page; returns what the module prints. */
async function run(code: string): Promise<string> {
  const page = await browser.newPage();
  const printed: string[] = [];
  page.on('console', (message) => printed.push(`${message.text()}\n`));
  page.on('pageerror', (error) => printed.push(`${String(error)}\n`));
  try {
    await page.goto(served.url);
    const content = `${ts.transpile(code, { target: ts.ScriptTarget.ESNext })}\nglobalThis.isDone = true;`;
    await page.addScriptTag({ type: 'module', content });
    const isOver = () => (globalThis as { isDone?: boolean }).isDone === true;
    await page
      .waitForFunction(isOver, undefined, { timeout: 20_000 })
      .catch(() => printed.push('… and did not end\n'));
  } finally {
    await page.close();
  }
  return printed.join('');
}

describe.each([
  ['guide.md', 8],
  ['openai.md', 2],
  ['ai-sdk.md', 2],
  ['prompt-api.md', 1],
])('%s', (name, atLeast) => {
  const guide = readFileSync(join(root, 'docs', name), 'utf8');
  const found = recipes(guide);

  it('has no code that is not run', () => {
    expect(found.length).toBeGreaterThan(atLeast);
    expect(guide.match(/^```(js|ts|html)/gm)).toHaveLength(found.length);
  });

  it.each(found.map((recipe, i) => [i + 1, recipe.heading, recipe] as const))(
    'recipe %i: %s',
    { timeout: 60_000 },
    async (_, __, { code, output }) => {
      const printed = await run(code);
      if (output === undefined) expect(printed).toBe('');
      else expect(printed).toBe(output);
    },
  );
});

describe('the code of a manual', () => {
  /** The code blocks of all manuals as TypeScript, by names that say where they are. */
  const blocks = ['README.md', ...readdirSync(join(root, 'docs'))].flatMap((name) => {
    if (!name.endsWith('.md')) return [];
    const text = readFileSync(join(root, name === 'README.md' ? '.' : 'docs', name), 'utf8');
    return [...text.matchAll(/^```(js|ts|html)\n([^]*?)^```$/gm)].map(([, kind, code], i) => {
      const [, script = code!] =
        kind === 'html' ? /<script type="module">([^]*)<\/script>/.exec(code!)! : [];
      return [`${name.replace('.md', '')}-${String(i + 1)}.ts`, `${script}\nexport {};\n`] as const;
    });
  });

  it('compiles under every strict option', { timeout: 120_000 }, () => {
    expect(blocks.length).toBeGreaterThan(40);
    const types = join(folder, 'types');
    const cdn = { 'https://*': [join(root, 'dist/index.d.ts')] };
    expect(compileStrictly(types, Object.fromEntries(blocks), { paths: cdn })).toEqual([]);
  });
});
