// Reads values of command-line options. A wrong value ends the program with a message.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fail } from '../scripts/tools.mjs';

/**
 * Parses the program's arguments, as parseArgs() does. With --help, prints the comment at the
 * beginning of the program, which describes its options, and ends.
 */
export function readOptions(config) {
  let parsed;
  try {
    const help = { type: 'boolean', short: 'h', default: false };
    parsed = parseArgs({ ...config, options: { ...config.options, help } });
  } catch (error) {
    fail(`${error.message.split('. ')[0]} (--help lists the options)`);
  }
  if (!parsed.values.help) return parsed;
  const source = readFileSync(process.argv[1], 'utf8');
  const [comment] = /^(\/\/.*\n)+/.exec(source);
  process.stdout.write(comment.replaceAll(/^\/\/ ?/gm, ''));
  process.exit(0);
}

/** Reads names, separated by commas. If `known` is given, other names are errors. */
export function namesOf(option, text, known) {
  const names = text.split(',');
  for (const name of names) {
    if (known && !known.includes(name)) {
      fail(`--${option} "${name}" is unknown: expected ${known.join(', ')}`);
    }
  }
  return names;
}

/** Reads whole numbers from 1 to 9999, separated by commas. */
export function countsOf(option, text) {
  return text.split(',').map((word) => {
    if (!/^[1-9]\d{0,3}$/.test(word)) fail(`--${option} "${word}": expected a number from 1 on`);
    return Number(word);
  });
}
