// Reads values of command-line options. A wrong value ends the program with a message.
import { fail } from '../scripts/tools.mjs';

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
