// Finds out the machine's name.
import { existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

// AMD families with several designs. The upper half of the model number shows the design.
// Source: Linux, arch/x86/kernel/cpu/amd.c.
const amdDesigns = [
  { family: 25, design: 'Zen 3', models: [0x0, 0x2, 0x4, 0x5] },
  { family: 25, design: 'Zen 4', models: [0x1, 0x6, 0x7, 0x8, 0x9, 0xa] },
  { family: 26, design: 'Zen 5', models: [0x0, 0x1, 0x2, 0x4, 0x6, 0x7] },
];

/** "AMD EPYC (Zen 5, family 26, model 2), 2 threads" */
export function machineName() {
  const file = '/proc/cpuinfo';
  const info = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return `${processorName(cpus()[0].model, info)}, ${cpus().length} threads`;
}

/**
 * Adds the design from /proc/cpuinfo to the name, because names in virtual machines lack the number
 * that would show it.
 */
export function processorName(name, cpuinfo) {
  const field = (key) => new RegExp(`^${key}\\s*: (.*)$`, 'm').exec(cpuinfo)?.[1];
  const family = field('cpu family');
  const model = field('model');
  if (family === undefined || model === undefined) return name;
  const design =
    field('vendor_id') === 'AuthenticAMD' &&
    amdDesigns.find((row) => row.family === Number(family) && row.models.includes(model >> 4));
  return `${name} (${design ? `${design.design}, ` : ''}family ${family}, model ${model})`;
}
