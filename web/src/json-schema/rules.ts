// The rules of a grammar, to which several schemas may add.
import type { RuleSink } from './automaton.ts';

export class GrammarRules {
  readonly #bodies = new Map<string, string>();
  readonly #namesOfBodies = new Map<string, string>();
  readonly #nNames = new Map<string, number>();
  readonly #reserved: readonly string[];

  /** `reserved`: names that only define() may use. */
  constructor(reserved: readonly string[]) {
    this.#reserved = ['root', ...reserved];
  }

  has(name: string): boolean {
    return this.#bodies.has(name);
  }

  define(name: string, body: string): void {
    this.#bodies.set(name, body);
  }

  /** Returns the name of a rule with this body. The rule is made if there is none. */
  add(at: string, body: string): string {
    const known = this.#namesOfBodies.get(body);
    if (known !== undefined) return known;
    const name = this.newName(at);
    this.define(name, body);
    this.#namesOfBodies.set(body, name);
    return name;
  }

  /** Reserves and returns a name that says where the rule comes from. The caller must define it. */
  newName(at: string): string {
    const words = at
      .split('/')
      .slice(-2)
      .join('-')
      .replace(/[^A-Za-z0-9]+/g, '-');
    const stem = words.replace(/^-+|-+$/g, '').replace(/^properties-/, '') || 'schema';
    let name = stem;
    let n = this.#nNames.get(stem) ?? 1;
    while (this.#reserved.includes(name) || this.has(name)) name = `${stem}-${String((n += 1))}`;
    this.#nNames.set(stem, n);
    this.define(name, '');
    return name;
  }

  sink(at: string): RuleSink {
    return {
      newName: () => this.newName(at),
      define: (name, body) => {
        this.define(name, body);
      },
    };
  }

  /** Returns the grammar whose texts match `root`. */
  grammar(root: string): string {
    const rules = [['root', root], ...this.#bodies].map(
      ([name = '', body = '']) => `${name} ::= ${body}`,
    );
    return `${rules.join('\n')}\n`;
  }
}
