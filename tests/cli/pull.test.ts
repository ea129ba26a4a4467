// Models from a server that answers as the hub does: it sends the size and SHA-256, and redirects.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  requests: [] as { path: string; range?: string | undefined }[],
};

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url ?? '');
  const [, repository = '', name = ''] = /^\/(owner\/repo)\/resolve\/main\/(.*)$/.exec(path) ?? [];
  const [, stored] = /^\/blobs\/(.*)$/.exec(path) ?? [];
  const content = hub.files.get(stored ?? name);
  if (hub.token !== '' && stored === undefined) {
    if (request.headers.authorization !== `Bearer ${hub.token}`) {
      response.writeHead(401).end();
      return;
    }
  }
  if (path === '/api/models/owner/repo/revision/main') {
    const siblings = [...hub.files.keys(), 'README.md'].map((rfilename) => ({ rfilename }));
    response.end(JSON.stringify({ siblings }));
  } else if (!content) {
    response.writeHead(404).end();
  } else if (repository !== '') {
    response.writeHead(302, {
      location: `/blobs/${encodeURIComponent(name)}`,
      etag: '"of the redirect"',
      'x-linked-size': String(content.length),
      'x-linked-etag': `"${hub.digest ?? sha256(content)}"`,
    });
    response.end();
  } else {
    if (request.method === 'HEAD') {
      response
        .writeHead(200, { etag: '"another"', 'content-length': String(content.length) })
        .end();
      return;
    }
    const { range } = request.headers;
    hub.requests.push({ path: stored ?? '', range });
    const from = hub.hasRanges ? Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0) : 0;
    const total = String(content.length);
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': String(content.length - from),
      ...(from > 0 && { 'content-range': `bytes ${String(from)}-${total}/${total}` }),
    });
    const cut = hub.cuts.shift();
    if (cut === undefined) response.end(content.subarray(from));
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
  Object.assign(hub, { cuts: [], digest: undefined, hasRanges: true, token: '', requests: [] });
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
    expect((await run('rm', 'hf:owner/repo')).status).toBe(0);
    expect((await run('list')).stdout).toBe('');
    expect((await run('rm', 'hf:owner/repo:Q4_0')).stderr).toMatch(/has no such file/);
    expect((await run('generate', '-m', 'hf:owner/repo:Q4_0', ...once)).stderr).toBe(
      'kinglet: hf:owner/repo:Q4_0 is not here: kinglet pull hf:owner/repo:Q4_0\n',
    );
  });

  test('does not fetch again what is here', async () => {
    await run('pull', 'hf:owner/repo:Q4_0');
    hub.requests = [];
    expect((await run('pull', 'hf:owner/repo:Q4_0')).stderr).toBe('stories-Q4_0.gguf is here\n');
    expect(hub.requests).toEqual([]);
  });

  test('goes on where a download ended', async () => {
    hub.cuts = [1_000_000];
    const cut = await run('pull', 'hf:owner/repo:Q4_0');
    expect(cut.status).toBe(1);
    expect(statSync(file('stories-Q4_0.gguf.part')).size).toBe(1_000_000);
    expect((await run('list')).stdout).toMatch(/1.0 MB, not complete/);
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
    const other = bytes.toReversed();
    hub.files.set('stories-Q4_0.gguf', other);
    hub.requests = [];
    expect((await run('pull', 'hf:owner/repo:Q4_0')).status).toBe(0);
    expect(hub.requests.map(({ range }) => range)).toEqual([undefined]);
    expect(readFileSync(file('stories-Q4_0.gguf')).equals(other)).toBe(true);
  });

  test('deletes what is not what the hub says', async () => {
    hub.digest = 'ab'.repeat(32);
    const { status, stderr } = await run('pull', 'hf:owner/repo:Q4_0');
    expect(status).toBe(1);
    expect(stderr).toMatch(/the SHA-256 of the download is [0-9a-f]{64}, the hub says (ab){32}/);
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
    expect(stderr).toMatch(/401; of a gated model accept the conditions, and set HF_TOKEN/);
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

  test.each([
    '../../../evil-Q4_0.gguf',
    '/evil-Q4_0.gguf',
    'C:/evil-Q4_0.gguf',
    'a\\evil-Q4_0.gguf',
  ])('follows no list of files out of its folder, to %s', async (path) => {
    hub.files = new Map([[path, bytes]]);
    expect((await run('pull', 'hf:owner/repo:Q4_0')).stderr).toMatch(/name one of: no GGUF file/);
    expect((await run('pull', `hf:owner/repo/${path}`)).stderr).toMatch(/is not of the form/);
  });
});
