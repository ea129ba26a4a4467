// Debian's Chromium, headless, as tests and benchmarks drive it.
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
 * A browser whose pages keep their files in a folder, as a user's does: those of the one above lie
 * in another process's memory, from where reading takes several times as long.
 */
export function launchChromiumWithProfile(folder, args = []) {
  return chromium.launchPersistentContext(folder, { ...options, args: [...options.args, ...args] });
}
