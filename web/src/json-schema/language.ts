// Regular languages as expressions. These have the operations of patterns (sequences, choices,
// repetitions), and `both` and `not` to combine several requirements. What may follow a character
// is again an expression, the derivative (J. Brzozowski, 1964). There are finitely many of them.
import { complement, lastCodePoint, merged } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import { PatternError } from './pattern.ts';

/** Equal expressions are the same object. */
export interface Language {
  readonly id: number;
  readonly kind: 'set' | 'sequence' | 'union' | 'both' | 'not' | 'repeat';
  readonly parts: readonly Language[];
  /** For a set: its characters. */
  readonly ranges: readonly CodePoints[];
  /** For a repetition; `most` may be Infinity. */
  readonly least: number;
  readonly most: number;
  readonly hasEmptyText: boolean;
}

/** The most parts of expressions that may be made before a language counts as too large. */
const maxWork = 300_000;

/** Makes expressions. Any call may throw a PatternError if the work would take too long. */
export class Languages {
  #work = 0;
  readonly #known = new Map<string, Language>();
  readonly #derivatives = new Map<string, Language>();

  /** No text, only the empty text, all texts of one character, and all texts. */
  readonly none = this.set([]);
  readonly emptyText = this.#make({ kind: 'sequence', hasEmptyText: true });
  readonly anyCharacter = this.set([[0, lastCodePoint]]);
  readonly anyText = this.repeat(this.anyCharacter, 0, Infinity);

  set(ranges: readonly CodePoints[]): Language {
    return this.#make({ kind: 'set', ranges: merged(ranges), hasEmptyText: false });
  }

  text(text: string): Language {
    const characters = Array.from(text, (character) => character.codePointAt(0) ?? 0);
    return this.sequence(...characters.map((code) => this.set([[code, code]])));
  }

  sequence(...parts: readonly Language[]): Language {
    return parts.reduceRight((rest, part) => this.#then(part, rest), this.emptyText);
  }

  #then(first: Language, rest: Language): Language {
    if (first === this.none || rest === this.none) return this.none;
    if (first === this.emptyText) return rest;
    if (rest === this.emptyText || (first === this.anyText && rest === first)) return first;
    const [head, tail] = first.parts;
    if (first.kind === 'sequence' && head && tail) return this.#then(head, this.#then(tail, rest));
    const hasEmptyText = first.hasEmptyText && rest.hasEmptyText;
    return this.#make({ kind: 'sequence', parts: [first, rest], hasEmptyText });
  }

  union(...languages: readonly Language[]): Language {
    const parts = flat('union', languages);
    if (parts.includes(this.anyText)) return this.anyText;
    const sets = parts.filter(({ kind }) => kind === 'set');
    const set = this.set(sets.flatMap(({ ranges }) => ranges));
    const others = parts.filter(({ kind }) => kind !== 'set');
    const choices = set === this.none ? others : [set, ...others];
    return this.#joined('union', choices, this.none);
  }

  both(...languages: readonly Language[]): Language {
    const parts = flat('both', languages).filter((part) => part !== this.anyText);
    if (parts.includes(this.none)) return this.none;
    if (parts.includes(this.emptyText)) {
      return parts.every(({ hasEmptyText }) => hasEmptyText) ? this.emptyText : this.none;
    }
    const sets = parts.filter(({ kind }) => kind === 'set');
    const others = parts.filter(({ kind }) => kind !== 'set');
    if (sets.length === 0) return this.#joined('both', others, this.anyText);
    const set = this.set(complement(sets.flatMap(({ ranges }) => complement(ranges))));
    return set === this.none ? set : this.#joined('both', [set, ...others], this.anyText);
  }

  not(part: Language): Language {
    if (part === this.none) return this.anyText;
    const [inner] = part.parts;
    if (part.kind === 'not' && inner) return inner;
    if (part === this.anyText) return this.none;
    return this.#make({ kind: 'not', parts: [part], hasEmptyText: !part.hasEmptyText });
  }

