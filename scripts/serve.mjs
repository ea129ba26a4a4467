// A small static server: serve.mjs FOLDER [--port N] [--no-isolation]
// Without --no-isolation, it sends the headers that allow a page shared memory, and thus threads.
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Serves a folder to this machine. Returns the server and its address. Port 0 takes a free port.
 * `headers` are sent with every response.
 */
export async function serve(folder, { port = 0, isolated = true, headers = {} } = {}) {
  const base = await realpath(folder);
  const common = { ...(isolated ? isolation : {}), ...headers };
  const server = createServer((request, response) => {
    answer(base, common, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', done);
  });
  return { server, url: `http://localhost:${server.address().port}/` };
}

async function answer(base, common, request, response) {
  const headers = { 'Cache-Control': 'no-cache', 'Accept-Ranges': 'bytes', ...common };
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...headers, Allow: 'GET, HEAD' }).end();
    return;
  }
  const file = await findFile(base, request.url);
  if (!file) {
    response.writeHead(404, { ...headers, 'Content-Type': types['.txt'] }).end('Not found\n');
    return;
  }
  headers['Content-Type'] = types[extname(file.path)] ?? 'application/octet-stream';
  const range = readRange(request.headers.range, file.size);
  if (range === 'unsatisfiable') {
    response.writeHead(416, { ...headers, 'Content-Range': `bytes */${file.size}` }).end();
    return;
  }
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  headers['Content-Length'] = end - start + 1;
  if (range) headers['Content-Range'] = `bytes ${start}-${end}/${file.size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === 'HEAD' || file.size === 0) {
    response.end();
    return;
  }
  createReadStream(file.path, { start, end })
    .on('error', () => response.destroy())
    .pipe(response);
}

/** The file of a URL, if it is inside the folder after resolving links. */
async function findFile(base, url) {
  try {
    const pathname = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    let path = await realpath(join(base, pathname));
    let status = await stat(path);
    if (status.isDirectory()) {
      path = await realpath(join(path, 'index.html'));
      status = await stat(path);
    }
    const inside = path.startsWith(base + sep);
    return inside && status.isFile() ? { path, size: status.size } : undefined;
  } catch {
    return undefined;
  }
}

/** Parses a single range of bytes. Ignores other ranges, as RFC 9110 allows. */
function readRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const start = match[1] === '' ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const end = match[1] === '' || match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string', default: '8080' }, 'no-isolation': { type: 'boolean' } },
  });
  const { url } = await serve(resolve(positionals[0] ?? '.'), {
    port: Number(values.port),
    isolated: !values['no-isolation'],
  });
  console.log(url);
}
