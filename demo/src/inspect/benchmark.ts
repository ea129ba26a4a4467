// The page's own benchmark: how fast the open model reads and writes here.
import type { Session } from 'kinglet';
import { stop } from '../talk/conversation.ts';
import { button, h } from '../ui/dom.ts';
import { bytes, compact, errorText, rate } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';

const promptLengths = [128, 512];
const nDrawn = 64;
const nRounds = 3;

export function benchmark(): HTMLElement {
  const output = h('pre', { id: 'benchmark-result', tabindex: '0', hidden: true });
  const status = h('p', { class: 'soft', role: 'status' }, 'Takes some seconds.');
  const copy = button('Copy', async () => {
    await navigator.clipboard.writeText(output.textContent);
    status.textContent = 'Copied';
  });
  copy.hidden = true;
  let running: AbortController | undefined;

  async function measure(model: WritingModel): Promise<void> {
    const { signal } = (running = new AbortController());
    run.textContent = 'Stop';
    try {
      await stop();
      output.textContent = await report(model, signal, (text) => {
        status.textContent = text;
      });
      status.textContent = 'Done';
      output.hidden = copy.hidden = false;
    } catch (error) {
      status.textContent = signal.aborted ? 'Stopped' : errorText(error);
    } finally {
      running = undefined;
      run.textContent = 'Run';
    }
  }

  const run = button(
    'Run',
    () => {
      if (running) running.abort();
      else if (canWrite(opened.value)) void measure(opened.value);
    },
    { id: 'benchmark-run' },
  );
  opened.subscribe((model) => {
    run.disabled = !canWrite(model);
  });
  return h(
    'section',
    {},
    h('h3', {}, 'Benchmark'),
    h('div', { class: 'row' }, run, copy),
    status,
    output,
  );
}

/** Returns one line each about the model, the engine and the browser, and a Markdown table. */
async function report(
  { name, kinglet, session: { info: sessionInfo } }: WritingModel,
  signal: AbortSignal,
  onProgress: (text: string) => void,
): Promise<string> {
  const { info } = kinglet;
  const { variant, kernels, nThreads } = info.runtime;
  const { k, v } = sessionInfo.kv;
  const session = await kinglet.newSession({ nCtx: sessionInfo.nCtx, kv: sessionInfo.kv });
  try {
    const rows: [string, number][] = [];
    for (const length of promptLengths.filter((n) => n < session.info.nCtx)) {
      onProgress(`Reading ${String(length)} tokens …`);
      const speed = await median(() => readingSpeed(session, info.nTokens, length, signal));
      rows.push([`reading ${String(length)} tokens`, speed]);
    }
    onProgress(`Writing ${String(nDrawn)} tokens …`);
    const speed = await median(() => writingSpeed(session, info.nTokens, signal));
    rows.push([`writing ${String(nDrawn)} tokens`, speed]);
    return [
      `${name}: ${compact(info.nParameters)} parameters, ${bytes(info.memory.weightBytes)}`,
      `Engine ${variant}, kernels ${kernels}, threads: ${String(nThreads)}, KV: ${k}/${v}`,
      `${browserName()}, ${String(navigator.hardwareConcurrency)} hardware threads`,
      '',
      '| test | tokens/s |',
      '|---|---|',
      ...rows.map(([test, tokensPerSecond]) => `| ${test} | ${rate(tokensPerSecond)} |`),
    ].join('\n');
  } finally {
    session.dispose();
  }
}

async function readingSpeed(
  session: Session,
  nTokens: number,
  length: number,
  signal: AbortSignal,
): Promise<number> {
  await session.truncate(0);
  const { timings } = await session.generate(anyTokens(nTokens, length), { maxTokens: 1, signal })
    .result;
  return timings.promptTokensPerSecond;
}

async function writingSpeed(
  session: Session,
  nTokens: number,
  signal: AbortSignal,
): Promise<number> {
  await session.truncate(0);
  const { timings } = await session.generate(anyTokens(nTokens, 16), {
    ...{ maxTokens: nDrawn, temperature: 1, topK: 0, topP: 1, minP: 0, seed: 1, lookup: 0, signal },
  }).result;
  return timings.tokensPerSecond;
}

/** Returns different tokens, the same at each call; their meaning does not change the speed. */
function anyTokens(nTokens: number, length: number): number[] {
  return Array.from({ length }, (_, i) => (i * 7919 + 13) % nTokens);
}

async function median(measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < nRounds; ++round) values.push(await measure());
  return values.sort((a, b) => a - b)[nRounds >> 1] ?? 0;
}

function browserName(): string {
  const names = /(?:Firefox|Edg|Chrome|Version)\/[\d.]+/.exec(navigator.userAgent);
  return names?.[0].replace('/', ' ').replace('Version', 'Safari') ?? 'Unknown browser';
}
