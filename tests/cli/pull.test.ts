// Models from a server that answers as the hub does: it sends the size and SHA-256, and redirects.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KingletError } from '../../web/src/errors.ts';
import { hubFileUrl, hubListingUrl, parseHubAddress } from '../../web/src/hub.ts';
import { hubAddresses, hubPages, otherPages, plainlessPaths } from '../web/hub-addresses.ts';
import { splitModel } from '../web/split-model.ts';
import { program, stories } from './program.ts';

const bytes = readFileSync(stories);
const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

/** The behaviour of the server; reset before each test. */
const hub = {
  files: new Map<string, Uint8Array>(),
  /** The numbers of bytes after which the next responses with a file are cut off, in order. */
  cuts: [] as number[],
  /** The SHA-256 that the server sends for every file, in place of the right one. */
  digest: undefined as string | undefined,
  hasRanges: true,
  token: '',
  /** Whether the server sends sizes and versions before a redirect, as the hub does. */
  hasDigests: true,
  contentType: 'application/octet-stream',
  /** Bytes after the file, which the server announced without them. */
  surplus: 0,
  /** Milliseconds before a file is sent. */
  delay: 0,
  /** What the server answers instead of a list of files. */
  listing: undefined as string | undefined,
  /** The files of other revisions than main. */
  revisions: new Map<string, Map<string, Uint8Array>>(),
  requests: [] as { path: string; range?: string | undefined }[],
  /** The addresses of all requests, as they came. */
  urls: [] as string[],
};
const initial = { ...hub };

const server = createServer((request, response) => {
  const url = request.url ?? '';
  hub.urls.push(url);
  const [, revision = ''] =
    /^\/(?:owner\/repo\/resolve|api\/models\/owner\/repo\/revision|blobs)\/([^/]*)/.exec(url) ?? [];
  const named = decodeURIComponent(revision);
  const files =
    named === 'main' ? hub.files : (hub.revisions.get(named) ?? new Map<string, Uint8Array>());
  const [, name] = /^\/owner\/repo\/resolve\/[^/]*\/(.*)$/.exec(url) ?? [];
  const [, stored] = /^\/blobs\/[^/]*\/(.*)$/.exec(url) ?? [];
  const content = files.get(decodeURIComponent(stored ?? name ?? ''));
  if (hub.token !== '' && stored === undefined) {
    if (request.headers.authorization !== `Bearer ${hub.token}`) {
      response.writeHead(401).end();
      return;
    }
  }
  if (url.startsWith('/api/models/owner/repo/revision/')) {
    const siblings = [...files.keys(), 'README.md'].map((rfilename) => ({ rfilename }));
    response.end(hub.listing ?? JSON.stringify({ siblings }));
  } else if (!content) {
    response.writeHead(404).end();
  } else if (name !== undefined && hub.hasDigests) {
    response.writeHead(302, {
      location: `/blobs/${revision}/${name}`,
      etag: '"of the redirect"',
      'x-linked-size': String(content.length),
      'x-linked-etag': `"${hub.digest ?? sha256(content)}"`,
    });
    response.end();
  } else {
    if (request.method === 'HEAD') {
      const headers = {
        ...{ etag: '"another"', 'content-length': String(content.length) },
        'content-type': hub.contentType,
      };
      response.writeHead(200, headers).end();
      return;
    }
    const { range } = request.headers;
    hub.requests.push({ path: stored ?? name ?? '', range });
    const from = hub.hasRanges ? Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0) : 0;
    const total = String(content.length);
    if (from >= content.length) {
      response.writeHead(416).end();
      return;
    }
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': String(content.length - from + hub.surplus),
      ...(from > 0 && { 'content-range': `bytes ${String(from)}-${total}/${total}` }),
    });
    const cut = hub.cuts.shift();
    const rest = [content.subarray(from), new Uint8Array(hub.surplus)];
    if (cut === undefined) setTimeout(() => response.end(Buffer.concat(rest)), hub.delay);
    else response.write(content.subarray(from, from + cut), () => response.destroy());
  }
});

let endpoint: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(() => server.close());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinglet-models-'));
  Object.assign(hub, initial, { cuts: [], requests: [], urls: [], revisions: new Map() });
  hub.files = new Map([
    ['stories-Q4_0.gguf', bytes],
    ['stories-Q8_0.gguf', bytes.subarray(0, 1000)],
    ['mmproj-Q4_0.gguf', bytes.subarray(0, 10)],
  ]);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the program without blocking this process, so that its server can answer. */
