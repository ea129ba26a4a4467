// Starts Debian's Chromium for tests and benchmarks.
import { chromium } from 'playwright-core';

const options = {
  executablePath: '/usr/bin/chromium',
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
};

/** Starts the whole browser, without a display. */
export function launchChromium(args = []) {
  return chromium.launch({ ...options, args: [...options.args, ...args] });
}

/**
 * Starts the browser's headless shell: the same engine without the windows around a page, whose
 * processes take more time than most tests.
 */
export function launchHeadlessShell(args = []) {
  const executablePath = '/usr/bin/chromium-headless-shell';
  return chromium.launch({ ...options, executablePath, args: [...options.args, ...args] });
}

/**
 * Starts a browser that stores its pages' files in a folder, like a user's browser. The browsers
 * above keep them in another process's memory, and reading them takes several times as long.
 */
export function launchChromiumWithProfile(folder, args = []) {
  return chromium.launchPersistentContext(folder, { ...options, args: [...options.args, ...args] });
}
