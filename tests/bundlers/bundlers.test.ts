// Builds small pages from the packed package with each bundler, as its users would, and opens them
// in Chromium. The examples test Vite 8, webpack and a page without a bundler too. If a bundler
// needs a setting, the error message must name it.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import type * as Vite from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { serve } from '../../scripts/serve.mjs';
import { addPacked } from '../web/packed.ts';
import { root, storyModel, tellByCli } from '../web/support.ts';

const folder = join(root, 'build/bundlers');
const inFolder = (...path: string[]) => join(folder, ...path);

let browser: Browser;
let story: string;
beforeAll(async () => {
  rmSync(inFolder('out'), { recursive: true, force: true });
  rmSync(inFolder('node_modules/.vite'), { recursive: true, force: true });
  addPacked(folder);
  mkdirSync(inFolder('public'), { recursive: true });
  copyFileSync(storyModel, inFolder('public/model.gguf'));
  story = tellByCli('Once upon a time', 40);
  browser = await launchHeadlessShell();
}, 120_000);
afterAll(async () => {
  await browser.close();
});

/** Runs a program of an installed package in the folder of the pages; returns its output. */
function run(program: string, args: string[], env: Record<string, string> = {}): string {
  return execFileSync(process.execPath, [inFolder('node_modules', program), ...args], {
    ...{ cwd: folder, stdio: 'pipe', encoding: 'utf8', env: { ...process.env, ...env } },
  });
}

/** Opens a page and returns the text that it shows at the end. */
async function read(url: string, load: object = {}): Promise<string | null> {
  const page = await browser.newPage();
  try {
    const address = new URL(url);
    address.searchParams.set('load', JSON.stringify(load));
    await page.goto(address.href);
    return await page.locator('output:not(:empty)').textContent();
  } finally {
    await page.close();
  }
}