  repeat(part: Language, least: number, most: number): Language {
    if (most === 0 || part === this.emptyText) return this.emptyText;
    if (part === this.none) return least === 0 ? this.emptyText : this.none;
    if (least === 1 && most === 1) return part;
    const fewest = part.hasEmptyText ? 0 : least;
    const hasEmptyText = fewest === 0;
    return this.#make({ kind: 'repeat', parts: [part], least: fewest, most, hasEmptyText });
  }

  /** Returns the texts that may follow the character: the derivative. */
  after(language: Language, code: number): Language {
    const { kind, parts, ranges, least, most } = language;
    if (kind === 'set') {
      return ranges.some(([first, last]) => code >= first && code <= last)
        ? this.emptyText
        : this.none;
    }
    const key = `${String(language.id)}:${String(code)}`;
    const found = this.#derivatives.get(key);
    if (found) return found;
    const made = (): Language => {
      const [first, second] = parts;
      if (!first) return this.none;
      if (kind === 'union') return this.union(...parts.map((part) => this.after(part, code)));
      if (kind === 'both') return this.both(...parts.map((part) => this.after(part, code)));
      if (kind === 'not') return this.not(this.after(first, code));
      if (kind === 'repeat') {
        const others = this.repeat(first, Math.max(0, least - 1), most - 1);
        return this.sequence(this.after(first, code), others);
      }
      if (!second) return this.none;
      const inFirst = this.sequence(this.after(first, code), second);
      return first.hasEmptyText ? this.union(inFirst, this.after(second, code)) : inFirst;
    };
    const derivative = made();
    this.#derivatives.set(key, derivative);
    return derivative;
  }

  has(language: Language, text: string): boolean {
    let rest = language;
    for (const character of text) rest = this.after(rest, character.codePointAt(0) ?? 0);
    return rest.hasEmptyText;
  }

  #joined(kind: 'union' | 'both', parts: readonly Language[], ofNone: Language): Language {
    const [only] = parts;
    if (!only) return ofNone;
    if (parts.length === 1) return only;
    const inOrder = [...parts].sort((a, b) => a.id - b.id);
    const has = ({ hasEmptyText }: Language) => hasEmptyText;
    const hasEmptyText = kind === 'union' ? parts.some(has) : parts.every(has);
    return this.#make({ kind, parts: inOrder, hasEmptyText });
  }

  #make(made: Partial<Language> & Pick<Language, 'kind' | 'hasEmptyText'>): Language {
    const { kind, parts = [], ranges = [], least = 0, most = 0, hasEmptyText } = made;
    this.#work += 1 + parts.length;
    if (this.#work > maxWork) throw new PatternError('it takes too large an automaton');
    const key = [kind, parts.map(({ id }) => id).join(), ranges.join(), least, most].join(':');
    const found = this.#known.get(key);
    if (found) return found;
    const language = { id: this.#known.size, kind, parts, ranges, least, most, hasEmptyText };
    this.#known.set(key, language);
    return language;
  }
}

function flat(kind: Language['kind'], languages: readonly Language[]): Language[] {
  return [...new Set(languages.flatMap((part) => (part.kind === kind ? part.parts : [part])))];
}

/** Returns all characters, in classes of which each set of the language has all or none. */
export function alphabetOf(language: Language): CodePoints[][] {
  const sets = new Set<Language>();
  const seen = new Set<Language>();
  const visit = (part: Language) => {
    if (seen.has(part)) return;
    seen.add(part);
    if (part.kind === 'set') sets.add(part);
    part.parts.forEach(visit);
  };
  visit(language);
  const starts = [...sets].flatMap(({ ranges }) => ranges.flatMap(([a, b]) => [a, b + 1]));
  const borders = [...new Set([0, ...starts, lastCodePoint + 1])].sort((a, b) => a - b);
  const classes = new Map<string, CodePoints[]>();
  const places = [...sets].map(({ ranges }) => ({ ranges, next: 0 }));
  borders.slice(0, -1).forEach((first, i) => {
    const kind = places.map((place) => {
      while ((place.ranges[place.next]?.[1] ?? Infinity) < first) place.next += 1;
      return (place.ranges[place.next]?.[0] ?? Infinity) <= first ? '1' : '0';
    });
    const key = kind.join('');
    classes.set(key, [...(classes.get(key) ?? []), [first, (borders[i + 1] ?? 0) - 1]]);
  });
  return [...classes.values()];
}
