// A web server that serves files with the faults that a test needs, and a page with the package.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { root } from './support.ts';

export interface ServedFile {
  bytes: Uint8Array;
  /** Headers of the response. Default: left out; `contentType`: application/octet-stream. */
  etag?: string | undefined;
  lastModified?: string;
  contentType?: string;
  /** The size of the file in Content-Length. Default: the right one. */
  announcedBytes?: number;
  /** Leaves out Content-Length. */
  hidesLength?: boolean;
  /** Answers requests for ranges with the whole file. */
  refusesRanges?: boolean;
  /** Does not allow pages of other sites to read the file. */
  hasNoCors?: boolean;
  /** The status of a response without the file. Default: the file is sent. */
  status?: number;
  /** Each fault happens once, when a body has reached `byte` of the file; the body waits for it. */
  faults?: Fault[];
}

export interface Fault {
  byte: number;
  /** "cut" ends the connection; "stall" sends nothing more until the client leaves. */
  kind: 'cut' | 'stall' | (() => void);
}

export interface Request {
  method: string;
  path: string;
  range: string | undefined;
  headers: IncomingMessage['headers'];
  /** The number of bytes of the body that were sent. */
  sent: number;
  isClosed: boolean;
}

export interface FaultyServer {
  /** The address, with a slash at the end, of a page whose global `kinglet` is the package. */
  url: string;
  /** Another address of the server, which browsers take for another site. */
  otherSite: string;
  files: Map<string, ServedFile>;
  /** Code that is put before the scripts of dist/, by path. */
  preludes: Map<string, string>;
  /** The requests for `files`, in order. */
  requests: Request[];
  close(): void;
}

const page = `<!doctype html><title>Test</title><script type="module">
  import * as kinglet from '/dist/index.js';
  globalThis.kinglet = kinglet;
</script>`;

const types: Record<string, string> = {
  '.js': 'text/javascript',
  '.map': 'application/json',
  '.wasm': 'application/wasm',
};

/** Starts the server. With `isolated`, the page can have threads. */
export async function startFaultyServer({ isolated = false } = {}): Promise<FaultyServer> {
  const preludes = new Map<string, string>();
  const files = new Map<string, ServedFile>();
  const requests: Request[] = [];
  const pageHeaders = isolated
    ? {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
      }
    : {};

  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
    if (path === '/') {
      response.setHeader('Content-Type', 'text/html').end(page);
    } else if (/^\/dist\/[\w/.-]+$/.test(path) && !path.includes('..')) {
      response.setHeader('Content-Type', types[extname(path)] ?? 'text/plain');
      response.write(preludes.get(path) ?? '');
      createReadStream(root + path)
        .on('error', () => response.writeHead(404).end())
        .pipe(response);
    } else {
      const { method = '', headers } = request;
      const noted: Request = {
        method,
        path,
        range: headers.range,
        headers,
        sent: 0,
        isClosed: false,
      };
      const file = files.get(path);
      if (file) requests.push(noted);
      response.once('close', () => (noted.isClosed = true));
      if (file) void serve(file, noted, response);
      else response.writeHead(404).end();
    }
  });
  // Browsers silently repeat a request that fails on a reused connection.
  server.maxRequestsPerSocket = 1;
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  const port = String(bound.port);
  return {
    url: `http://localhost:${port}/`,
    otherSite: `http://127.0.0.1:${port}/`,
    files,
    preludes,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function serve(file: ServedFile, request: Request, response: ServerResponse): Promise<void> {
  const { bytes } = file;
  if (!file.hasNoCors) response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  response.setHeader('Cache-Control', 'no-store'); // every request must reach this server
  if (file.status !== undefined) {
    response.writeHead(file.status).end();
    return;
  }
  response.setHeader('Content-Type', file.contentType ?? 'application/octet-stream');
  if (file.etag !== undefined) response.setHeader('ETag', file.etag);
  if (file.lastModified !== undefined) response.setHeader('Last-Modified', file.lastModified);
  const [, from] = /^bytes=(\d+)-$/.exec(request.range ?? '') ?? [];
  const start = from === undefined || file.refusesRanges ? 0 : Number(from);
  if (start >= bytes.length && start > 0) {
    response.writeHead(416, { 'Content-Range': `bytes */${String(bytes.length)}` }).end();
    return;
  }
  if (start > 0) {
    response.statusCode = 206;
    const range = `bytes ${String(start)}-${String(bytes.length - 1)}/${String(bytes.length)}`;
    response.setHeader('Content-Range', range);
  }
  const length = (file.announcedBytes ?? bytes.length) - start;
  if (!file.hidesLength) response.setHeader('Content-Length', length);
  if (request.method === 'HEAD') response.end();
  else await sendBody(file, start, request, response);
}

async function sendBody(
  { bytes, faults = [] }: ServedFile,
  start: number,
  request: Request,
  response: ServerResponse,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    response.once('close', resolve);
  });
  for (let at = start; at < bytes.length;) {
    const fault = faults.find(({ byte }) => byte >= at);
    const end = Math.min(bytes.length, at + 65536, fault ? fault.byte : Infinity);
    if (!response.destroyed && end > at) {
      const written = new Promise<void>((resolve) => {
        response.write(bytes.subarray(at, end), () => {
          resolve();
        });
      });
      await Promise.race([written, closed]);
      request.sent += end - at;
    }
    if (response.destroyed) return;
    at = end;
    if (fault?.byte !== at) continue;
    faults.splice(faults.indexOf(fault), 1);
    if (fault.kind === 'stall') return;
    if (fault.kind === 'cut') {
      // Waits until the client has read what was written: a reset would discard it.
      setTimeout(() => response.destroy(), 1000);
      return;
    }
    fault.kind();
  }
  response.end();
}
