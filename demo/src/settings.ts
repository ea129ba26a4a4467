// The settings, their defaults, and where they are remembered.
import type { GenerateOptions, KvChoice, KvKind, ModelInfo } from 'kinglet';
import { Observable } from './ui/observable.ts';

export interface Settings {
  // For the next answer
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repeatPenalty: number;
  maxTokens: number;
  /** Undefined draws a new seed each time. */
  seed: number | undefined;
  /** The system message of chats; empty for none. */
  system: string;
  // For a new session
  /** Tokens of context; undefined: the length that the model was trained for, up to a limit. */
  nCtx: number | undefined;
  kvKeys: KvChoice;
  kvValues: KvChoice;
  // For loading the model again
  /** Undefined leaves the choice to the engine, also for the kernels. */
  nThreads: number | undefined;
  kernels: string | undefined;
}

export const kvKinds: readonly KvKind[] = [
  ...(['f32', 'f16', 'q8', 'int8', 'fp8_e4m3', 'fp8_e5m2', 'q4'] as const),
];

export const kvChoices: readonly KvChoice[] = ['auto', ...kvKinds];

/** The name of each kind, and the memory that it takes compared with 32-bit floats. */
export const kvKindNames: Record<KvChoice, { name: string; about: string }> = {
  auto: { name: 'Automatic', about: 'Fast in long texts, with no visible loss.' },
  f32: { name: '32-bit floats', about: 'Nothing is rounded.' },
  f16: { name: '16-bit floats', about: 'Half the memory.' },
  q8: { name: '8-bit integers, by 32', about: 'About a quarter of the memory; 32 share a scale.' },
  int8: {
    name: '8-bit integers, by head',
    about: 'A quarter of the memory; a head shares a scale.',
  },
  fp8_e4m3: { name: '8-bit floats, finer', about: 'A quarter of the memory; finer steps (E4M3).' },
  fp8_e5m2: {
    name: '8-bit floats, wider',
    about: 'A quarter of the memory; a wider range (E5M2).',
  },
  q4: { name: '4-bit integers, by 32', about: 'About a seventh of the memory, and the coarsest.' },
};

export const kernelSets = ['relaxed-simd', 'simd128', 'scalar'] as const;

export type Sampling = Pick<Settings, 'temperature' | 'topK' | 'topP' | 'minP' | 'repeatPenalty'>;

const usual: Sampling = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, repeatPenalty: 1 };

export const defaultSettings: Settings = {
  ...usual,
  maxTokens: 256,
  seed: undefined,
  system: '',
  nCtx: undefined,
  kvKeys: 'auto',
  kvValues: 'auto',
  nThreads: undefined,
  kernels: undefined,
};

export function generateOptions(from: Settings): GenerateOptions {
  const { temperature, topK, topP, minP, repeatPenalty, maxTokens, seed } = from;
  return { temperature, topK, topP, minP, repeatPenalty, maxTokens, seed };
}

export const presets: Record<string, Sampling> = {
  Balanced: usual,
  Precise: { temperature: 0.3, topK: 40, topP: 0.9, minP: 0.1, repeatPenalty: 1 },
  Creative: { temperature: 1.2, topK: 0, topP: 0.98, minP: 0.05, repeatPenalty: 1.1 },
  Greedy: { temperature: 0, topK: 0, topP: 1, minP: 0, repeatPenalty: 1 },
};

export function isSampling(current: Settings, wanted: Sampling): boolean {
  return (Object.keys(wanted) as (keyof Sampling)[]).every(
    (name) => current[name] === wanted[name],
  );
}

/** The file's recommended values, and usual ones for the rest; undefined if it recommends none. */
export function recommendedSampling({ sampling }: ModelInfo): Sampling | undefined {
  if (Object.keys(sampling).length === 0) return undefined;
  const { temperature, topK, topP, minP, repeatPenalty } = { ...usual, ...sampling };
  return { temperature, topK, topP, minP, repeatPenalty };
}

let followed = usual;

/** Switches to the values that a file recommends, unless the visitor has chosen others. */
export function followModel(info: ModelInfo): void {
  const wanted = recommendedSampling(info) ?? usual;
  if (isSampling(settings.value, followed)) settings.value = { ...settings.value, ...wanted };
  followed = wanted;
}

const storageKey = 'kinglet settings';

export const settings = new Observable<Settings>({ ...defaultSettings, ...stored(), ...asked() });

export function changeSettings(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  try {
    localStorage.setItem(storageKey, JSON.stringify(settings.value));
  } catch {
    // Storage is denied or full: the settings last as long as the page.
  }
}

/** The stored settings of an earlier visit, without those that no longer have the right type. */
function stored(): Partial<Settings> {
  try {
    const found = JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Record<string, unknown>;
    const names = Object.keys(defaultSettings) as (keyof Settings)[];
    return Object.fromEntries(
      names.flatMap((name) => (fits(name, found[name]) ? [[name, found[name]]] : [])),
    );
  } catch {
    return {};
  }
}

function fits(name: keyof Settings, value: unknown): boolean {
  if (value === undefined) return false;
  if (name === 'kvKeys' || name === 'kvValues') return kvChoices.some((kind) => kind === value);
  if (name === 'kernels') return kernelSets.some((set) => set === value);
  return typeof value === (name === 'system' ? 'string' : 'number');
}

/**
 * The settings in the page's address, for links and experiments:
 * ?threads=2&kernels=scalar&ctx=256&tokens=60&temperature=0&seed=1
 */
function asked(): Partial<Settings> {
  const names = {
    ...({ threads: 'nThreads', ctx: 'nCtx', tokens: 'maxTokens' } as const),
    ...({ temperature: 'temperature', seed: 'seed' } as const),
  };
  const query = new URLSearchParams(location.search);
  const found: Partial<Settings> = {};
  for (const [name, setting] of Object.entries(names)) {
    const value = query.get(name);
    if (value !== null && Number.isFinite(Number(value))) found[setting] = Number(value);
  }
  const kernels = query.get('kernels');
  if (kernels !== null) found.kernels = kernels;
  return found;
}
