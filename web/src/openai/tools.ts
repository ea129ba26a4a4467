// Tools: how a model is told of them, and how its answer calls them.
//
// Models write calls in one of two ways. Hermes' (Qwen, SmolLM3, Granite and others): JSON between
// <tool_call> and </tool_call>, with text around it. Llama 3's and Mistral's: the whole answer is
// JSON, one object or a list. Models whose template knows no tools are told to do the former.
import { KingletError } from '../errors.ts';
import type { ChatCompletionParams, FunctionTool } from './types.ts';

export interface Call {
  name: string;
  /** JSON. */
  arguments: string;
}

export type AnswerPart = { text: string } | { call: Call };

/** Takes an answer piece by piece, and parts text from calls. */
export interface AnswerReader {
  push(text: string): AnswerPart[];
  end(): AnswerPart[];
}

export interface ToolStyle {
  /** In front of each call; empty where the answer is nothing but JSON. */
  mark: string;
  /** Whether the file's template tells the model of tools. */
  isTaught: boolean;
  argumentsKey: 'arguments' | 'parameters';
}

const mark = '<tool_call>';
const endMark = '</tool_call>';

export function toolStyle(template = ''): ToolStyle {
  const isTaught = /\btools\b/.test(template);
  if (!isTaught || template.includes(mark)) return { mark, isTaught, argumentsKey: 'arguments' };
  const isLlama = /"parameters": ?dictionary/.test(template);
  return { mark: '', isTaught, argumentsKey: isLlama ? 'parameters' : 'arguments' };
}

export interface ChosenTools {
  /** What the model is told of; empty where it is to call none. */
  tools: readonly FunctionTool[];
  /** Whether the answer must be a call. */
  isForced: boolean;
}

export function chosenTools({
  tools = [],
  tool_choice: choice,
}: ChatCompletionParams): ChosenTools {
  const known = tools.map((tool) => {
    if (tool.type === 'function') return tool;
    throw invalid(`a tool of type "${tool.type}" is not supported, only "function" is`);
  });
  const named = (names: unknown[]) =>
    names.map((name) => {
      const tool = known.find((candidate) => candidate.function.name === name);
      if (tool) return tool;
      throw invalid(`tool_choice names the tool "${String(name)}", which is not among the tools`);
    });
  if (choice === 'none') return { tools: [], isForced: false };
  if (choice === undefined || choice === 'auto') return { tools: known, isForced: false };
  if (choice === 'required') return { tools: atLeastOne(known), isForced: true };
  if (choice.type === 'function') {
    return { tools: named([choice.function.name]), isForced: true };
  }
  if (choice.type === 'allowed_tools') {
    const { mode, tools: allowed } = choice.allowed_tools;
    const names = (allowed as { function?: { name?: unknown } }[]).map(
      (tool) => tool.function?.name,
    );
    return { tools: atLeastOne(named(names)), isForced: mode === 'required' };
  }
  throw invalid(`a tool_choice of type "${choice.type}" is not supported`);
}

/** The schema of one call, for an answer that must be one. */
export function callSchema(
  tools: readonly FunctionTool[],
  { argumentsKey }: ToolStyle,
): Record<string, unknown> {
  const schemas = tools.map(({ function: { name, parameters } }) => ({
    type: 'object',
    properties: { name: { const: name }, [argumentsKey]: parameters ?? { type: 'object' } },
    required: ['name', argumentsKey],
    additionalProperties: false,
  }));
  return schemas.length === 1 && schemas[0] ? schemas[0] : { anyOf: schemas };
}

/** For models whose template does not tell them of tools. */
export function toolInstructions(tools: readonly FunctionTool[]): string {
  return (
    'You can call these functions, given by their JSON schemas:\n' +
    tools.map((tool) => JSON.stringify(tool.function)).join('\n') +
    `\nTo call one, answer with ${mark}\n{"name": its name, "arguments": its arguments}\n${endMark}`
  );
}

export function spellCall({ name, arguments: given }: Call): string {
  return `${mark}\n{"name": ${JSON.stringify(name)}, "arguments": ${given}}\n${endMark}`;
}

