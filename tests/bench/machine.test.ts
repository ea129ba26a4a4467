import { describe, expect, it } from 'vitest';
import { processorName } from '../../bench/machine.mjs';

const cpuinfo = (vendor: string, family: number, model: number) =>
  `processor\t: 0\nvendor_id\t: ${vendor}\ncpu family\t: ${String(family)}\nmodel\t\t: ${String(model)}\nmodel name\t: X\n`;

describe('the name of a processor', () => {
  it('says which design it is, where family and model tell', () => {
    const name = (family: number, model: number) =>
      processorName('AMD EPYC', cpuinfo('AuthenticAMD', family, model)) as string;
    expect(name(26, 2)).toBe('AMD EPYC (Zen 5, family 26, model 2)');
    expect(name(25, 17)).toBe('AMD EPYC (Zen 4, family 25, model 17)');
    expect(name(25, 1)).toBe('AMD EPYC (Zen 3, family 25, model 1)');
    expect(name(26, 0x50)).toBe('AMD EPYC (family 26, model 80)');
    expect(processorName('Xeon', cpuinfo('GenuineIntel', 26, 2))).toBe('Xeon (family 26, model 2)');
  });

  it('is what the system gives where nothing tells', () => {
    expect(processorName('Apple M2', '')).toBe('Apple M2');
  });
});
