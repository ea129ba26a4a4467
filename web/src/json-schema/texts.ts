// Converts requirements on a string (patterns, lengths, excluded names) to GBNF of the JSON strings
// that match, without quotation marks.
import { automatonOf, automatonToGbnf } from './automaton.ts';
import type { RuleSink } from './automaton.ts';
import { alternatives, lastCodePoint, repeat, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import { alphabetOf, Languages } from './language.ts';
import type { Language } from './language.ts';
import { PatternError, readPattern } from './pattern.ts';
import type { Pattern } from './pattern.ts';
import type { Characters } from './strings.ts';

/** The most states of an automaton while it is made. */
const maxStates = 20_000;
/** The most moves of the finished automaton. They become rules and branches. */
const maxMoves = 10_000;
/** The most copies of a part that looks around. */
const maxCopies = 50;

/** Converts a plain pattern directly. Returns undefined if the pattern looks around. */
export function patternToGbnf(pattern: string, characters: Characters): string | undefined {
  const whole = readPattern(pattern);
  const branches = whole.kind === 'choice' ? whole.parts : [whole];
  const written = branches.map((branch) => branchToGbnf(branch, characters));
  if (written.includes(undefined)) return undefined;
  return alternatives(written.filter((branch) => branch !== undefined));
}

/** A pattern matches anywhere in a text: without an anchor, any text may be before or after it. */
function branchToGbnf(branch: Pattern, characters: Characters): string | undefined {
  const parts = branch.kind === 'sequence' ? branch.parts : [branch];
  const isAnchored = parts[0]?.kind === 'start';
  const isEnded = parts.length > 0 && parts.at(-1)?.kind === 'end';
  const inner = parts.slice(isAnchored ? 1 : 0, isEnded ? -1 : undefined);
  if (inner.some(looksAround)) return undefined;
  const around = oneOf([[0, lastCodePoint]], characters);
  const anything = repeat(around, 0, undefined);
  return sequence(
    ...(isAnchored ? [] : [anything]),
    ...inner.map((part) => plainToGbnf(part, characters)),
    ...(isEnded ? [] : [anything]),
  );
}

function looksAround(pattern: Pattern): boolean {
  if ('part' in pattern) return pattern.kind === 'look' || looksAround(pattern.part);
  return 'parts' in pattern ? pattern.parts.some(looksAround) : pattern.kind !== 'set';
}

function plainToGbnf(pattern: Pattern, characters: Characters): string {
  const inner = (part: Pattern) => plainToGbnf(part, characters);
  switch (pattern.kind) {
    case 'set':
      return oneOf(pattern.ranges, characters);
    case 'sequence':
      return sequence(...pattern.parts.map(inner));
    case 'choice':
      return alternatives(pattern.parts.map(inner));
    case 'repeat': {
      const { part, least, most } = pattern;
      return repeat(inner(part), least, most === Infinity ? undefined : most);
    }
    default:
      throw new PatternError('it looks around');
  }
}

function oneOf(ranges: CodePoints[], characters: Characters): string {
  const spellings = characters(ranges);
  if (spellings.length === 0) throw new PatternError('a part of it matches no character');
  return alternatives(spellings);
}

/** Whether this place is the start of the text. */
type AtStart = 'yes' | 'no' | 'maybe';

/** Returns the texts in which a pattern matches somewhere. */
export function patternLanguage(pattern: string, languages: Languages): Language {
  const whole = readPattern(pattern);
  const { anyCharacter, anyText } = languages;
  const reader = new PatternLanguage(languages);
  const later = languages.sequence(anyCharacter, anyText, reader.before(whole, anyText, 'no'));
  return languages.union(reader.before(whole, anyText, 'yes'), later);
}

class PatternLanguage {
  readonly #languages: Languages;

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** Returns the texts whose beginning matches the pattern and whose remainder is in `rest`. */
  before(pattern: Pattern, rest: Language, atStart: AtStart): Language {
    const languages = this.#languages;
    switch (pattern.kind) {
      case 'set':
        return languages.sequence(languages.set(pattern.ranges), rest);
      case 'sequence': {
        const places: AtStart[] = [];
        for (let i = 0, at = atStart; i < pattern.parts.length; i += 1) {
          places.push(at);
          at = placeAfter(pattern.parts[i], at);
        }
        return pattern.parts.reduceRight(
          (after, part, i) => this.before(part, after, places[i] ?? 'no'),
          rest,
        );
      }
      case 'choice':
        return languages.union(...pattern.parts.map((part) => this.before(part, rest, atStart)));
      case 'repeat':
        return this.#repeated(pattern, rest, atStart);
      case 'start':
        if (atStart === 'maybe') throw new PatternError('an anchor may be at its beginning');
        return atStart === 'yes' ? rest : languages.none;
      case 'end':
        return languages.both(languages.emptyText, rest);
      case 'look': {
        const seen = this.before(pattern.part, languages.anyText, atStart);
        return languages.both(pattern.isNegated ? languages.not(seen) : seen, rest);
      }
    }
  }

  #repeated(
    { part, least, most }: Extract<Pattern, { kind: 'repeat' }>,
    rest: Language,
    atStart: AtStart,
  ): Language {
    const languages = this.#languages;
    if (!looksAround(part)) {
      const one = this.before(part, languages.emptyText, 'no');
      return languages.sequence(languages.repeat(one, least, most), rest);
    }
    if (most > maxCopies) {
      throw new PatternError(
        `it looks around in what is repeated more than ${String(maxCopies)} times`,
      );
    }
    let found = rest;
    for (let i = most; i > 0; i -= 1) {
      const place = i === 1 || atStart === 'no' ? atStart : 'maybe';
      const once = this.before(part, found, place);
      found = i > least ? languages.union(rest, once) : once;
    }
    return found;
  }
}

