// The most memory that a page's process had: resident bytes, as the system counts them. The process
// has the page, its workers and their heaps, but not the page's Blobs, which the browser process
// keeps. Linux only.
import { readdirSync, readFileSync } from 'node:fs';

/** The largest peak of the renderers of the browser with this profile. */
export function peakOfRenderers(profile) {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readProcess(pid) ?? []);
  const browser = processes.find(
    ({ command }) => command.includes(`--user-data-dir=${profile}`) && !command.includes('--type='),
  );
  if (!browser) return undefined;
  const family = new Set([browser.pid]);
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const { pid, parent } of processes) if (family.has(parent)) family.add(pid);
  }
  const peaks = processes
    .filter(({ pid, command }) => family.has(pid) && command.includes('--type=renderer'))
    .map(({ peakBytes }) => peakBytes);
  return peaks.length > 0 ? Math.max(...peaks) : undefined;
}

/** Reads a process's facts; undefined if the process has ended. */
function readProcess(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return { pid: Number(pid), parent: field('PPid'), command, peakBytes: field('VmHWM') * 1024 };
  } catch {
    return undefined;
  }
}
