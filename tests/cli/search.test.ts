// kinglet index and kinglet search, whose files the package reads in Node, and the other way round.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Kinglet } from 'kinglet';
import { SearchIndex } from 'kinglet/search';
import { expectFailure, kinglet, stories } from './program.ts';

const cats = 'The cat sat on the mat. It was a happy cat.';
const boats = 'The boat was on the sea. A big fish swam by.';

let folder: string;
let notes: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinglet-index-'));
  notes = join(folder, 'notes');
  mkdirSync(join(notes, 'more'), { recursive: true });
  mkdirSync(join(notes, '.git'));
  writeFileSync(join(notes, 'cats.md'), cats);
  writeFileSync(join(notes, 'more', 'boats.txt'), boats);
  writeFileSync(join(notes, 'picture.png'), Uint8Array.of(0x89, 0x50, 0, 1, 2));
  writeFileSync(join(notes, '.git', 'config'), 'not a document');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const index = (name: string) =>
  kinglet(['index', '-m', stories, '--index', join(folder, name), notes]);
const search = (name: string, query: string, more: string[] = []) =>
  kinglet(['search', '-m', stories, '--index', join(folder, name), ...more, query]);
const hitsOf = ({ stdout }: { stdout: string }) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; score: number; text: string });

describe('kinglet index', () => {
  it('indexes the texts of a folder, and later what has changed', () => {
    const first = index('a');
    expect(first.stderr).toContain('2 documents with 2 passages: 2 new or changed, 0 removed');
    expect(first.stderr).toContain('picture.png" is left out');
    expect(first.status).toBe(0);
    expect(index('a').stderr).toContain('0 new or changed, 0 removed');
    writeFileSync(join(notes, 'late.txt'), 'The end.');
    rmSync(join(notes, 'cats.md'));
    expect(index('a').stderr).toContain('2 documents with 2 passages: 1 new or changed, 1 removed');
    expect(readdirSync(join(folder, 'a'))).toHaveLength(2);
    writeFileSync(join(notes, 'cats.md'), cats);
    rmSync(join(notes, 'late.txt'));
  });

  it.skipIf(process.platform === 'win32')('leaves out what it cannot name or read', () => {
    const odd = join(folder, 'odd');
    mkdirSync(odd);
    writeFileSync(join(odd, 'cats.md'), cats);
    writeFileSync(Buffer.from(`${odd}/\xff.txt`, 'latin1'), boats);
    const { status, stderr } = kinglet(['index', '-m', stories, '--index', join(folder, 'o'), odd]);
    expect(stderr).toContain('"\\xff.txt" is left out: its name is not UTF-8');
    expect(stderr).toContain('1 documents with 1 passages: 1 new or changed');
    expect(status).toBe(0);
  });

  it('says what it cannot read', () => {
    const missing = ['index', '-m', stories, '--index', join(folder, 'x'), join(folder, 'none')];
    expectFailure(missing, /cannot read the folder/);
    const noIndex = ['search', '-m', stories, '--index', join(folder, 'none'), 'cat'];
    expectFailure(noIndex, /there is no index/);
  });
});

describe('kinglet search', () => {
  it('finds passages by meaning and by words', () => {
    index('b');
    const [best, other] = hitsOf(search('b', boats));
    expect(best).toMatchObject({ id: 'more/boats.txt', text: boats, start: 0, end: boats.length });
    expect(best!.score).toBeGreaterThan(0.99);
    expect(other!.id).toBe('cats.md');
    expect(hitsOf(search('b', boats, ['--limit', '1']))).toHaveLength(1);
    expect(hitsOf(search('b', 'fish', ['--hybrid']))[0]!.id).toBe('more/boats.txt');
  });

  it('says what another prompt made', () => {
    index('c');
    const { stderr, stdout } = search('c', boats, ['--passage-prompt', 'text: ']);
    expect(stderr).toContain('2 passages have no vector for this model, prompt and passage size');
    expect(stdout).toBe('');
  });

  it('shares its files with the package', async () => {
    index('d');
    const model = await Kinglet.load(new Uint8Array(readFileSync(stories)), { nThreads: 1 });
    const shared = await SearchIndex.open('d', { model, folder });
    expect(shared.documents.map(({ id }) => id)).toEqual(['cats.md', 'more/boats.txt']);
    expect(shared.nPending).toBe(0);
    const [hit] = await shared.search(cats);
    expect(hit).toMatchObject({ id: 'cats.md', text: cats });
    await shared.add('late.txt', 'The end.', { meta: 1 });
    model.dispose();
    const native = hitsOf(search('d', 'The end.'));
    expect(native[0]!.id).toBe('late.txt');
    expect(native[0]!.score).toBeGreaterThan(0.99);
  });
});
