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

/** A browser, which begins with one page. Commands go to the tab that was switched to. */
export interface Driven {
  goto(url: string): Promise<void>;
  /** Runs a function body in the page; its last argument is a callback for the answer (JSON). */
  executeAsync(script: string, args: unknown[]): Promise<unknown>;
  /** Opens another tab, and returns its handle. */
  newTab(): Promise<string>;
  switchTo(tab: string): Promise<void>;
  /** Closes the tab that was switched to. */
  closeTab(): Promise<void>;
  close(): Promise<void>;
}

const startMs = 60_000;
/** Longer than any test: the test itself reports what takes too long. */
const scriptMs = 3_600_000;

/** The address of the extension that openFirefox() loads. */
export const firefoxExtension = 'moz-extension://11111111-2222-4333-8444-555555555555/';

export interface DrivenFirefox extends Driven {
  /** Clicks as a user does, who may then open panels and popups. */
  click(selector: string): Promise<void>;
}

/** `extension`: an extension to load, with the id in its manifest. */
export async function openFirefox(extension?: {
  folder: string;
  id: string;
}): Promise<DrivenFirefox> {
  const program = programOf('firefox-esr', '/usr/bin/firefox-esr');
  const profile = mkdtempSync(join(tmpdir(), 'kinglet-firefox-'));
  // Firefox chooses a free port and writes it into its profile.
  const preferences: Record<string, unknown> = { 'marionette.port': 0 };
  if (extension) {
    const { host } = new URL(firefoxExtension);
    preferences['extensions.webextensions.uuids'] = JSON.stringify({ [extension.id]: host });
  }
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join(''));
  const args = ['--headless', '--no-remote', '--profile', profile, '--marionette'];
  if (extension) args.push('--remote-allow-system-access'); // allows its pages
  const firefox = new Program(program, args);
  const close = async () => {
    await firefox.end();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  return openOrClose(close, async () => {
    const portFile = join(profile, 'MarionetteActivePort');
    const port = await until(() =>
      existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) || undefined : undefined,
    );
    const marionette = await Marionette.connect(port);
    await marionette.send('WebDriver:NewSession', {});
    await marionette.send('WebDriver:SetTimeouts', { script: scriptMs });
    if (extension) {
      await marionette.send('Addon:Install', { path: extension.folder, temporary: true });
    }
    return {
      goto: async (url) => {
        await marionette.send('WebDriver:Navigate', { url });
      },
      executeAsync: async (script, scriptArgs) => {
        const params = { script, args: scriptArgs };
        return (await marionette.send('WebDriver:ExecuteAsyncScript', params)).value;
      },
      newTab: async () => {
        const opened = await marionette.send('WebDriver:NewWindow', { type: 'tab' });
        return (opened as { handle: string }).handle;
      },
      switchTo: async (handle) => {
        await marionette.send('WebDriver:SwitchToWindow', { handle });
      },
      closeTab: async () => {
        await marionette.send('WebDriver:CloseWindow', {});
      },
      click: async (selector) => {
        const found = { using: 'css selector', value: selector };
        const { value } = await marionette.send('WebDriver:FindElement', found);
        const [id] = Object.values(value as Record<string, string>);
        await marionette.send('WebDriver:ElementClick', { id });
      },
    };
  });
}

export async function openWebKit(): Promise<Driven> {
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
  const close = async () => {
    await driver?.end();
    await screen.end();
  };
  return openOrClose(close, async () => {
    const display = await until(() => /^\d+\n/.exec(screen.output)?.[0].trim());
    const port = await freePort();
    driver = new Program(program, [`--port=${String(port)}`], {
      DISPLAY: `:${display}`,
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      // Safari gives isolated pages SharedArrayBuffer; WebKitGTK under WebDriver does not.
      JSC_useSharedArrayBuffer: '1',
      // The sandbox does not work for root; it is not needed, as the pages here are our own.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    });
    const send = (path: string, body: unknown) => webDriver(port, path, body);
    await until(() => send('/status', undefined).catch(() => undefined));
    const options = { binary, args: ['--automation'] };
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } };
    const { sessionId } = (await send('/session', { capabilities })) as { sessionId: string };
    const session = `/session/${sessionId}`;
    await send(`${session}/timeouts`, { script: scriptMs });
    return {
      goto: async (url) => {
        await send(`${session}/url`, { url });
      },
      executeAsync: (script, args) => send(`${session}/execute/async`, { script, args }),
      newTab: async () => {
        const opened = await send(`${session}/window/new`, { type: 'tab' });
        return (opened as { handle: string }).handle;
      },
      switchTo: async (handle) => {
        await send(`${session}/window`, { handle });
      },
      closeTab: async () => {
        await webDriver(port, `${session}/window`, undefined, 'DELETE');
      },
    };
  });
}

async function openOrClose<T extends Omit<Driven, 'close'>>(
  close: () => Promise<void>,
  open: () => Promise<T>,
): Promise<T & Pick<Driven, 'close'>> {
  try {
    return { ...(await open()), close };
  } catch (error) {
    await close();
    throw error;
  }
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
    await new Promise((resolve) => setTimeout(resolve, 50));
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

/** Sends a request to WebDriver's HTTP server. */
function webDriver(
  port: number,
  path: string,
  body: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // fetch() would give up on an answer that takes longer than five minutes.
    const sent = request({ host: '127.0.0.1', port, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${text}`));
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
