// A chat template that tells its own text from that of the messages it lays out.
//
// The engine that runs templates knows strings without a past. So the template's text is spelled in
// stand-ins: a character of the private use area for each of its characters, none of which occurs
// elsewhere. Whatever the template does, no message can become one of them. What joins, cuts or
// trims text leaves them as they are; where the template compares texts or looks something up, they
// are turned back before. That both spellings give the same text is checked every time.
import { Template } from './jinja.ts';

/** A part of a parsed template; its fields depend on its type. */
interface Node {
  type: string;
  [field: string]: unknown;
}

type Variables = Record<string, unknown>;

/** Of the template's own. */
type OwnVariables = Record<string, string>;

/** Characters that filters and JSON treat in their own ways have no stand-ins. */
const neutral = /[\s"\\\p{Cc}]/u;
const notNeutral = /[^\s"\\\p{Cc}]/u;

const firstStandIn = 0xe000;
const lastStandIn = 0xf8ff;

/** Filters and methods that look at the text they are given, not only at its white space. */
const lookingFilters = ['upper', 'lower', 'title', 'capitalize', 'int', 'float', 'replace'];
const lookingMethods = [...lookingFilters, 'split', 'startswith', 'endswith'];

/** Those whose first argument is looked for, and whose others become part of the text. */
const replacing: unknown[] = ['replace', 'get'];

/** Those whose arguments become part of the text. */
const joining: unknown[] = ['default', 'join'];

export class MarkedTemplate {
  readonly #source: string;
  readonly #template: Template;

  /** Throws where the template cannot be read. */
  constructor(source: string) {
    this.#source = source;
    this.#template = new Template(source);
  }

  render(variables: Variables): string {
    return this.#template.render(variables);
  }

  /**
   * What render() gives, cut into the template's own text and that of the messages, in turn, the
   * template's first. `own` variables are its own too, and so is the name of a role where it stands
   * between own text: some templates make a control token of it. Undefined where the two cannot be
   * told apart.
   */
  renderInTurn(variables: Variables, own: OwnVariables, roles: readonly string[]) {
    const text = this.render({ ...own, ...variables });
    const standIns = new StandIns(this.#source + text + JSON.stringify(variables));
    const marked = new Template(this.#source);
    new Rewriter(standIns).rewrite(marked);
    const spelled: OwnVariables = {};
    for (const [name, value] of Object.entries(own)) spelled[name] = standIns.mark(value);
    const texts = cut(
      marked.render({ ...spelled, ...variables, ...standIns.functions() }),
      standIns,
    );
    return texts.join('') === text ? joinRoles(texts, roles) : undefined;
  }
}

/** Characters for those of the template, and back. */
class StandIns {
  readonly #taken: ReadonlySet<string>;
  readonly #standIns = new Map<string, string>();
  readonly #characters = new Map<string, string>();
  #next = firstStandIn;

  /** Those that occur in `taken` are left alone. */
  constructor(taken: string) {
    this.#taken = new Set(taken.match(/[\ue000-\uf8ff]/g));
  }

  mark(text: string): string {
    return text.replace(new RegExp(notNeutral, 'gu'), (character) => {
      // What has none counts as a message's: characters beyond 16 bits, and those that are left
      // when all stand-ins are taken.
      if (character.length > 1) return character;
      const standIn = this.#standIns.get(character) ?? this.#take();
      if (standIn === undefined) return character;
      this.#standIns.set(character, standIn);
      this.#characters.set(standIn, character);
      return standIn;
    });
  }

  unmark(text: string): string {
    return text.replace(/[\ue000-\uf8ff]/g, (standIn) => this.characterOf(standIn) ?? standIn);
  }

  /** Undefined for other characters. */
  characterOf(standIn: string): string | undefined {
    return this.#characters.get(standIn);
  }

  /** What a rewritten template calls, by names that no template can spell. */
  functions(): Variables {
    const bare = (value: unknown) => (typeof value === 'string' ? this.unmark(value) : value);
    // The engine compares loosely.
    const isSame = (a: unknown, b: unknown) => bare(a) == bare(b);
    const isIn = (a: unknown, b: unknown) => {
      if (Array.isArray(b)) return b.some((item: Value) => bare(item.value) === bare(a));
      if (b instanceof Map) return b.has(bare(a));
      return typeof b === 'string' && this.unmark(b).includes(this.unmark(String(a)));
    };
    return {
      ' plain': (value: unknown) => this.#plain(value),
      ' ==': isSame,
      ' !=': (a: unknown, b: unknown) => !isSame(a, b),
      ' in': isIn,
      ' not in': (a: unknown, b: unknown) => !isIn(a, b),
    };
  }

  /** A value of the engine's as JavaScript's. */
  #plain(value: unknown): unknown {
    if (typeof value === 'string') return this.unmark(value);
    if (Array.isArray(value)) return value.map((item: Value) => this.#plain(item.value));
    if (!(value instanceof Map)) return value;
    const entries = [...(value as Map<string, Value>)];
    return Object.fromEntries(entries.map(([key, item]) => [key, this.#plain(item.value)]));
  }

  #take(): string | undefined {
    while (this.#next <= lastStandIn) {
      const standIn = String.fromCharCode(this.#next++);
      if (!this.#taken.has(standIn)) return standIn;
    }
    return undefined;
  }
}

/** How the engine holds values within others. */
interface Value {
  value: unknown;
}

/** Spells the template's text in stand-ins, and turns them back where it is looked at. */
class Rewriter {
  readonly #standIns: StandIns;
  /** What is called by these names takes text as it is. */
  readonly #macros = new Set(['namespace', 'caller']);

  constructor(standIns: StandIns) {
    this.#standIns = standIns;
  }

  rewrite(template: Template): void {
    const program = template.parsed as unknown as Node;
    findMacros(program, this.#macros);
    this.#marked(program);
  }

  readonly #marked = (node: Node): Node => {
    switch (node.type) {
      case 'StringLiteral':
        node.value = this.#standIns.mark(node.value as string);
        return node;
      case 'BinaryExpression':
        return this.#comparison(node);
      case 'MemberExpression':
        node.object = this.#marked(node.object as Node);
        if (node.computed === true) node.property = this.#plain(node.property as Node);
        return node;
      case 'ObjectLiteral':
        node.value = new Map(
          Array.from(node.value as Map<Node, Node>, ([key, value]) => [
            this.#plain(key),
            this.#marked(value),
          ]),
        );
        return node;
      case 'TestExpression':
        node.operand = this.#lookedAt(['lower', 'upper'], node.test)(node.operand as Node);
        return node;
      case 'FilterExpression':
        return this.#filter(node);
      case 'CallExpression':
        return this.#call(node);
      default:
        return eachChild(node, this.#marked);
    }
  };

  /** The node, with what it gives turned back. Literals are left as they were. */
  readonly #plain = (node: Node): Node => {
    switch (node.type) {
      case 'StringLiteral':
      case 'IntegerLiteral':
      case 'FloatLiteral':
        return node;
      case 'KeywordArgumentExpression':
        node.value = this.#plain(node.value as Node);
        return node;
      case 'SpreadExpression':
      case 'KeywordSpreadExpression':
        node.argument = this.#plain(node.argument as Node);
        return node;
      case 'ArrayLiteral':
      case 'TupleLiteral':
      case 'SliceExpression':
        return eachChild(node, this.#plain);
      default:
        return callOf(' plain', this.#marked(node));
    }
  };

  #lookedAt(names: readonly string[], name: unknown): (node: Node) => Node {
    return names.includes((name as Node).value as string) ? this.#plain : this.#marked;
  }

  #comparison(node: Node): Node {
    eachChild(node, this.#marked);
    const operator = (node.operator as Node).value as string;
    return ['==', '!=', 'in', 'not in'].includes(operator)
      ? callOf(` ${operator}`, node.left as Node, node.right as Node)
      : node;
  }

  #filter(node: Node): Node {
    const filter = node.filter as Node;
    const hasArguments = filter.type === 'CallExpression';
    const name = hasArguments ? (filter.callee as Node) : filter;
    // JSON is looked at where characters beyond ASCII may be escaped.
    const looking = hasArguments ? [...lookingFilters, 'tojson'] : lookingFilters;
    node.operand = this.#lookedAt(looking, name)(node.operand as Node);
    if (hasArguments) this.#arguments(filter, name);
    return node;
  }

  #call(node: Node): Node {
    const callee = node.callee as Node;
    if (callee.type === 'Identifier') {
      const takesText = this.#macros.has(callee.value as string);
      node.args = (node.args as Node[]).map(takesText ? this.#marked : this.#plain);
    } else if (callee.type === 'MemberExpression' && callee.computed !== true) {
      callee.object = this.#lookedAt(lookingMethods, callee.property)(callee.object as Node);
      this.#arguments(node, callee.property as Node);
    } else {
      node.callee = this.#marked(callee);
      node.args = (node.args as Node[]).map(this.#plain);
    }
    return node;
  }

  /** Of a filter or a method of that name. */
  #arguments(node: Node, { value: name }: Node): void {
    const nLooked = joining.includes(name) ? 0 : replacing.includes(name) ? 1 : Infinity;
    node.args = (node.args as Node[]).map((argument, i) =>
      (i < nLooked ? this.#plain : this.#marked)(argument),
    );
  }
}

function findMacros(node: Node, macros: Set<string>): void {
  if (node.type === 'Macro') macros.add((node.name as Node).value as string);
  eachChild(node, (child) => {
    findMacros(child, macros);
    return child;
  });
}

function isNode(field: unknown): field is Node {
  return typeof field === 'object' && field !== null && 'type' in field;
}

/** Puts what `change` makes of the node's children in their places. */
function eachChild(node: Node, change: (child: Node) => Node): Node {
  for (const [name, field] of Object.entries(node)) {
    if (isNode(field)) node[name] = change(field);
    else if (Array.isArray(field)) {
      node[name] = field.map((item: unknown) => (isNode(item) ? change(item) : item));
    }
  }
  return node;
}

/** A call, made by the parser: the engine tells its nodes by their class, too. */
function callOf(name: string, ...args: Node[]): Node {
  const call = new Template('{{ f() }}').parsed.body[0] as unknown as Node;
  (call.callee as Node).value = name;
  call.args = args;
  return call;
}

/** What has no stand-in belongs to the template between two characters that do. */
function cut(marked: string, standIns: StandIns): string[] {
  const texts = [''];
  let between = '';
  let wasOwn = true;
  const add = (text: string, isOwn: boolean) => {
    append(texts, between, wasOwn && isOwn);
    append(texts, text, isOwn);
    between = '';
    wasOwn = isOwn;
  };
  for (const run of marked.match(/[\ue000-\uf8ff]|[^\ue000-\uf8ff]+/g) ?? []) {
    const own = standIns.characterOf(run);
    const begin = run.search(notNeutral);
    if (begin < 0) {
      between += run;
    } else if (own !== undefined) {
      add(own, true);
    } else {
      let end = run.length;
      while (neutral.test(run.charAt(end - 1))) --end;
      between += run.slice(0, begin);
      add(run.slice(begin, end), false);
      between = run.slice(end);
    }
  }
  append(texts, between, wasOwn);
  return texts;
}

/** Names of roles between own text become part of it. */
function joinRoles(texts: readonly string[], roles: readonly string[]): string[] {
  const names = new Set(roles.filter((role) => /^[\w-]+$/.test(role)));
  const joined = [''];
  texts.forEach((text, i) => {
    append(joined, text, i % 2 === 0 || names.has(text.toLowerCase()));
  });
  return joined;
}

/** To texts in turn, of which the first is the template's own. */
function append(texts: string[], text: string, isOwn: boolean): void {
  if (text === '') return;
  if ((texts.length % 2 === 1) !== isOwn) texts.push('');
  texts.push(`${texts.pop() ?? ''}${text}`);
}