function run(
  ...args: string[]
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    KINGLET_MODELS: folder,
    HF_ENDPOINT: endpoint,
    HF_TOKEN: hub.token,
  };
  const child = spawn(program, args, { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve) => {
    child.on('close', (status) => {
      resolve({ status, stdout, stderr });
    });
  });
}

const file = (name: string) => join(folder, 'owner/repo', name);

describe('kinglet pull', () => {
  test('fetches a file by its type; models are run, listed and deleted by address', async () => {
    const { status, stdout } = await run('pull', 'hf:owner/repo:q4_0');
    expect(stdout).toBe(`${file('stories-Q4_0.gguf')}\n`);
    expect(status).toBe(0);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(bytes)).toBe(true);
    const once = ['-p', 'Once upon a time', '--temp', '0', '-n', '4'];
    expect((await run('generate', '-m', 'hf:owner/repo:Q4_0', ...once)).stdout).toBe(
      ', there was a\n',
    );
    expect((await run('list')).stdout).toBe('hf:owner/repo/stories-Q4_0.gguf  3.1 MB\n');
    for (const name of ['owner/repo:Q4_0', 'https://huggingface.co/owner/repo']) {
      expect((await run('generate', '-m', name, ...once)).stdout).toBe(', there was a\n');
    }
    copyFileSync(file('stories-Q4_0.gguf'), file('stories-Q8_0.gguf'));
    expect((await run('rm', 'owner/repo')).stderr).toMatch(
      /stories-Q4_0.gguf, stories-Q8_0.gguf$/m,
    );
    expect((await run('rm', 'owner/repo:Q8_0')).stderr).toMatch(/stories-Q8_0.gguf is deleted/);
    expect((await run('rm', 'owner/repo')).status).toBe(0);
    expect(await run('list')).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining(`No models in ${folder} yet. kinglet pull hf:`) as string,
    });
    expect((await run('generate', '-m', 'owner/repo', ...once)).stderr).toBe(
      'kinglet: owner/repo is neither a file nor a pulled model: kinglet pull owner/repo\n',
    );
    expect((await run('generate', '-m', 'owner/m.gguf', ...once)).stderr).toMatch(/cannot open/);
    expect((await run('rm', 'hf:owner/repo:Q4_0')).stderr).toMatch(/has no such file/);
    expect((await run('generate', '-m', 'hf:owner/repo:Q4_0', ...once)).stderr).toBe(
      'kinglet: hf:owner/repo:Q4_0 has not been pulled: kinglet pull hf:owner/repo:Q4_0\n',
    );
  });

  test('does not fetch again what is here', async () => {
    await run('pull', 'hf:owner/repo:Q4_0');
    hub.requests = [];
    expect((await run('pull', 'hf:owner/repo:Q4_0')).stderr).toBe(
      'stories-Q4_0.gguf is downloaded\n',
    );
    expect(hub.requests).toEqual([]);
  });

  test('goes on where a download ended', async () => {
    hub.cuts = [1_000_000];
    const cut = await run('pull', 'hf:owner/repo:Q4_0');
    expect(cut.status).toBe(1);
    expect(statSync(file('stories-Q4_0.gguf.part')).size).toBe(1_000_000);
    expect((await run('list')).stdout).toMatch(/1.0 MB, incomplete/);
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(hub.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=1000000-']);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(bytes)).toBe(true);
    expect(existsSync(file('stories-Q4_0.gguf.version'))).toBe(false);
  });

  test('begins anew where the server cannot go on, or has another version', async () => {
    hub.cuts = [1_000_000];
    await run('pull', 'hf:owner/repo:Q4_0');
    hub.hasRanges = false;
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(bytes)).toBe(true);

    await run('rm', 'hf:owner/repo:Q4_0');
    hub.hasRanges = true;
    hub.cuts = [1_000_000];
    await run('pull', 'hf:owner/repo:Q4_0');
    const other = Uint8Array.from(bytes);
    other[other.length - 1] = 1 + (other.at(-1) ?? 0);
    hub.files.set('stories-Q4_0.gguf', other);
    hub.requests = [];
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(hub.requests.map(({ range }) => range)).toEqual([undefined]);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(other)).toBe(true);
  });

  test('deletes a download with another checksum than the hub has', async () => {
    hub.digest = 'ab'.repeat(32);
    const { status, stderr } = await run('pull', 'hf:owner/repo:Q4_0');
    expect(status).toBe(1);
    expect(stderr).toMatch(/the SHA-256 of the download is [0-9a-f]{64}, expected (ab){32}/);
    expect(existsSync(file('stories-Q4_0.gguf.part'))).toBe(false);
    expect((await run('list')).stdout).toBe('');
  });

  test('fetches all parts of a split model', async () => {
    const parts = splitModel(bytes, 3);
    hub.files = new Map(
      parts.map((part, i) => [`m/stories-Q4_0-0000${String(i + 1)}-of-00003.gguf`, part]),
    );
    expect((await run('pull', 'hf:owner/repo')).stdout.trim().split('\n')).toHaveLength(3);
    expect((await run('inspect', 'hf:owner/repo')).status).toBe(0);
  });

  test('shows the token to the hub, and says that one is missing', async () => {
    hub.token = 'secret';
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    await run('rm', 'hf:owner/repo:Q4_0');
    const child = spawn(program, ['pull', 'hf:owner/repo:Q4_0'], {
      env: { ...process.env, KINGLET_MODELS: folder, HF_ENDPOINT: endpoint, HF_TOKEN: '' },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await new Promise((resolve) => child.on('close', resolve));
    expect(stderr).toMatch(/401; for a gated model, accept its conditions and set HF_TOKEN/);
  });

  test.each([
    ['hf:owner', /is not of the form hf:owner\/repo/],
    ['hf:owner/repo/../../x.gguf', /is not of the form/],
    ['hf:owner/repo:Q6_K', /has no such file for a model of type Q6_K; name one of: stories-Q4_0/],
    ['hf:owner/other:Q4_0', /\/api\/models\/owner\/other\/.*404/],
    ['hf:owner/repo/other.gguf', /other\.gguf: .*404/],
  ])('says what is wrong with %s', async (address, message) => {
    const { status, stdout, stderr } = await run('pull', address);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
  });

  test('has files of every revision, each in its place', async () => {
    const other = Uint8Array.from(bytes);
    other[other.length - 1] = 1 + (other.at(-1) ?? 0);
    hub.revisions.set('refs/pr/1', new Map([['stories-Q4_0.gguf', other]]));
    const ofRevision = 'hf:owner/repo@refs%2Fpr%2F1';
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    for (const address of [`${ofRevision}/stories-Q4_0.gguf`, `${ofRevision}:Q4_0`]) {
      expect((await run('inspect', address)).status).toBe(address.endsWith('gguf') ? 1 : 0);
      expect((await run('pull', address)).status).toBe(0);
    }
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(bytes)).toBe(true);
    const place = join(folder, 'owner/repo@refs%2Fpr%2F1/stories-Q4_0.gguf');
    expect(readFileSync(place).equals(other)).toBe(true);
    expect((await run('list')).stdout).toBe(
      'hf:owner/repo/stories-Q4_0.gguf  3.1 MB\n' + `${ofRevision}/stories-Q4_0.gguf  3.1 MB\n`,
    );
    expect((await run('rm', ofRevision)).status).toBe(0);
    expect((await run('list')).stdout).toBe('hf:owner/repo/stories-Q4_0.gguf  3.1 MB\n');
  });

  test('may be asked for the same file twice at once', async () => {
    hub.delay = 500;
    const both = await Promise.all([
      run('pull', 'hf:owner/repo:Q4_0'),
      run('pull', 'hf:owner/repo:Q4_0'),
    ]);
    expect(both.map(({ status }) => status)).toEqual([0, 0]);
    expect(both.map(({ stdout }) => stdout).join('')).toBe(`${file('stories-Q4_0.gguf')}\n`);
    expect(both.map(({ stderr }) => stderr).join('')).toMatch(
      /waiting for another download of the same file\nstories-Q4_0.gguf is downloaded/,
    );
    expect(hub.requests).toHaveLength(1);
    expect(readdirSync(join(folder, 'owner/repo'))).toEqual(['stories-Q4_0.gguf']);
  });

  test('begins anew where more is there than the file has', async () => {
    hub.cuts = [1_000_000];
    await run('pull', 'hf:owner/repo:Q4_0');
    writeFileSync(file('stories-Q4_0.gguf.part'), Buffer.concat([bytes, bytes]));
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(bytes)).toBe(true);
  });

  test('keeps nothing of a download that is longer than announced', async () => {
    hub.surplus = 1000;
    const { status, stderr } = await run('pull', 'hf:owner/repo:Q4_0');
    expect(status).toBe(1);
    expect(stderr).toMatch(/it sent more than the \d+ bytes that it announced/);
    expect(readdirSync(join(folder, 'owner/repo'))).toEqual([]);
    hub.surplus = 0;
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
  });

  test('takes no web page for a model', async () => {
    hub.hasDigests = false;
    hub.files.set('stories-Q4_0.gguf', Buffer.from('<!doctype html><p>Please log in'));
    const named = await run('pull', 'hf:owner/repo:Q4_0');
    expect(named.status).toBe(1);
    expect(named.stderr).toMatch(/a web page, expected a GGUF file: .*; the download was deleted/);
    hub.contentType = 'text/html; charset=utf-8';
    const typed = await run('pull', 'hf:owner/repo:Q4_0');
    expect(typed.stderr).toMatch(/the server answered with a web page, not a model/);
    expect(readdirSync(join(folder, 'owner/repo'))).toEqual([]);
    expect((await run('pull', 'hf:owner/repo/README.md')).stderr).toMatch(/404/);
  });

  test('reads a list of files in time, and no endless one', async () => {
    const keys = Array.from({ length: 200_000 }, (_, i) => `"${String(i)}":1`).join();
    hub.listing = `{${keys},"siblings":[{"rfilename":"stories-Q4_0.gguf"}]}`;
    const start = performance.now();
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(performance.now() - start).toBeLessThan(20_000);
    hub.listing = `{"siblings":[${'{},'.repeat(4e6)}`;
    const { stderr } = await run('pull', 'hf:owner/repo:Q8_0');
    expect(stderr).toMatch(/revision\/main: the answer has more than 8388608 bytes/);
  });

  test('follows no list of files out of its folder, and shows no control characters', async () => {
    hub.files = new Map(plainlessPaths.map((path) => [path, bytes]));
    expect((await run('pull', 'hf:owner/repo:Q4_0')).stderr).toMatch(/it has no GGUF file/);
  });

  test('has a whole file that is named like a part', async () => {
    const name = 'stories-Q5_0-00002-of-00003.gguf';
    hub.files = new Map([[name, bytes]]);
    for (const address of ['hf:owner/repo:Q5_0', `hf:owner/repo/${name}`]) {
      expect((await run('pull', address)).status).toBe(0);
      expect((await run('inspect', address)).status).toBe(0);
      expect((await run('rm', address)).status).toBe(0);
    }
  });
});

