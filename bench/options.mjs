// Values of the commands' options; a wrong one ends the program with a line that says so.
import { fail } from '../scripts/tools.mjs';

/** Names, with commas between them; of `known` ones where that is given. */
export function namesOf(option, text, known) {
  const names = text.split(',');
  for (const name of names) {
    if (known && !known.includes(name)) {
      fail(`--${option} "${name}" is unknown: expected ${known.join(', ')}`);
    }
  }
  return names;
}

/** Whole numbers from 1 on, with commas between them. */
export function countsOf(option, text) {
  return text.split(',').map((word) => {
    if (!/^[1-9]\d{0,3}$/.test(word)) fail(`--${option} "${word}": expected a number from 1 on`);
    return Number(word);
  });
}
