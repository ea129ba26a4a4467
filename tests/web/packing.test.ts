// What npm would publish: only what is needed, all of it reachable, and importable anywhere.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { installPacked } from './packed.ts';
import type { Packed } from './packed.ts';
import { compileStrictly } from './strict-types.ts';
import { root } from './support.ts';

let folder: string;
let packed: Packed;
let installed: string;
beforeAll(() => {
  ({ folder, packed } = installPacked('packing'));
  installed = join(folder, 'node_modules/kinglet');
}, 180_000);

const text = (path: string) => readFileSync(join(installed, path), 'utf8');
const paths = (pattern: RegExp) =>
  packed.files.map(({ path }) => path).filter((path) => pattern.test(path));

/** Returns the anchors of a manual: its headings, as code hosts write them, and its own ids. */
function anchors(path: string): string[] {
  const headings = [...text(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text(path).matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id!)];
}

describe('the packed package', () => {
  it('has four builds of the engine, of which a page downloads one', () => {
    expect(paths(/\.wasm$/)).toHaveLength(4);
  });

  it('holds what is built, its licences and its manual, and nothing else', () => {
    const others = paths(
      /^(?!dist\/.*\.(js|js\.map|d\.ts|wasm)$|docs\/(measurements\/)?[\w-]+\.\w+$|examples\/)/,
    );
    expect(others.sort()).toEqual([
      ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'],
      ...[
        'bin/kinglet.mjs',
        'bin/prepare.mjs',
        'demo/models/README.md',
        'dist/third-party-licenses.txt',
        'package.json',
      ],
    ]);
  });

  it('says to the registry what it is', () => {
    const manifest = JSON.parse(text('package.json')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      license: 'MIT',
      description: expect.stringMatching(/GGUF/) as string,
      keywords: expect.arrayContaining(['llm', 'gguf']) as string[],
    });
    expect(manifest).not.toHaveProperty('private');
  });

  it('has what its manuals link to', () => {
    const manuals = paths(/\.md$/);
    expect(manuals).toContain('docs/guide.md');
    for (const path of manuals) {
      const prose = text(path).replaceAll(/^```[^]*?^```$/gm, '');
      for (const [, link] of prose.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)) {
        const [file = '', anchor] = link!.split('#');
        const target = file === '' ? path : join(dirname(path), file);
        expect(existsSync(join(installed, target)), `${link!} of ${path}`).toBe(true);
        if (anchor !== undefined) expect(anchors(target), path).toContain(anchor);
      }
    }
  });

  it('has every file that it names', () => {
    const { exports } = JSON.parse(text('package.json')) as {
      exports: Record<string, string | Record<string, string>>;
    };
    const targets = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    for (const target of targets) {
      expect(existsSync(join(installed, target)), target).toBe(true);
    }
    const modules = paths(/^dist\/(?!engine\/).*\.js$/);
    expect(modules).toContain('dist/worker/worker.js');
    for (const path of modules) {
      for (const [, name] of text(path).matchAll(/["'`](\.\.?\/[^"'`]+\.(?:js|wasm))["'`]/g)) {
        expect(existsSync(join(installed, dirname(path), name!)), `${name!} of ${path}`).toBe(true);
      }
    }
  });

  it('names no module of Node where a bundler for browsers would read it', () => {
    for (const path of paths(/^dist\/(?!engine\/).*\.js$/)) {
      expect(text(path), path).not.toMatch(/["'`]node:\w/);
    }
  });

  it('maps its modules to their sources', () => {
    const maps = paths(/\.js\.map$/);
    expect(maps).toContain('dist/worker/worker.js.map');
    for (const path of maps) {
      const map = JSON.parse(text(path)) as Record<'sources' | 'sourcesContent', string[]>;
      expect(map).toMatchObject({ mappings: expect.stringMatching(/./) as string });
      for (const [i, source] of map.sources.entries()) {
        const [, name] = /web\/(src\/.+\.ts)$/.exec(source) ?? [];
        if (name === undefined) {
          expect(source, path).toMatch(/node_modules\/(?:marked|dompurify)\//);
          continue;
        }
        expect(map.sourcesContent[i], path).toBe(readFileSync(join(root, 'web', name), 'utf8'));
      }
      expect(text(path.replace(/\.map$/, ''))).toContain('//# sourceMappingURL=');
    }
  });

  it('depends on nothing, and does nothing when it is imported, but define its element', () => {
    const manifest = JSON.parse(text('package.json')) as Record<string, unknown>;
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest.sideEffects).toEqual(['./dist/element/index.js', './dist/here/index.js']);
  });
});