describe('the program and the package', () => {
  /** The address that the package asks the hub for; undefined if it refuses. */
  function asked(address: string): string | undefined {
    try {
      const { repository, path } = parseHubAddress(address, { hubBase: '' });
      return path === undefined ? hubListingUrl(repository) : hubFileUrl(repository, path);
    } catch (error) {
      expect(error).toBeInstanceOf(KingletError);
      return undefined;
    }
  }

  test('mean the same by an address', async () => {
    const pages = Object.keys(hubPages);
    for (const address of [...hubAddresses.accepted, ...pages, ...hubAddresses.refused]) {
      hub.urls = [];
      const { stderr } = await run('pull', address);
      const url = asked(address);
      expect(hubAddresses.refused.includes(address)).toBe(url === undefined);
      expect(hub.urls[0] && decodeURIComponent(hub.urls[0]), address).toBe(
        url && decodeURIComponent(url),
      );
      if (url === undefined) expect(stderr).toMatch(/ is not of the form hf:owner\/repo/);
    }
    const { status, stderr } = await run('pull', `hf:${'a'.repeat(40_000)}`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^kinglet: "hf:a{61}"\.\.\. is not of the form/);
  });

  test('take no other page for an address', async () => {
    hub.urls = [];
    for (const address of otherPages) {
      expect((await run('pull', address)).stderr).toMatch(/ is not of the form hf:owner\/repo/);
    }
    expect(hub.urls).toEqual([]);
  });
});