export function answerReader({ tools, isForced }: ChosenTools, style: ToolStyle): AnswerReader {
  if (tools.length === 0) return plainReader;
  const names = tools.map((tool) => tool.function.name);
  return style.mark === '' || isForced ? new JsonReader(names) : new MarkReader(names);
}

const plainReader: AnswerReader = {
  push: (text) => [{ text }],
  end: () => [],
};

/** Calls between marks, text around them. Space between text and calls belongs to neither. */
class MarkReader implements AnswerReader {
  readonly #names: readonly string[];
  #held = '';
  #space = ''; // in front of the mark
  #isInside = false;
  #hasCalled = false;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  push(text: string): AnswerPart[] {
    this.#held += text;
    const parts: AnswerPart[] = [];
    for (;;) {
      const sought = this.#isInside ? endMark : mark;
      const at = this.#held.indexOf(sought);
      if (at < 0) break;
      const before = this.#held.slice(0, at);
      this.#held = this.#held.slice(at + sought.length);
      parts.push(...(this.#isInside ? this.#call(before, endMark) : this.#enter(before)));
      this.#isInside = !this.#isInside;
    }
    if (!this.#isInside) {
      const nSure = beginOfMark(this.#held);
      parts.push(...this.#text(this.#held.slice(0, nSure)));
      this.#held = this.#held.slice(nSure);
    }
    return parts;
  }

  end(): AnswerPart[] {
    const rest = this.#held;
    this.#held = '';
    // Models, too, leave the last mark out.
    return this.#isInside ? this.#call(rest, '') : this.#text(rest);
  }

  #enter(before: string): AnswerPart[] {
    const text = before.trimEnd();
    this.#space = before.slice(text.length);
    return this.#text(text);
  }

  #call(text: string, end: string): AnswerPart[] {
    const calls = parseCalls(text, this.#names);
    if (!calls) return this.#text(this.#space + mark + text + end);
    this.#hasCalled = true;
    return calls.map((call) => ({ call }));
  }

  #text(text: string): AnswerPart[] {
    const shown = this.#hasCalled ? text.trimStart() : text;
    return shown === '' ? [] : [{ text: shown }];
  }
}

/** Where what may turn out to be a mark begins, with the space in front of it. */
function beginOfMark(text: string): number {
  let n = Math.min(mark.length - 1, text.length);
  while (n > 0 && !mark.startsWith(text.slice(text.length - n))) --n;
  return text.slice(0, text.length - n).trimEnd().length;
}

/** An answer that is all JSON, or none. */
class JsonReader implements AnswerReader {
  readonly #names: readonly string[];
  #held = '';
  #isText = false;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  push(text: string): AnswerPart[] {
    if (this.#isText) return [{ text }];
    this.#held += text;
    this.#isText = /^\s*[^\s{[<]/.test(this.#held);
    return this.#isText ? [{ text: this.#held }] : [];
  }

  end(): AnswerPart[] {
    if (this.#isText || this.#held === '') return [];
    const json = this.#held.replace(/^\s*(?:<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_call\|>)/, '');
    const calls = parseCalls(json, this.#names);
    return calls ? calls.map((call) => ({ call })) : [{ text: this.#held }];
  }
}

/** The calls that a JSON text spells; undefined where it is something else. */
function parseCalls(text: string, names: readonly string[]): Call[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const calls: Call[] = [];
  for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
    if (typeof item !== 'object' || item === null || !('name' in item)) return undefined;
    const { name } = item;
    if (typeof name !== 'string' || !names.includes(name)) return undefined;
    const given =
      'arguments' in item ? item.arguments : 'parameters' in item ? item.parameters : {};
    calls.push({ name, arguments: typeof given === 'string' ? given : JSON.stringify(given) });
  }
  return calls.length > 0 ? calls : undefined;
}

function atLeastOne(tools: readonly FunctionTool[]): readonly FunctionTool[] {
  if (tools.length > 0) return tools;
  throw invalid('tool_choice asks for a call, but there are no tools');
}

function invalid(message: string): KingletError {
  return new KingletError('invalid_argument', message);
}
