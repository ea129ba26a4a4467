// Drives Debian's Firefox and WebKit without a screen by WebDriver's commands: Firefox takes them
// on a socket (Marionette), WebKit through the HTTP server of its driver.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A browser with one page. */
export interface Driven {
  goto(url: string): Promise<void>;
  /** Runs a function body in the page; its last argument is a callback for the answer (JSON). */
  executeAsync(script: string, args: unknown[]): Promise<unknown>;
  /** Lets go of the browser, which runs on. */
  leave(): Promise<void>;
}

/** Where a started browser takes commands: from any process, but from one at a time. */
export type Address = { kind: 'Firefox'; port: number } | { kind: 'WebKit'; session: string };

export interface Started {
  address: Address;
  end(): Promise<void>;
}

const startMs = 60_000;
/** Longer than any test: the test itself reports what takes too long. */
const scriptMs = 3_600_000;

export async function startFirefox(): Promise<Started> {
  const program = programOf('firefox-esr', '/usr/bin/firefox-esr');
  const profile = mkdtempSync(join(tmpdir(), 'kinglet-firefox-'));
  // Firefox chooses a free port and writes it into its profile.
  writeFileSync(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n');
  const args = ['--headless', '--no-remote', '--profile', profile, '--marionette'];
  const firefox = new Program(program, args);
  const end = async () => {
    await firefox.end();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  return startOrEnd(end, async () => {
    const portFile = join(profile, 'MarionetteActivePort');
    const port = await until(() =>
      existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) || undefined : undefined,
    );
    return { kind: 'Firefox', port };
  });
}

export async function startWebKit(): Promise<Started> {
  const program = programOf('webkit2gtk-driver', '/usr/bin/WebKitWebDriver');
  const binary = programOf(
    'webkit2gtk-driver',
    '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser',
    '/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser',
  );
  const screen = new Program(programOf('xvfb', '/usr/bin/Xvfb'), [
    ...['-displayfd', '1', '-nolisten', 'tcp', '-screen', '0', '1280x1024x24'],
  ]);
  let driver: Program | undefined;
  const end = async () => {
    await driver?.end();
    await screen.end();
  };
  return startOrEnd(end, async () => {
    const display = await until(() => /^\d+\n/.exec(screen.output)?.[0].trim());
    const port = String(await freePort());
    driver = new Program(program, [`--port=${port}`], {
      DISPLAY: `:${display}`,
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      // Safari gives isolated pages SharedArrayBuffer; WebKitGTK under WebDriver does not.
      JSC_useSharedArrayBuffer: '1',
      // The sandbox does not work for root; it is not needed, as the pages here are our own.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    });
    const url = `http://127.0.0.1:${port}`;
    await until(() => webDriver(`${url}/status`, undefined).catch(() => undefined));
    const options = { binary, args: ['--automation'] };
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } };
    const created = await webDriver(`${url}/session`, { capabilities });
    const session = `${url}/session/${(created as { sessionId: string }).sessionId}`;
    await webDriver(`${session}/timeouts`, { script: scriptMs });
    return { kind: 'WebKit', session };
  });
}

async function startOrEnd(
  end: () => Promise<void>,
  start: () => Promise<Address>,
): Promise<Started> {
  try {
    return { address: await start(), end };
  } catch (error) {
    await end();
    throw error;
  }
}

export async function drive(address: Address): Promise<Driven> {
  if (address.kind === 'WebKit') {
    const { session } = address;
    return {
      goto: async (url) => {
        await webDriver(`${session}/url`, { url });
      },
      executeAsync: (script, args) => webDriver(`${session}/execute/async`, { script, args }),
      leave: () => Promise.resolve(),
    };
  }
  const marionette = await Marionette.connect(address.port);
  await marionette.send('WebDriver:NewSession', {});
  await marionette.send('WebDriver:SetTimeouts', { script: scriptMs });
  return {
    goto: async (url) => {
      await marionette.send('WebDriver:Navigate', { url });
    },
    executeAsync: async (script, args) =>
      (await marionette.send('WebDriver:ExecuteAsyncScript', { script, args })).value,
    leave: async () => {
      await marionette.send('WebDriver:DeleteSession', {});
      marionette.close();
    },
  };
}

/** Returns the first of the paths that exists. */
function programOf(debianPackage: string, ...paths: string[]): string {
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    `${paths.join(', ')}: not there; scripts/setup browser installs ${debianPackage}`,
  );
}

/** Calls `get` until it returns a value; fails after `startMs`. */
async function until<T>(get: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const end = performance.now() + startMs;
  for (;;) {
    const value = await get();
    if (value !== undefined) return value;
    if (performance.now() > end)
      throw new Error(`the browser did not start in ${String(startMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A running program, with the processes that it starts. */
class Program {
  output = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #kill = () => {
    try {
      process.kill(-(this.#child.pid ?? NaN), 'SIGKILL');
    } catch {
      // It has ended.
    }
  };

  constructor(program: string, args: string[], env: Record<string, string> = {}) {
    this.#child = spawn(program, args, {
      detached: true, // starts its own process group
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child.stdout?.on('data', (data) => (this.output += String(data)));
    this.#ended = new Promise((resolve) =>
      this.#child.once('close', () => {
        resolve();
      }),
    );
    process.once('exit', this.#kill);
  }

  async end(): Promise<void> {
    process.off('exit', this.#kill);
    this.#kill();
    await this.#ended;
  }
}

/** Firefox's protocol: LENGTH:JSON of [0, id, command, parameters] or [1, id, error, result]. */
class Marionette {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (message: unknown[]) => void>();
  #received: Buffer = Buffer.alloc(0);
  #nextId = 1;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#readMessages();
    });
    socket.on('close', () => {
      for (const [id, answer] of this.#waiting) answer([1, id, { message: 'Firefox ended' }]);
    });
  }

  static async connect(port: number): Promise<Marionette> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new Marionette(socket);
  }

  async send(command: string, params: object): Promise<{ value?: unknown }> {
    const id = this.#nextId++;
    const text = Buffer.from(JSON.stringify([0, id, command, params]));
    const answer = new Promise<unknown[]>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.write(Buffer.concat([Buffer.from(`${String(text.length)}:`), text]));
    const [, , error, result] = await answer;
    if (error) throw new Error(`${command}: ${JSON.stringify(error)}`);
    return result as { value?: unknown };
  }

  close(): void {
    this.#socket.destroy();
  }

  #readMessages(): void {
    for (;;) {
      const colon = this.#received.indexOf(':');
      const end = colon + 1 + Number(this.#received.toString('latin1', 0, colon));
      if (colon < 0 || this.#received.length < end) return;
      const message: unknown = JSON.parse(this.#received.toString('utf8', colon + 1, end));
      this.#received = this.#received.subarray(end);
      if (!Array.isArray(message)) continue; // the greeting
      const id = message[1] as number;
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    }
  }
}

/** Sends a request to WebDriver's HTTP server: POST with a body, GET without one. */
function webDriver(url: string, body: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // fetch() would give up on an answer that takes longer than five minutes.
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(url, { method }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${url}: ${text}`));
        else resolve((JSON.parse(text) as { value: unknown }).value);
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}
