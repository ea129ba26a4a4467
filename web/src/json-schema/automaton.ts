// Makes finite automata, and converts them to GBNF.
import { alternatives, repeat, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';

export interface Automaton {
  /** The first state is the start. The list is empty if no text is accepted. */
  states: readonly AutomatonState[];
}

export interface AutomatonState {
  accepts: boolean;
  /** GBNF for everything that may follow, if that is known to be short. Then there are no moves. */
  rest?: string | undefined;
  moves: readonly Move[];
}

export interface Move {
  ranges: readonly CodePoints[];
  to: number;
}

/** Describes an automaton, state by state. */
export interface Walk<S> {
  start: S;
  /** Returns equal keys for equal states. */
  keyOf(state: S): string | number;
  accepts(state: S): boolean;
  restOf(state: S): string | undefined;
  movesOf(state: S): [ranges: readonly CodePoints[], to: S][];
}

/** Makes a small automaton; returns undefined if that takes more than `nMost` states. */
export function automatonOf<S>(walk: Walk<S>, nMost: number): Automaton | undefined {
  const numbers = new Map<string | number, number>();
  const todo: S[] = [];
  const numberOf = (state: S): number => {
    const key = walk.keyOf(state);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, todo.length);
    todo.push(state);
    return todo.length - 1;
  };
  numberOf(walk.start);
  const states: AutomatonState[] = [];
  for (let i = 0; i < todo.length; i += 1) {
    if (i >= nMost) return undefined;
    const state = todo[i] as S;
    const rest = walk.restOf(state);
    const moves =
      rest === undefined
        ? walk.movesOf(state).map(([ranges, to]) => ({ ranges, to: numberOf(to) }))
        : [];
    states.push({ accepts: walk.accepts(state), rest, moves });
  }
  return joined(living(states));
}

/** Removes states from which no text is accepted. */
function living(states: readonly AutomatonState[]): AutomatonState[] {
  const before = states.map((): number[] => []);
  states.forEach(({ moves }, i) => {
    for (const { to } of moves) before[to]?.push(i);
  });
  const isLiving = states.map(({ accepts, rest }) => accepts || rest !== undefined);
  const todo = [...states.keys()].filter((i) => isLiving[i]);
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    for (const i of before[next] ?? []) {
      if (!isLiving[i]) todo.push(i);
      isLiving[i] = true;
    }
  }
  const numbers = new Map<number, number>();
  states.forEach((_, i) => isLiving[i] && numbers.set(i, numbers.size));
  if (!numbers.has(0)) return [];
  return states
    .filter((_, i) => isLiving[i])
    .map((state) => ({
      ...state,
      moves: state.moves.flatMap(({ ranges, to }) => {
        const number = numbers.get(to);
        return number === undefined ? [] : [{ ranges, to: number }];
      }),
    }));
}

/**
 * Joins states that have the same continuations, beginning with the last states. The result is the
 * smallest automaton if it has no loops of more than one state.
 */
function joined(states: readonly AutomatonState[]): Automaton {
  const numbers = new Map<number, number>();
  const known = new Map<string, number>();
  const kept: AutomatonState[] = [];
  for (const i of lastFirst(states)) {
    const state = states[i];
    if (!state) continue;
    const targets = new Map<string, Move & { ranges: CodePoints[] }>();
    for (const { ranges, to } of state.moves) {
      const target = to === i ? 'itself' : (numbers.get(to)?.toString() ?? `open ${String(to)}`);
      const others = targets.get(target);
      if (others) others.ranges.push(...ranges);
      else targets.set(target, { ranges: [...ranges], to });
    }
    const moves = [...targets].map(([target, { ranges }]) => `${target}: ${ranges.join(' ')}`);
    const key = [state.accepts, state.rest, ...moves.sort()].join('; ');
    const number = known.get(key) ?? kept.length;
    numbers.set(i, number);
    known.set(key, number);
    kept[number] ??= { ...state, moves: [...targets.values()] };
  }
  const first = numbers.get(0) ?? 0;
  const inOrder = [first, ...kept.keys()].filter((number, i) => i === 0 || number !== first);
  const places = new Map(inOrder.map((number, place) => [number, place]));
  const place = (to: number) => places.get(numbers.get(to) ?? 0) ?? 0;
  return {
    states: inOrder
      .flatMap((number) => kept[number] ?? [])
      .map(({ moves, ...state }) => ({
        ...state,
        moves: moves.map(({ ranges, to }) => ({ ranges, to: place(to) })),
      })),
  };
}

/** Orders states so that each comes after those that it leads to, as far as that is possible. */
function lastFirst(states: readonly AutomatonState[]): number[] {
  const order: number[] = [];
  const seen = new Set<number>([0]);
  const path = [{ state: 0, next: 0 }];
  for (let here = path.at(-1); here; here = path.at(-1)) {
    const move = states[here.state]?.moves[here.next];
    here.next += 1;
    if (!move) {
      order.push(here.state);
      path.pop();
    } else if (!seen.has(move.to)) {
      seen.add(move.to);
      path.push({ state: move.to, next: 0 });
    }
  }
  return order;
}

/** Receives the rules that an automaton needs. */
export interface RuleSink {
  newName(): string;
  define(name: string, body: string): void;
}

/** The most states in a row that become one rule. */
const longestRow = 16;

/**
 * Returns GBNF that matches the texts of the automaton, which must have a state. A state becomes a
 * rule of its own if several moves lead to it, or if it is too far from the last rule. `spell`
 * returns alternatives that match one of the characters.
 */
export function automatonToGbnf(
  { states }: Automaton,
  spell: (ranges: readonly CodePoints[]) => readonly string[],
  rules: RuleSink,
): string {
  const nEntries = states.map(() => 0);
  nEntries[0] = 1;
  states.forEach(({ moves }, i) => {
    for (const { to } of moves) if (to !== i) nEntries[to] = (nEntries[to] ?? 0) + 1;
  });
  const names = new Map<number, string>();
  const todo: number[] = [];
  const refer = (state: number, depth: number): string => {
    const known = names.get(state);
    if (known !== undefined) return known;
    const { rest, moves = [], accepts } = states[state] ?? {};
    if (rest !== undefined) return rest;
    if (accepts && moves.length === 0) return '""';
    if (nEntries[state] === 1 && depth < longestRow) return write(state, depth + 1);
    const name = rules.newName();
    names.set(state, name);
    todo.push(state);
    return name;
  };
  const write = (state: number, depth: number): string => {
    const { accepts, moves = [], rest } = states[state] ?? {};
    if (rest !== undefined) return rest;
    const loop = moves.find(({ to }) => to === state);
    const others = moves.filter((move) => move !== loop);
    const branches = others.map(({ ranges, to }) =>
      followed(alternatives(spell(ranges)), refer(to, depth)),
    );
    const body = alternatives(accepts ? [...branches, '""'] : branches);
    return loop ? followed(repeat(alternatives(spell(loop.ranges)), 0, undefined), body) : body;
  };
  const start = write(0, 0);
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    rules.define(names.get(next) ?? '', write(next, 0));
  }
  return start;
}

function followed(first: string, rest: string): string {
  return rest === '""' ? first : sequence(first, rest);
}