describe('what README says to do before the package is published', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, block] = /^```sh\n(npm install && [^]*?)^```$/m.exec(readme)!;
  const commands = block!.trim().split('\n');
  // Without a network, and with a cache of its own: npx keeps what it has once unpacked.
  const settings = {
    npm_config_offline: 'true',
    npm_config_audit: 'false',
    npm_config_yes: 'true',
  };
  const sh = (command: string, cwd: string) =>
    spawnSync('sh', ['-c', command], {
      ...{ cwd, encoding: 'utf8', timeout: 60_000 },
      env: { ...process.env, ...settings, npm_config_cache: join(folder, 'npm') },
    });

  it('makes a project and a page from the tarball', { timeout: 120_000 }, () => {
    expect(commands).toHaveLength(3);
    const [inClone, ...inProject] = commands;
    const [install, build, pack] = inClone!.replace(/ *#.*/, '').split(' && ');
    expect([install, build]).toEqual(['npm install', 'npm run build']); // done before every test
    const clone = join(folder, 'readme/kinglet');
    const project = join(folder, 'readme/project');
    cpSync(installed, clone, { recursive: true }); // npm packs the same files of it again
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, 'package.json'), '{ "private": true }');
    for (const [command, cwd] of [[pack!, clone], ...inProject.map((line) => [line, project])]) {
      const { status, stderr } = sh(command!, cwd!);
      expect({ command, status, stderr }).toMatchObject({ status: 0 });
    }
    const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as object;
    expect(manifest).toHaveProperty('dependencies.kinglet');
    expect(existsSync(join(project, 'node_modules/kinglet/dist/index.js'))).toBe(true);
    expect(existsSync(join(project, 'my-page/kinglet/index.js'))).toBe(true);
    expect(existsSync(join(project, 'my-page/style.css'))).toBe(true);
  });
});

describe('npm run release', () => {
  const origin = 'https://github.com/someone/kinglet.git';
  let clone: string;
  beforeAll(() => {
    clone = join(folder, 'release');
    cpSync(installed, clone, { recursive: true });
    const own = ['release.mjs', 'check-size.mjs', 'build-wasm.mjs', 'tools.mjs', 'check-node.cjs'];
    for (const script of own) {
      cpSync(join(root, 'scripts', script), join(clone, 'scripts', script));
    }
    const manifest = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
    manifest.scripts.build = 'echo built';
    writeFileSync(join(clone, 'package.json'), JSON.stringify(manifest, undefined, 2));
    execFileSync('git', ['init', '--quiet'], { cwd: clone });
  });

  /** Runs it with a registry of its own; returns what that was sent. */
  async function release(...options: string[]) {
    const sent: string[] = [];
    const registry = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        if (request.method === 'PUT') sent.push(body);
        response.writeHead(request.method === 'PUT' ? 201 : 404).end('{}');
      });
    });
    await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done));
    const { port } = registry.address() as AddressInfo;
    const host = `//127.0.0.1:${String(port)}/`;
    writeFileSync(join(clone, '.npmrc'), `registry=http:${host}\n${host}:_authToken=none\n`);
    const before = readFileSync(join(clone, 'package.json'), 'utf8');
    const env = { ...process.env, npm_config_registry: `http:${host}` };
    const child = spawn('npm', ['run', 'release', '--', ...options], { cwd: clone, env });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    }
    const status = await new Promise((done) => child.on('close', done));
    registry.closeAllConnections();
    registry.close();
    expect(readFileSync(join(clone, 'package.json'), 'utf8')).toBe(before);
    return { status, printed, sent };
  }

  it('says that it needs an address, publishes nothing with --dry-run, and else all', async () => {
    const { status, printed, sent } = await release();
    expect(printed).toContain('this clone has no remote "origin"');
    expect([status, sent]).toEqual([1, []]);

    execFileSync('git', ['remote', 'add', 'origin', origin], { cwd: clone });
    const dry = await release('--dry-run');
    expect(dry.printed).toMatch(/built[^]*kinglet-\d+\.\d+\.\d+\.tgz[^]*\(dry-run\)/);
    expect([dry.status, dry.sent]).toEqual([0, []]);
    const sizes = join(clone, 'scripts/released-sizes.json');
    expect(existsSync(sizes)).toBe(false);

    const real = await release();
    expect(real.status, real.printed).toBe(0);
    const [published] = real.sent.map((body) => JSON.parse(body) as { versions: object });
    expect(Object.values(published!.versions)).toMatchObject([
      { name: 'kinglet', repository: { type: 'git', url: `git+${origin}` } },
    ]);
    const { version } = JSON.parse(text('package.json')) as { version: string };
    expect(JSON.parse(readFileSync(sizes, 'utf8'))).toMatchObject({ version });
  }, 120_000);
});

