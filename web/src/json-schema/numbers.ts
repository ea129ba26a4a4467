// Makes GBNF for the digits of numbers that are limited by bounds or are multiples of a step.
import { automatonOf, automatonToGbnf } from './automaton.ts';
import type { RuleSink } from './automaton.ts';
import { merged, set } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';

/** An end of a range. `isOpen`: the range does not include this value. */
export interface Bound {
  value: number;
  isOpen: boolean;
}

export interface NumberRange {
  least: Bound | undefined;
  most: Bound | undefined;
  /** The numbers are multiples of this. */
  step: number | undefined;
  isWhole: boolean;
}

/** Doubles hold this many digits exactly, so that rounding never reaches a bound. */
const maxDigits = 15;
const usualFractionDigits = 6;
/** The most states of an automaton while it is made, and of the finished one. */
const maxStates = 50_000;
const maxRules = 3000;

export const anyInteger = `"-"? ("0" | [1-9] [0-9]{0,${String(maxDigits - 1)}})`;
export const anyNumber = `${anyInteger} ("." [0-9]{1,${String(maxDigits)}})? ([eE] [-+]? [0-9]{1,2})?`;

/** Says why a range of numbers is not supported. */
export class NumberError extends Error {}

/** Returns GBNF that matches the numbers of a range; undefined if there are none. */
export function numbersToGbnf(range: NumberRange, rules: RuleSink): string | undefined {
  const reader = new NumberReader(range);
  const automaton = automatonOf<Reading>(
    {
      start: {
        ...{ phase: 'start', isNegative: false, isZero: true, nWhole: 0, nFraction: 0 },
        ...{ toLeast: 0, toMost: 0, remainder: 0 },
      },
      keyOf: (state) => Object.values(state).join(),
      accepts: (state) => reader.accepts(state),
      restOf: () => undefined,
      movesOf: (state) => reader.movesOf(state),
    },
    maxStates,
  );
  if (!automaton || automaton.states.length > maxRules) {
    throw new NumberError('it takes too large an automaton');
  }
  if (automaton.states.length === 0) {
    for (const { value } of [range.least, range.most].filter((bound) => bound !== undefined)) {
      if (Math.abs(value) < 10 ** maxDigits) continue;
      const most = String(maxDigits);
      throw new NumberError(`the bound ${String(value)} takes more than ${most} digits`);
    }
    return undefined;
  }
  return automatonToGbnf(automaton, (ranges) => [set(merged(ranges))], rules);
}

/** The state of reading a number, digit by digit. */
interface Reading {
  phase: 'start' | 'sign' | 'zero' | 'whole' | 'point' | 'fraction';
  isNegative: boolean;
  isZero: boolean;
  nWhole: number;
  nFraction: number;
  /** How the digits so far compare with those of the bounds: -1, 0 or 1. */
  toLeast: number;
  toMost: number;
  /** The remainder of the digits so far, divided by the digits of the step. */
  remainder: number;
}

class NumberReader {
  readonly #least: DecimalBound | undefined;
  readonly #most: DecimalBound | undefined;
  readonly #divisor: number;
  readonly #nDecimals: number;
  readonly #nFractionMost: number;

