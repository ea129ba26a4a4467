// Starts Debian's Chromium, headless, for tests and benchmarks.
import { chromium } from 'playwright-core';

const options = {
  executablePath: '/usr/bin/chromium',
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
};

export function launchChromium(args = []) {
  return chromium.launch({ ...options, args: [...options.args, ...args] });
}

/**
 * Starts a browser that stores its pages' files in a folder, like a user's browser. The browser
 * above keeps them in another process's memory, and reading them takes several times as long.
 */
export function launchChromiumWithProfile(folder, args = []) {
  return chromium.launchPersistentContext(folder, { ...options, args: [...options.args, ...args] });
}