describe('an import', () => {
  it('is safe where there is no window, as in server-side rendering', () => {
    const program = `
      const before = Object.getOwnPropertyNames(globalThis);
      const { Kinglet, KingletError } = await import('kinglet');
      const { openAI, createFetch } = await import('kinglet/openai');
      const { languageModel } = await import('kinglet/ai-sdk');
      const { languageModelClass } = await import('kinglet/prompt-api');
      const { KingletChatElement } = await import('kinglet/element');
      const { MarkdownView } = await import('kinglet/markdown');
      const after = Object.getOwnPropertyNames(globalThis);
      if (typeof window !== 'undefined' || after.length !== before.length) process.exit(1);
      const made = [openAI, createFetch, languageModel, languageModelClass, KingletChatElement, MarkdownView];
      console.log(typeof Kinglet.load, KingletError.name, ...made.map((make) => typeof make));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      ...{ cwd: folder, encoding: 'utf8', timeout: 10_000 },
    });
    expect(printed).toBe(
      'function KingletError function function function function function function\n',
    );
  });

  it('has types, whole by themselves', { timeout: 120_000 }, () => {
    const user = `import { Kinglet, KingletError } from 'kinglet';
       import { createFetch, openAI } from 'kinglet/openai';
       import type { ChatCompletion } from 'kinglet/openai';
       import { embeddingModel, languageModel } from 'kinglet/ai-sdk';
       import type { LanguageModelV3 } from '@ai-sdk/provider';
       import { installPromptApi } from 'kinglet/prompt-api';
       import { KingletChatElement } from 'kinglet/element';
       import { MarkdownView } from 'kinglet/markdown';
       import { useKinglet } from 'kinglet/react';
       export function useAnswers(): readonly string[] {
         const { messages, error } = useKinglet('model.gguf', { answer: { maxTokens: 9 } });
         const element: KingletChatElement = document.createElement('kinglet-chat');
         new MarkdownView(element).update('**bold**');
         void [element.chat.load('model.gguf'), error?.message];
         return messages.map(({ role }) => role);
       }
       export async function ask(signal: AbortSignal): Promise<ChatCompletion | undefined> {
         await using model = await Kinglet.load('model.gguf', { signal });
         using session = await model.newSession();
         void session.nPositions();
         const forSdk: LanguageModelV3 = languageModel(model);
         void [embeddingModel(model), createFetch(model), forSdk];
         const shared = await installPromptApi({ model }).create({ signal });
         const said: string = await shared.prompt('Hello');
         void said;
         // @ts-expect-error: no such option
         void model.generate('Once', { warmth: 1 });
         try {
           const messages = [{ role: 'user', content: 'Hello' } as const];
           const { message } = await model.chat(messages).result;
           const [one, other] = await model.embed([String(message.content), [1, 2]]);
           void [one.length, other.length];
           return await openAI(model).chat.completions.create({ messages });
         } catch (error) {
           if (error instanceof KingletError && error.code === 'network') return undefined;
           throw error;
         }
       }`;
    const page = `import { useRef } from 'react';
       import 'kinglet/element';
       import type { KingletChatElement } from 'kinglet/element';
       export function Page({ maxTokens }: { maxTokens?: number | undefined }) {
         const chat = useRef<KingletChatElement>(null);
         return (
           <>
             <kinglet-chat ref={chat} model="model.gguf" system="Be brief." max-tokens={maxTokens}
               className="chat" onClick={({ currentTarget }) => currentTarget.focus()}>
               <span slot="send">Fragen</span>
             </kinglet-chat>
             <kinglet-chat ref={(element) => void element?.chat.load('model.gguf')} key="other" />
             {/* @ts-expect-error: not an address */}
             <kinglet-chat model={3} />
             {/* @ts-expect-error: no such attribute */}
             <kinglet-chat modle="model.gguf" />
           </>
         );
       }`;
    const files = { 'user.ts': user, 'page.tsx': page };
    const check = (moduleResolution: string, module: string) =>
      compileStrictly(folder, files, { module, moduleResolution, jsx: 'react-jsx', types: [] });
    expect(check('bundler', 'esnext')).toEqual([]);
    expect(check('nodenext', 'nodenext')).toEqual([]);
  });

  it('has types where there is no framework', { timeout: 120_000 }, () => {
    const bare = mkdtempSync(join(tmpdir(), 'kinglet-types-'));
    onTestFinished(() => {
      rmSync(bare, { recursive: true });
    });
    cpSync(installed, join(bare, 'node_modules/kinglet'), { recursive: true });
    const user = `import 'kinglet';
       import 'kinglet/element';
       document.createElement('kinglet-chat').chat.clear();`;
    expect(compileStrictly(bare, { 'user.ts': user }, { types: [] })).toEqual([]);
  });
});
