// Fake engines that do not start: the page starts over or reports the error, within the time that
// docs/reliability.md states.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Kinglet } from '../../web/src/kinglet.ts';
import type { WorkerMessage } from '../../web/src/protocol.ts';
import { KingletError } from '../../web/src/errors.ts';
import type { LoadOptions, ModelSource } from '../../web/src/index.ts';
import type { StartWorker } from '../../web/src/worker-link.ts';
import type { HostEnvironment } from '../../web/src/worker/model-host.ts';
import { ModelHost } from '../../web/src/worker/model-host.ts';
import { FakeEngine } from './fake-engine.ts';

const second = 1000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type OpenEngine = HostEnvironment['openEngine'];

/** Returns workers that open their engine with `openEngine`, and counts how many start and end. */
function workers(openEngine: OpenEngine) {
  const counts = { started: 0, ended: 0 };
  const start: StartWorker = (listener) => {
    let alive = true;
    counts.started += 1;
    const post = (message: WorkerMessage) => {
      if (alive) listener.onMessage(structuredClone(message));
    };
    const host = new ModelHost({
      post,
      openEngine,
      openVision: () => Promise.reject(new Error('there is none')),
    });
    return Promise.resolve({
      post: (message) =>
        setTimeout(() => {
          host.receive(message);
        }),
      terminate: () => {
        alive = false;
        counts.ended += 1;
      },
      setBusy: () => undefined,
    });
  };
  return { start, counts };
}

const opened = (nThreads: number) => {
  const engine = new FakeEngine();
  engine.nPoolThreads = () => nThreads;
  return { engine, variant: 'fake', singleThreadReason: 'requested' as const };
};
const forever = new Promise<never>(() => undefined);

/** Opens engines of up to `most` threads; one with more threads never opens. Default: 8 threads. */
const opensWith =
  (most: number): OpenEngine =>
  async (nThreads = 8, _kernels, _plan, onStarting) => {
    onStarting(nThreads);
    return nThreads > most ? forever : opened(nThreads);
  };

/** Starts a load; returns its warnings and its outcome, with the time in milliseconds. */
function load(
  start: StartWorker,
  options: LoadOptions = {},
  source: ModelSource = new Blob(['story']),
) {
  const begun = Date.now();
  const warnings: KingletError[] = [];
  const onWarning = (warning: KingletError) => warnings.push(warning);
  const outcome = Kinglet.loadWith(start, source, { onWarning, ...options }).then(
    ({ info }) => ({ runtime: info.runtime, error: undefined, ms: Date.now() - begun }),
    (error: unknown) => ({ runtime: undefined, error, ms: Date.now() - begun }),
  );
  return { outcome, warnings };
}

it.each([
  { asked: 4, most: 2, nThreads: 2, seconds: 10, nStarted: 2 },
  { asked: 4, most: 1, nThreads: 1, seconds: 20, nStarted: 3 },
  { asked: 2, most: 1, nThreads: 1, seconds: 10, nStarted: 2 },
  { asked: undefined, most: 4, nThreads: 4, seconds: 10, nStarted: 2 },
  { asked: 4, most: 4, nThreads: 4, seconds: 0, nStarted: 1 },
])('$asked threads of which $most start', async ({ asked, most, seconds, ...expected }) => {
  const { start, counts } = workers(opensWith(most));
  const { outcome, warnings } = load(start, { nThreads: asked });
  await vi.advanceTimersByTimeAsync(60 * second);
  const { runtime, error, ms } = await outcome;
  expect(error).toBeUndefined();
  expect(runtime).toMatchObject({ nThreads: expected.nThreads });
  if (expected.nThreads === 1) expect(runtime).toMatchObject({ singleThreadReason: 'refused' });
  expect(Math.round(ms / second)).toBe(seconds);
  expect(counts).toEqual({ started: expected.nStarted, ended: expected.nStarted - 1 });
  expect(warnings.map(({ code }) => code)).toEqual(
    Array(expected.nStarted - 1).fill('worker_crashed'),
  );
  for (const { message } of warnings) {
    expect(message).toMatch(
      /\d threads gave no sign of life for 10 seconds; .* starts over with \d/,
    );
  }
  expect(vi.getTimerCount()).toBe(0);
});