/** Serves a folder together with the model and returns what read() returns for its page. */
async function open(built: string, page: string, load: object = {}): Promise<string | null> {
  copyFileSync(storyModel, join(built, 'model.gguf'));
  const { server, url } = await serve(built);
  try {
    return await read(url + page, load);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const importVite = (folderOfIt: string): Promise<typeof Vite> =>
  import(pathToFileURL(join(folderOfIt, 'dist/node/index.js')).href) as Promise<typeof Vite>;

function addressOf({ httpServer }: Vite.ViteDevServer): string {
  const address = httpServer?.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return `http://127.0.0.1:${String(address.port)}/`;
}

describe.each([
  { version: 5, place: inFolder('node_modules/vite5') },
  { version: 6, place: inFolder('node_modules/vite6') },
  { version: 7, place: inFolder('node_modules/vite7') },
  { version: 8, place: join(root, 'node_modules/vite') },
])('Vite $version', ({ version, place }) => {
  const common = { root: folder, configFile: false, logLevel: 'silent' } as const;

  it.each(['index.html', 'worker-query.html'])('builds a page that runs: %s', async (page) => {
    const vite = await importVite(place);
    const outDir = inFolder('out', `vite${String(version)}`, page);
    const bundling = { input: inFolder(page) };
    const options = version < 8 ? { rollupOptions: bundling } : { rolldownOptions: bundling };
    await vite.build({ ...common, base: './', build: { outDir, ...options } });
    expect(await open(outDir, page)).toBe(story);
  });

  /** Returns what the page shows when Vite's development server serves it. */
  const develop = async (optimizeDeps: Vite.DepOptimizationOptions) => {
    const vite = await importVite(place);
    const server = await vite.createServer({
      ...{ ...common, optimizeDeps, server: { port: 0, host: '127.0.0.1' } },
      cacheDir: inFolder('out/cache', String(version), String('exclude' in optimizeDeps)),
    });
    onTestFinished(() => server.close());
    await server.listen();
    return read(addressOf(server));
  };

  it('serves a page that runs while it is written', async () => {
    expect(await develop({ exclude: ['kinglet'] })).toBe(story);
  });

  it('runs, or says what its server lacks, without that setting', async () => {
    expect(await develop({})).toMatch(
      version === 8
        ? story
        : /^worker_unavailable: .*\/deps\/worker\/worker\.js.*optimizeDeps: \{ exclude: \['kinglet'\] \}/,
    );
  });
});

describe.each([
  {
    bundler: 'esbuild',
    build: (out: string) =>
      run('esbuild/bin/esbuild', [
        ...['main.js', '--bundle', '--format=esm', '--splitting', '--minify', `--outdir=${out}`],
      ]),
  },
  {
    bundler: 'Rollup',
    build: (out: string) =>
      run('rollup/dist/bin/rollup', [
        ...['main.js', '--dir', out, '--plugin', 'node-resolve', '--silent'],
      ]),
  },
])('$bundler', ({ bundler, build }) => {
  const out = inFolder('out', bundler);

  it('builds a page that says where it looked for the worker', async () => {
    build(out);
    copyFileSync(inFolder('index.html'), join(out, 'index.html'));
    expect(await open(out, '')).toMatch(
      /^worker_unavailable: .*http:\/\/localhost:\d+\/worker\/worker\.js: .*404.*workerUrl/,
    );
  });

  it('builds a page that runs beside a copy of the package', async () => {
    cpSync(inFolder('node_modules/kinglet/dist'), join(out, 'kinglet'), { recursive: true });
    expect(await open(out, '', { workerUrl: 'kinglet/worker/worker.js' })).toBe(story);
  });
});

describe('Next', () => {
  it('builds pages that run, and runs the model itself', { timeout: 240_000 }, async () => {
    execFileSync(process.execPath, [inFolder('node_modules/next/dist/bin/next'), 'build'], {
      ...{ cwd: inFolder('next'), stdio: 'pipe' },
      env: {
        ...process.env,
        ...{ NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
        MODEL: fileURLToPath(storyModel),
      },
    });
    const out = inFolder('next/out');
    expect(await open(out, '')).toBe(story);
    expect(await open(out, 'server.html')).toBe(story);
  });
});

describe('Node', () => {
  const program = `import { Kinglet } from 'kinglet';
    const model = await Kinglet.load('public/model.gguf', JSON.parse(process.argv[2] ?? '{}'));
    const story = model.generate('Once upon a time', { maxTokens: 40, temperature: 0 });
    process.stdout.write((await story.result).text);`;
  const node = (file: string, options: object = {}) =>
    spawnSync(process.execPath, [file, JSON.stringify(options)], { cwd: folder, encoding: 'utf8' });

  it('runs the package, bundled or not', () => {
    writeFileSync(inFolder('program.mjs'), program);
    expect(node('program.mjs')).toMatchObject({ stdout: story, stderr: '' });

    const out = 'out/node/program.mjs';
    const bundle = (...options: string[]) =>
      run('esbuild/bin/esbuild', [
        ...['program.mjs', '--bundle', '--platform=node', '--format=esm', `--outfile=${out}`],
        ...options,
      ]);
    bundle();
    expect(node(out).stderr).toMatch(
      /KingletError: the worker could not be started from file:\S+out\/node\/worker\/worker\.js/,
    );
    const workerUrl = 'node_modules/kinglet/dist/worker/worker.js';
    expect(node(out, { workerUrl })).toMatchObject({ stdout: story, stderr: '' });
    bundle('--external:kinglet');
    expect(node(out)).toMatchObject({ stdout: story, stderr: '' });
  });
});

describe('TypeScript 5.7', () => {
  it.each([
    { module: 'esnext', moduleResolution: 'bundler' },
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'node16', moduleResolution: 'node16' },
  ])('knows the types: $moduleResolution', (resolution) => {
    const compilerOptions = {
      ...{ noEmit: true, strict: true, types: [], target: 'es2022' },
      ...{ lib: ['es2022', 'dom'], ...resolution },
    };
    writeFileSync(
      inFolder('user.ts'),
      `import { Kinglet } from 'kinglet';
       import { openAI } from 'kinglet/openai';
       export const model: Kinglet = await Kinglet.load('model.gguf', { workerUrl: 'worker.js' });
       export const client = openAI(model);
       { using session = await model.newSession(); }`,
    );
    writeFileSync(
      inFolder('tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['user.ts'] }),
    );
    onTestFinished(() => {
      rmSync(inFolder('tsconfig.json'));
    });
    const { stdout } = spawnSync(process.execPath, [
      ...[inFolder('node_modules/typescript57/bin/tsc'), '-p', folder],
    ]);
    expect(String(stdout)).toBe('');
  });
});

it('the bundlers are pinned by hashes, and run no scripts when they are installed', () => {
  const lock = JSON.parse(readFileSync(inFolder('package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; resolved?: string }>;
  };
  for (const [name, { integrity, resolved }] of Object.entries(lock.packages)) {
    if (name !== '') expect(integrity, name).toMatch(/^sha512-/);
    expect(resolved, name).toBeUndefined();
  }
  expect(readFileSync(inFolder('.npmrc'), 'utf8')).toContain('ignore-scripts=true');
});
