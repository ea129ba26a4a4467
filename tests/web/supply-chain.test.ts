// What is installed with the package, and which addresses it may use by itself.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './support';

interface Manifest {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  optionalDependencies?: Record<string, string>;
  scripts?: Record<string, string>;
}

interface Lock {
  packages: Record<string, { hasInstallScript?: boolean; optional?: boolean; integrity?: string }>;
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));

describe('what is installed', () => {
  it('is the package alone: no dependencies, no scripts at installation', () => {
    const manifest = readJson('package.json') as Manifest;
    expect(manifest.dependencies ?? {}).toEqual({});
    // All are optional, so an installation leaves them out. The package takes only types from the
    // first, and uses those for PDFs and pictures if they are installed; `kinglet/react` is for pages
    // that have React.
    const peers = ['@ai-sdk/provider', 'pdfjs-dist', 'react', 'sharp'];
    expect(Object.keys(manifest.peerDependencies ?? {})).toEqual(peers);
    expect(manifest.peerDependenciesMeta).toEqual(
      Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    );
    for (const path of readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.js')) continue;
      expect(readFileSync(join(root, 'dist', path), 'utf8'), path).not.toContain('@ai-sdk/');
    }
    expect(manifest.optionalDependencies ?? {}).toEqual({});
    const atInstallation = ['preinstall', 'install', 'postinstall', 'prepare'];
    for (const name of Object.keys(manifest.scripts ?? {})) {
      expect(atInstallation).not.toContain(name);
    }
  });

  it('is pinned by hashes, and runs no scripts for developers either', () => {
    const lock = readJson('package-lock.json') as Lock;
    for (const [name, entry] of Object.entries(lock.packages)) {
      if (name !== '') expect(entry.integrity, name).toMatch(/^sha512-/);
      expect(entry.hasInstallScript && !entry.optional, name).toBeFalsy();
    }
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toContain('ignore-scripts=true');
  });
});

describe('the built package', () => {
  const files = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });

  it('names no address of a network but those that it does not ask by itself', () => {
    const known = new Set([
      'https://emscripten.org', // in a message
      'https://huggingface.co', // requested if a page names a model of the hub
      'https://kinglet.invalid', // in keys of the cache: a domain that never exists
      'https://github.com', // in the notices of the libraries that render Markdown
      'http://www.w3.org', // names of XML's vocabularies, in the sanitizer
    ]);
    const scripts = files.filter((name) => /\.(js|wasm)$/.test(name));
    expect(scripts.length).toBeGreaterThan(4);
    for (const name of scripts) {
      const text = readFileSync(join(root, 'dist', name), 'latin1');
      const addresses = text.match(/\b(https?|wss?):\/\/[\w-]+(\.[\w-]+)+/g) ?? [];
      expect(
        addresses.filter((address) => !known.has(address)),
        name,
      ).toEqual([]);
    }
  });

  it('makes no code out of text', () => {
    for (const name of files.filter((name) => name.endsWith('.js'))) {
      const text = readFileSync(join(root, 'dist', name), 'utf8');
      expect(/\beval\(|new Function\(/.test(text), name).toBe(false);
    }
  });
});
