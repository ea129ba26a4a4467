// Starts the browsers that the test files use, each when a file first asks for it, and ends them
// after the last file: a start costs seconds of processor time, and many files need a browser.
// Runs in vitest's own process; shared-browsers.ts asks it from the processes of the files.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserServer } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { launchChromiumServer } from '../../scripts/chromium.mjs';
import type { Address, Started } from './webdriver.ts';
import { startFirefox, startWebKit } from './webdriver.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the pool. */
    browserPool: string;
  }
}

/** Serves the browsers; returns a function that ends them. */
export default async function openPool(project: TestProject): Promise<() => Promise<void>> {
  const pool = new Pool();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      pool.answer(request.url ?? '', body).then(
        (answer) => response.end(JSON.stringify(answer)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
  server.requestTimeout = 0; // a browser may take long to start
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  project.provide('browserPool', `http://127.0.0.1:${String(port)}`);
  return async () => {
    server.closeAllConnections();
    server.close();
    await pool.end();
  };
}

class Pool {
  #chromium: Promise<BrowserServer> | undefined;
  readonly #started = new Set<Started>();
  /** The browsers that no file uses now. */
  readonly #idle: Started[] = [];

  async answer(path: string, body: string): Promise<unknown> {
    if (path === '/Chromium') return (await this.#sharedChromium()).wsEndpoint();
    if (path === '/Firefox') return this.#take('Firefox', startFirefox);
    if (path === '/WebKit') return this.#take('WebKit', startWebKit);
    const given = [...this.#started].find(({ address }) => JSON.stringify(address) === body);
    if (!given) throw new Error(`no such browser: ${body}`);
    if (path === '/give-back') this.#idle.push(given);
    else {
      this.#started.delete(given);
      await given.end();
    }
    return null;
  }

  async end(): Promise<void> {
    const chromium = await this.#chromium?.catch(() => undefined);
    await Promise.all([chromium?.close(), ...[...this.#started].map((started) => started.end())]);
  }

  /** All files use one Chromium at the same time: each has contexts of its own. */
  #sharedChromium(): Promise<BrowserServer> {
    this.#chromium ??= launchChromiumServer().then(
      (chromium) => {
        chromium.once('close', () => (this.#chromium = undefined)); // it has crashed
        return chromium;
      },
      (error: unknown) => {
        this.#chromium = undefined;
        throw error;
      },
    );
    return this.#chromium;
  }

  /** WebDriver has one page in one browser, so two files at the same time get two browsers. */
  async #take(kind: Address['kind'], start: () => Promise<Started>): Promise<Address> {
    const i = this.#idle.findIndex(({ address }) => address.kind === kind);
    const [found] = i < 0 ? [] : this.#idle.splice(i, 1);
    const started = found ?? (await start());
    this.#started.add(started);
    return started.address;
  }
}
