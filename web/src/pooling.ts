import type { Pooling } from './types.ts';

const poolings: readonly unknown[] = ['mean', 'cls', 'last'] satisfies Pooling[];

export function isPooling(value: unknown): value is Pooling {
  return poolings.includes(value);
}