function placeAfter(pattern: Pattern | undefined, place: AtStart): AtStart {
  if (!pattern || place === 'no') return place;
  const [least, most] = lengthsOf(pattern);
  if (most === 0) return place;
  return least > 0 ? 'no' : 'maybe';
}

/** Returns the least and the greatest length of what a pattern matches. Only 0 or not 0 matters. */
function lengthsOf(pattern: Pattern): [least: number, most: number] {
  switch (pattern.kind) {
    case 'set':
      return [1, 1];
    case 'sequence': {
      const lengths = pattern.parts.map(lengthsOf);
      return [sum(lengths.map(([least]) => least)), sum(lengths.map(([, most]) => most))];
    }
    case 'choice': {
      const lengths = pattern.parts.map(lengthsOf);
      return [
        Math.min(...lengths.map(([least]) => least)),
        Math.max(...lengths.map(([, most]) => most)),
      ];
    }
    case 'repeat': {
      const [least, most] = lengthsOf(pattern.part);
      return [least * pattern.least, most === 0 ? 0 : most * pattern.most];
    }
    default:
      return [0, 0];
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}

/**
 * Returns GBNF for the texts of the language; undefined if it has none.
 *
 * @throws PatternError if this takes too many states.
 */
export function languageToGbnf(
  language: Language,
  languages: Languages,
  characters: Characters,
  rules: RuleSink,
): string | undefined {
  const plain = alternatives(characters([[0, lastCodePoint]]));
  const alphabet = alphabetOf(language).filter((ranges) => characters(ranges).length > 0);
  const automaton = automatonOf<Language>(
    {
      start: language,
      keyOf: ({ id }) => id,
      accepts: ({ hasEmptyText }) => hasEmptyText,
      restOf: ({ kind, parts, least, most }) =>
        kind === 'repeat' && parts[0] === languages.anyCharacter
          ? repeat(plain, least, most === Infinity ? undefined : most)
          : undefined,
      movesOf: (state) =>
        alphabet.flatMap((ranges): [CodePoints[], Language][] => {
          const next = languages.after(state, ranges[0]?.[0] ?? 0);
          return next === languages.none ? [] : [[ranges, next]];
        }),
    },
    maxStates,
  );
  if (!automaton || sum(automaton.states.map(({ moves }) => moves.length)) > maxMoves) {
    throw new PatternError('it takes too large an automaton');
  }
  return automaton.states.length === 0 ? undefined : automatonToGbnf(automaton, characters, rules);
}
