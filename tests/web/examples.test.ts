// Builds the example projects from the packed package and opens them in Chromium, with the headers
// for threads and without them. The content security policy allows no eval, inline script or blob.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { complaintsOf } from './complaints.ts';
import { installPacked } from './packed.ts';
import { root, storyModel, tellByCli, withChatTemplate } from './support.ts';

const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; " +
  "connect-src 'self'; img-src data:";

let browser: Browser;
let folder: string;
beforeAll(async () => {
  ({ folder } = installPacked('examples'));
  cpSync(join(root, 'examples'), folder, { recursive: true });
  // As kinglet new does.
  cpSync(join(folder, 'style.css'), join(folder, 'react/style.css'));
  cpSync(join(root, 'dist/isolate.js'), join(folder, 'react/public/isolate.js'));
  cpSync(join(folder, 'node_modules/kinglet/dist'), join(folder, 'script-module/kinglet'), {
    recursive: true,
  });
  browser = await launchHeadlessShell();
}, 180_000);
afterAll(async () => {
  await browser.close();
});

/** Runs a program of this project in an example's folder, where it finds the packed package. */
function build(example: string, program: string, args: string[]): void {
  execFileSync(process.execPath, [join(root, 'node_modules', program), ...args], {
    ...{ cwd: join(folder, example), stdio: 'pipe', encoding: 'utf8' },
  });
}

/** Asks the page; returns the paths of the wasm modules that the page has fetched. */
async function chat(served: string, isolated: boolean, hasThreads: boolean): Promise<string[]> {
  // In longer stories, the kernels of page and program may differ by a near tie.
  const expected = tellByCli('Once upon a time', 60);
  const model = withChatTemplate(readFileSync(storyModel), '{{ messages[0].content }}');
  writeFileSync(join(served, 'model.gguf'), model);
  const headers = { 'Content-Security-Policy': `${policy}; style-src 'self'` };
  const { server, url } = await serve(served, { isolated, headers });
  const fetched: string[] = [];
  server.on('request', ({ url: path = '' }) => {
    if (path.endsWith('.wasm')) fetched.push(path);
  });
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  try {
    await page.goto(`${url}?threads=2`);
    await page.waitForFunction((wanted) => crossOriginIsolated === wanted, hasThreads);
    // React's page enables its button for a question, the others once the model is there.
    await page.locator('input').fill('Once upon a time');
    await page.locator('button:enabled').click();
    const answer = page.locator('output, .assistant');
    await expect.poll(() => answer.textContent()).toContain(expected);
    await page.locator('button', { hasText: 'Send' }).waitFor();
    expect((await answer.textContent())!.startsWith(expected)).toBe(true);
    expect(complaints).toEqual([]);
    return fetched;
  } finally {
    await page.close();
    server.closeAllConnections();
    server.close();
  }
}

describe.each([
  { example: 'vite', served: 'vite/dist', program: 'vite/bin/vite.js', args: ['build'] },
  { example: 'react', served: 'react/dist', program: 'vite/bin/vite.js', args: ['build'] },
  { example: 'webpack', served: 'webpack', program: 'webpack/bin/webpack.js', args: [] },
  { example: 'script-module', served: 'script-module', program: undefined, args: [] },
])('the example for $example', ({ example, served, program, args }) => {
  it('builds', { timeout: 120_000 }, () => {
    if (program) build(example, program, args);
  });

  it.each([
    ['with', true],
    ['without', false],
  ])('answers %s isolation headers', async (_, isolated) => {
    const hasThreads = isolated || example === 'react'; // which adds the headers itself
    const fetched = await chat(join(folder, served), isolated, hasThreads);
    // One build of the engine, under the bundler's name. A page that adds the headers itself may have
    // begun to load another one before it loads again with them.
    const reloads = hasThreads && !isolated;
    expect(reloads ? fetched.slice(-1) : fetched).toHaveLength(1);
    const found = readFileSync(join(folder, served, fetched.at(-1)!));
    const engine = `kinglet-relaxed-simd${hasThreads ? '-threads' : ''}.wasm`;
    expect(found.equals(readFileSync(join(root, 'dist/engine', engine)))).toBe(true);
  });
});
