// The model in use: the embedded one at first, then whatever was dropped or picked.
import { Kinglet } from 'kinglet';
import type { LoadProgress, ModelInfo, SingleThreadReason } from 'kinglet';
import { clearError, page, showError } from './page.ts';

export interface NamedSource {
  name: string;
  source: URL | File;
}

export const embedded: NamedSource = {
  name: 'Kinglet Stories 5M',
  source: new URL('../models/kinglet-stories-5m-Q4_0.gguf', import.meta.url),
};

// For experiments: ?threads=2&kernels=scalar&ctx=256
const query = new URLSearchParams(location.search);
const loadOptions = {
  nThreads: queryNumber('threads'),
  nCtx: queryNumber('ctx'),
  kernels: query.get('kernels') ?? undefined,
};

let current: Kinglet | undefined;
let loading: AbortController | undefined;

export function currentModel(): Kinglet | undefined {
  return current;
}

/** Replaces the model once the new one is ready; until then, and on an error, the old one stays. */
export async function useModel({ name, source }: NamedSource): Promise<void> {
  loading?.abort();
  const controller = new AbortController();
  loading = controller;
  clearError();
  page.progress.classList.remove('done');
  page.progress.removeAttribute('value');
  try {
    const model = await Kinglet.load(source, {
      ...loadOptions,
      signal: controller.signal,
      onProgress: showProgress,
    });
    current?.dispose();
    current = model;
    showModel(name, model.info);
    page.tell.disabled = false;
  } catch (error) {
    // A newer load has taken over the page when this one was aborted.
    if (controller.signal.aborted) return;
    showError(error, `${name} could not be loaded`);
  }
  page.progress.classList.add('done');
}

function showProgress({ loaded, total }: LoadProgress): void {
  if (total) page.progress.value = loaded / total;
}

function showModel(name: string, info: ModelInfo): void {
  page.modelName.textContent = info.name || name;
  page.modelFacts.textContent = [
    info.architecture,
    `${compact(info.nParameters)} parameters`,
    `${megabytes(info.memory.weightBytes)} of weights`,
    `${String(info.nCtx)} tokens of context`,
  ].join(' · ');
  const { variant, kernels, nThreads, singleThreadReason } = info.runtime;
  const threads = nThreads === 1 ? '1 thread' : `${String(nThreads)} threads`;
  const why = singleThreadReason ? ` (${reasons[singleThreadReason]})` : '';
  page.runtime.textContent = `Engine ${variant}, kernels ${kernels}, ${threads}${why}`;
}

const reasons: Record<SingleThreadReason, string> = {
  not_isolated: 'this site is served without the COOP and COEP headers that threads need',
  refused: 'this browser refused the memory or the workers that threads need',
  requested: 'as asked for',
  one_core: 'this machine has no core to spare',
};

function compact(count: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 2 }).format(
    count,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function queryNumber(name: string): number | undefined {
  const value = query.get(name);
  return value === null ? undefined : Number(value);
}
