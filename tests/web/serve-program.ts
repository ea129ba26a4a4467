// Starts `kinglet serve` for a test file, on its own port.
import { spawn, type ChildProcess } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import OpenAI from 'openai';
import { program } from '../cli/program.ts';

export interface Served {
  url: string;
  port: number;
  process: ChildProcess;
  /** Returns all of standard error so far. */
  log: () => string;
  client: OpenAI;
  stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

export async function serve(model: string, options: string[] = [], apiKey = ''): Promise<Served> {
  const child = spawn(program, ['serve', '-m', model, '--port', '0', ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const found = / at (http:\S+)\n/.exec(log)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => {
      reject(new Error(log));
    });
  });
  return {
    ...{ url, process: child, port: Number(new URL(url).port), log: () => log },
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: apiKey || 'none', maxRetries: 0 }),
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Opens a TCP connection; `answer` is all that has come back when the connection closes. */
export function rawConnection(port: number): { socket: Socket; answer: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (piece: string) => (text += piece));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(text);
    });
  });
  return { socket, answer };
}

/** Returns the server's metric of that name, which /metrics gives in Prometheus' format. */
export async function metric(served: Served, name: string): Promise<number> {
  const text = await (await fetch(`${served.url}/metrics`)).text();
  return Number(new RegExp(`^kinglet_${name} (.*)$`, 'm').exec(text)?.[1]);
}
