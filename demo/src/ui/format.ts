// Formats numbers and errors for people.
import { KingletError } from 'kinglet';
import type { Message } from './closable.ts';

const compactNumber = new Intl.NumberFormat('en', {
  notation: 'compact',
  maximumSignificantDigits: 2,
});

export function count(value: number): string {
  return value.toLocaleString('en');
}

/** 5200000 → "5.2M" */
export function compact(value: number): string {
  return compactNumber.format(value);
}

/** 3100000 → "3.1 MB" */
export function bytes(value: number): string {
  if (value < 1e3) return `${String(value)} B`;
  const [unit, size] = value < 1e6 ? ['kB', 1e3] : value < 1e9 ? ['MB', 1e6] : ['GB', 1e9];
  const scaled = value / size;
  return `${scaled.toFixed(scaled < 100 ? 1 : 0)} ${unit}`;
}

/** Formats tokens per second. */
export function rate(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}

export function seconds(value: number): string {
  if (value < 90) return `${String(Math.ceil(value))} s`;
  const minutes = Math.ceil(value / 60);
  return minutes < 90 ? `${String(minutes)} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function percent(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return '<0.1 %';
  return `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

/** Whether a load failed because this device is offline. The engine's own files may be missing, too. */
function isOffline(error: unknown): boolean {
  if (navigator.onLine || !(error instanceof KingletError)) return false;
  return error.code === 'network' || error.code === 'worker_unavailable';
}

/** A button that does it again, for an error after which that may help. */
export function tryAgain(error: unknown, act: () => unknown): Message['action'] {
  const mayHelp = error instanceof KingletError && error.code === 'network';
  return mayHelp || isOffline(error) ? { name: 'Try again', act } : undefined;
}

/** The error's message, with the error code if it has one. */
export function errorText(error: unknown): string {
  if (isOffline(error)) return 'this device is offline';
  if (error instanceof KingletError) return `${error.message} (${error.code})`;
  return error instanceof Error ? error.message : String(error);
}
