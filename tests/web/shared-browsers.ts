// The browsers that a test file shares with other files: see browser-pool.ts. A file that measures
// its browser's processes, or needs its own flags, starts a browser of its own.
import { request } from 'node:http';
import type { Browser } from 'playwright-core';
import { inject } from 'vitest';
import { connectChromium } from '../../scripts/chromium.mjs';
import type { Address, Driven } from './webdriver.ts';
import { drive } from './webdriver.ts';

/** Returns a browser whose `close()` closes what was opened from here; contexts share nothing. */
export async function shareChromium(): Promise<Browser> {
  return connectChromium(await ask('/Chromium'));
}

export interface TakenBrowser extends Omit<Driven, 'leave'> {
  /** Gives the browser back, for the next file. */
  close(): Promise<void>;
}

/**
 * Takes a browser that no other file uses. Its storage keeps what other files have stored, but for
 * their servers' ports, which are other sites.
 */
export async function takeBrowser(kind: Address['kind']): Promise<TakenBrowser> {
  const address = (await ask(`/${kind}`)) as Address;
  const driven = await drive(address);
  let nRunning = 0;
  return {
    goto: (url) => driven.goto(url),
    executeAsync: async (script, args) => {
      nRunning += 1;
      const answer = await driven.executeAsync(script, args);
      nRunning -= 1;
      return answer;
    },
    close: async () => {
      // A browser with a script that does not end, or that failed, is of no use to others.
      const isIdle = nRunning === 0 && (await isLeft(driven));
      await ask(isIdle ? '/give-back' : '/end', address);
    },
  };
}

/** Closes the page, which ends its workers and frees its models; returns whether that worked. */
async function isLeft(driven: Driven): Promise<boolean> {
  try {
    await driven.goto('about:blank');
    await driven.leave();
    return true;
  } catch {
    return false;
  }
}

function ask(path: string, body?: Address): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request(inject('browserPool') + path, { method: 'POST' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(text));
      });
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}