  constructor({ least, most, step = 0, isWhole }: NumberRange) {
    this.#least = least && decimalBound(least);
    this.#most = most && decimalBound(most);
    const { whole, fraction } = decimalOf(step);
    this.#divisor = Number(whole + fraction) || 1;
    this.#nDecimals = fraction.length;
    if (step < 0 || this.#divisor > 10 ** maxDigits / 10) {
      throw new NumberError(`multiples of ${String(step)} are not supported`);
    }
    const nOfBounds = [this.#least, this.#most].map((bound) => (bound?.fraction.length ?? 0) + 1);
    const nUsual = Math.min(Math.max(usualFractionDigits, ...nOfBounds), maxDigits - 1);
    this.#nFractionMost = isWhole ? 0 : step > 0 ? this.#nDecimals : nUsual;
  }

  /** Returns whether the digits so far are a number of the range. Zero has no sign. */
  accepts(state: Reading): boolean {
    const { phase, isNegative, isZero, nFraction } = state;
    if (phase === 'start' || phase === 'sign' || phase === 'point') return false;
    if (isNegative && isZero) return false;
    let { remainder } = state;
    for (let n = nFraction; n < this.#nDecimals; n += 1)
      remainder = (remainder * 10) % this.#divisor;
    if (remainder !== 0) return false;
    const above = this.#least ? compared(state, state.toLeast, this.#least) : 1;
    const below = this.#most ? -compared(state, state.toMost, this.#most) : 1;
    return (
      (above > 0 || (above === 0 && !this.#least?.isOpen)) &&
      (below > 0 || (below === 0 && !this.#most?.isOpen))
    );
  }

  movesOf(state: Reading): [CodePoints[], Reading][] {
    const { phase, nWhole, nFraction } = state;
    const moves: [CodePoints[], Reading][] = [];
    const nDigits = nWhole + nFraction;
    if (phase === 'start') {
      moves.push([character('-'), { ...state, phase: 'sign', isNegative: true }]);
    }
    if ((phase === 'zero' || phase === 'whole') && this.#nFractionMost > 0 && nDigits < maxDigits) {
      moves.push([character('.'), { ...this.#wholeRead(state), phase: 'point' }]);
    }
    const mayGoOn =
      phase === 'point' || phase === 'fraction'
        ? nFraction < this.#nFractionMost
        : phase !== 'zero';
    if (!mayGoOn || nDigits >= maxDigits) return moves;
    for (let digit = 0; digit <= 9; digit += 1) {
      moves.push([character(String(digit)), this.#withDigit(state, digit)]);
    }
    return moves;
  }

  #withDigit(state: Reading, digit: number): Reading {
    const { phase, nWhole, nFraction } = state;
    const isFraction = phase === 'point' || phase === 'fraction';
    const to = (known: number, bound: DecimalBound | undefined): number => {
      if (!bound) return 0;
      if (!isFraction && nWhole >= bound.whole.length) return 1; // it has more digits
      const other = isFraction ? (bound.fraction[nFraction] ?? '0') : bound.whole[nWhole];
      return known === 0 ? Math.sign(digit - Number(other)) : known;
    };
    return {
      ...state,
      phase: isFraction ? 'fraction' : phase !== 'whole' && digit === 0 ? 'zero' : 'whole',
      isZero: state.isZero && digit === 0,
      nWhole: isFraction ? nWhole : nWhole + 1,
      nFraction: isFraction ? nFraction + 1 : 0,
      toLeast: to(state.toLeast, this.#least),
      toMost: to(state.toMost, this.#most),
      remainder: (state.remainder * 10 + digit) % this.#divisor,
    };
  }

  /** Ends the whole part: bounds with more digits there are farther from 0. */
  #wholeRead(state: Reading): Reading {
    const to = (known: number, bound: DecimalBound | undefined) =>
      bound && state.nWhole < bound.whole.length ? -1 : known;
    const [toLeast, toMost] = [to(state.toLeast, this.#least), to(state.toMost, this.#most)];
    return { ...state, toLeast, toMost };
  }
}

/** Returns the sign of the number read so far minus the bound. */
function compared(
  { isNegative, phase, nWhole, nFraction }: Reading,
  known: number,
  bound: DecimalBound,
): number {
  if (isNegative !== bound.isNegative) return isNegative ? -1 : 1;
  const isShorter = phase !== 'fraction' && nWhole < bound.whole.length;
  const isBehind = known === 0 && /[1-9]/.test(bound.fraction.slice(nFraction));
  const magnitude = isShorter || isBehind ? -1 : known;
  return isNegative ? -magnitude : magnitude;
}

/** The digits on both sides of the point, without unneeded zeros. */
interface Decimal {
  isNegative: boolean;
  whole: string;
  fraction: string;
}

type DecimalBound = Decimal & Pick<Bound, 'isOpen'>;

function decimalBound({ value, isOpen }: Bound): DecimalBound {
  return { ...decimalOf(value), isOpen };
}

function decimalOf(value: number): Decimal {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = Number(exponent);
  const all = '0'.repeat(Math.max(0, -shift)) + whole + fraction + '0'.repeat(Math.max(0, shift));
  const nWhole = whole.length + Math.max(0, shift);
  return {
    isNegative: value < 0,
    whole: all.slice(0, nWhole).replace(/^0+(?=.)/, '') || '0',
    fraction: all.slice(nWhole).replace(/0+$/, ''),
  };
}

function character(text: string): CodePoints[] {
  const code = text.charCodeAt(0);
  return [[code, code]];
}