it('one thread that does not start either is an error within 30 seconds', async () => {
  const { start, counts } = workers(opensWith(0));
  const { outcome } = load(start, { nThreads: 4 });
  await vi.advanceTimersByTimeAsync(31 * second);
  const { error } = await outcome;
  expect(error).toMatchObject({ code: 'worker_crashed' });
  expect(String(error)).toContain('an engine of 1 thread gave no sign of life for 10 seconds');
  expect(counts).toEqual({ started: 3, ended: 3 });
  expect(vi.getTimerCount()).toBe(0);
});

it('a stream is not read twice', async () => {
  const { start, counts } = workers(opensWith(1));
  const { outcome } = load(start, { nThreads: 2 }, new Blob(['story']).stream());
  await vi.advanceTimersByTimeAsync(11 * second);
  const { error } = await outcome;
  expect(error).toMatchObject({ code: 'worker_crashed' });
  expect(String(error)).toContain('with nThreads: 1');
  expect(counts).toEqual({ started: 1, ended: 1 });
});

it.each([0, 5, 15, 25])('aborting after %i seconds of silence settles at once', async (seconds) => {
  const { start, counts } = workers(opensWith(0));
  const controller = new AbortController();
  const { outcome } = load(start, { nThreads: 4, signal: controller.signal });
  await vi.advanceTimersByTimeAsync(seconds * second);
  controller.abort('enough');
  const { error, ms } = await outcome;
  expect({ error, ms }).toEqual({ error: 'enough', ms: seconds * second });
  await vi.advanceTimersByTimeAsync(60 * second);
  expect(counts.ended).toBe(counts.started);
  expect(vi.getTimerCount()).toBe(0);
});

it('an engine whose files take long is waited for as long as it says so', async () => {
  const { start, counts } = workers(async (nThreads = 1, _kernels, _plan, onStarting) => {
    for (let i = 0; i < 50; ++i) {
      onStarting(nThreads);
      await new Promise((resolve) => setTimeout(resolve, second));
    }
    return opened(nThreads);
  });
  const { outcome } = load(start, { nThreads: 3 });
  await vi.advanceTimersByTimeAsync(60 * second);
  expect(await outcome).toMatchObject({ runtime: { nThreads: 3 } });
  expect(counts.started).toBe(1);
});

it('a worker that never runs is an error within a minute', async () => {
  const start: StartWorker = () =>
    Promise.resolve({
      post: () => undefined,
      terminate: () => undefined,
      setBusy: () => undefined,
    });
  const { outcome } = load(start);
  await vi.advanceTimersByTimeAsync(61 * second);
  expect(await outcome).toMatchObject({ error: { code: 'worker_unavailable' }, ms: 60 * second });
});

it('a page that slept does not take that for silence', async () => {
  const { start, counts } = workers(async (nThreads = 1, _kernels, _plan, onStarting) => {
    onStarting(nThreads);
    await new Promise((resolve) => setTimeout(resolve, 3 * second));
    return opened(nThreads);
  });
  const { outcome } = load(start, { nThreads: 2 });
  await vi.advanceTimersByTimeAsync(second);
  vi.setSystemTime(Date.now() + 3_600_000); // the clock goes on, but timers do not
  await vi.advanceTimersByTimeAsync(5 * second);
  expect(await outcome).toMatchObject({ runtime: { nThreads: 2 } });
  expect(counts.started).toBe(1);
});

it.each([
  { nRefusals: 1, code: undefined },
  { nRefusals: 2, code: 'out_of_memory' },
])('memory that is refused $nRefusals times before the engine starts', async (row) => {
  let nLeft = row.nRefusals;
  const { start, counts } = workers((nThreads = 1) =>
    nLeft-- > 0
      ? Promise.reject(new KingletError('out_of_memory', 'refused'))
      : Promise.resolve(opened(nThreads)),
  );
  const { outcome } = load(start, { nThreads: 2 });
  await vi.advanceTimersByTimeAsync(5 * second);
  const { error, runtime } = await outcome;
  expect((error as KingletError | undefined)?.code).toBe(row.code);
  expect(runtime?.nThreads).toBe(row.code ? undefined : 2);
  expect(counts.started).toBe(2);
});
