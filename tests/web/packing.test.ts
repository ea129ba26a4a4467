// What npm would publish: only what is needed, all of it reachable, and importable anywhere.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { installPacked } from './packed.ts';
import type { Packed } from './packed.ts';
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
      ...['bin/kinglet.mjs', 'demo/models/README.md', 'package.json'],
    ]);
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
        expect(map.sourcesContent[i], path).toBe(readFileSync(join(root, 'web', name!), 'utf8'));
      }
      expect(text(path.replace(/\.map$/, ''))).toContain('//# sourceMappingURL=');
    }
  });

  it('depends on nothing, and does nothing when it is imported, but define its element', () => {
    const manifest = JSON.parse(text('package.json')) as Record<string, unknown>;
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest.sideEffects).toEqual(['./dist/element/index.js']);
  });
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
      const after = Object.getOwnPropertyNames(globalThis);
      if (typeof window !== 'undefined' || after.length !== before.length) process.exit(1);
      const made = [openAI, createFetch, languageModel, languageModelClass, KingletChatElement];
      console.log(typeof Kinglet.load, KingletError.name, ...made.map((make) => typeof make));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      ...{ cwd: folder, encoding: 'utf8', timeout: 10_000 },
    });
    expect(printed).toBe('function KingletError function function function function function\n');
  });

  it('has types, whole by themselves', { timeout: 120_000 }, () => {
    writeFileSync(
      join(folder, 'user.ts'),
      `import { Kinglet, KingletError } from 'kinglet';
       import { createFetch, openAI } from 'kinglet/openai';
       import type { ChatCompletion } from 'kinglet/openai';
       import { embeddingModel, languageModel } from 'kinglet/ai-sdk';
       import type { LanguageModelV3 } from '@ai-sdk/provider';
       import { installPromptApi } from 'kinglet/prompt-api';
       import { KingletChatElement } from 'kinglet/element';
       import { useKinglet } from 'kinglet/react';
       export function useAnswers(): readonly string[] {
         const { messages, error } = useKinglet('model.gguf', { answer: { maxTokens: 9 } });
         const element: KingletChatElement = document.createElement('kinglet-chat');
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
           return await openAI(model).chat.completions.create({ messages });
         } catch (error) {
           if (error instanceof KingletError && error.code === 'network') return undefined;
           throw error;
         }
       }`,
    );
    const check = (moduleResolution: string, module: string) => {
      const compilerOptions = {
        ...{ noEmit: true, strict: true, types: [], target: 'es2022' },
        ...{ lib: ['es2022', 'dom', 'dom.asynciterable'], module, moduleResolution },
      };
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['user.ts'] }),
      );
      const { stdout } = spawnSync(
        process.execPath,
        [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
        { encoding: 'utf8' },
      );
      return stdout;
    };
    expect(check('bundler', 'esnext')).toBe('');
    expect(check('nodenext', 'nodenext')).toBe('');
  });
});
