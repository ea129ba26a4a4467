// Ranges of numbers as what their digits may be.
import { alternatives, literal, repeat, sequence, set } from './gbnf.ts';

/** An end of a range; `open`: it does not belong to it. */
export interface Bound {
  value: number;
  open: boolean;
}

/** As many digits as doubles hold exactly. */
const maxDigits = 15;
const fractionDigits = 6;

export const anyInteger = `"-"? ("0" | [1-9] [0-9]{0,${String(maxDigits - 1)}})`;
export const anyNumber = `${anyInteger} ("." [0-9]{1,${String(maxDigits)}})? ([eE] [-+]? [0-9]{1,2})?`;

/** Whole numbers from least to most, undefined without bound; none where the range is empty. */
export function integers(least: number | undefined, most: number | undefined): string[] {
  const out: string[] = [];
  if (least === undefined || least < 0) {
    const magnitudes = naturals(Math.max(1, -(most ?? -1)), least === undefined ? least : -least);
    if (magnitudes.length > 0) out.push(sequence('"-"', alternatives(magnitudes)));
  }
  if (most === undefined || most >= 0) out.push(...naturals(Math.max(0, least ?? 0), most));
  return out;
}

/** Numbers between two bounds, of which there is at least one, both of them whole. */
export function decimals(least: Bound | undefined, most: Bound | undefined): string[] {
  const zero: Bound = { value: 0, open: false };
  const out: string[] = [];
  if (!least || least.value < 0) {
    const nearest = !most || most.value >= 0 ? { value: 0, open: true } : negated(most);
    const magnitudes = nonNegative(nearest, least && negated(least));
    if (magnitudes.length > 0) out.push(sequence('"-"', alternatives(magnitudes)));
  }
  if (!most || most.value >= 0) {
    out.push(...nonNegative(!least || least.value < 0 ? zero : least, most));
  }
  return out;
}

function negated({ value, open }: Bound): Bound {
  return { value: -value, open };
}

/** Few enough digits behind the point that rounding never reaches a bound. */
function nonNegative(least: Bound, most: Bound | undefined): string[] {
  const fraction = repeat(sequence('"."', `[0-9]{1,${String(fractionDigits)}}`), 0, 1);
  const noFraction = repeat(sequence('"."', `"0"{1,${String(fractionDigits)}}`), 0, 1);
  // At least one digit that is not 0.
  const someFraction = sequence('"."', `"0"{0,${String(fractionDigits - 1)}}`, '[1-9]', '[0-9]?');
  if (most && most.value <= least.value) {
    const isPoint = most.value === least.value && !most.open && !least.open;
    return isPoint ? [sequence(literal(String(least.value)), noFraction)] : [];
  }
  const out = [sequence(literal(String(least.value)), least.open ? someFraction : fraction)];
  const between = naturals(least.value + 1, most && most.value - 1);
  if (between.length > 0) out.push(sequence(alternatives(between), fraction));
  if (most && !most.open) out.push(sequence(literal(String(most.value)), noFraction));
  return out;
}

/** Whole numbers from least >= 0 to most, without leading zeros. */
function naturals(least: number, most: number | undefined): string[] {
  if (most !== undefined && most < least) return [];
  const first = String(least);
  const last = String(most ?? 9);
  const nDigits = most === undefined ? first.length : last.length;
  const out: string[] = [];
  for (let n = first.length; n <= nDigits; n += 1) {
    const low = n === first.length ? first : `1${'0'.repeat(n - 1)}`;
    const high = n === last.length && most !== undefined ? last : '9'.repeat(n);
    out.push(...equallyLong(low, high));
  }
  if (most === undefined && first.length < maxDigits) {
    const [least_, most_] = [first.length, maxDigits - 1];
    out.push(sequence('[1-9]', repeat('[0-9]', least_, most_)));
  }
  return out;
}

/** Numbers of as many digits, leading zeros included. */
function equallyLong(low: string, high: string): string[] {
  if (low === high) return [literal(low)];
  let nSame = 0;
  while (low[nSame] === high[nSame]) nSame += 1;
  const nRest = low.length - nSame - 1;
  let first = Number(low[nSame]);
  let last = Number(high[nSame]);
  const [lowRest, highRest] = [low.slice(nSame + 1), high.slice(nSame + 1)];
  const [zeros, nines] = ['0'.repeat(nRest), '9'.repeat(nRest)];
  const branches: string[] = [];
  if (lowRest !== zeros) {
    branches.push(sequence(literal(String(first)), alternatives(equallyLong(lowRest, nines))));
    first += 1;
  }
  const cutsHigh = highRest !== nines;
  if (cutsHigh) last -= 1;
  if (first <= last) {
    const digit = set([[0x30 + first, 0x30 + last]]);
    branches.push(nRest === 0 ? digit : sequence(digit, repeat('[0-9]', nRest, nRest)));
  }
  if (cutsHigh) {
    branches.push(sequence(literal(String(last + 1)), alternatives(equallyLong(zeros, highRest))));
  }
  if (nSame === 0) return branches;
  return [sequence(literal(low.slice(0, nSame)), alternatives(branches))];
}
