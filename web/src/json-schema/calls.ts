// Makes the grammars of answers that may begin in a thought: calls in the family's syntax, and JSON.
import type { EngineCallFormat } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { beginsThought } from '../protocol.ts';
import type { AnswerGrammars, KnownTool } from '../protocol.ts';
import type { ChatTool } from '../types.ts';
import { alternatives, literal, repeat, sequence } from './gbnf.ts';
import { argumentsToGbnf, newRules, schemaToGbnf } from './index.ts';
import { Languages } from './language.ts';
import { isPlainName, pieceOf, without } from './notation.ts';
import type { GrammarRules } from './rules.ts';
import { plainCharacters } from './strings.ts';
import { languageToGbnf } from './texts.ts';

export interface CallRules {
  /** The tools that may be called; at least one. */
  tools: readonly ChatTool[];
  /** The same tools, in the same order. */
  known: readonly KnownTool[];
  format: EngineCallFormat;
  /** Whether several calls may follow each other, if the syntax allows it. */
  mayBeSeveral: boolean;
}

/**
 * Returns the grammar of one call or more. If the end of `prompt` has begun a thought, the rest of
 * the thought comes first. Marks for which the vocabulary has tokens are written as those tokens.
 *
 * @throws KingletError `invalid_argument`, naming the tool and the place in its schema.
 */
export function grammarOfCalls({ tools, known, format, mayBeSeveral }: CallRules, prompt: string) {
  const rules = newRules();
  const { marks } = format;
  const id = repeat('[a-zA-Z0-9]', 9, 9);
  const idMark = format.idMark === '' ? [] : [pieceOf(format.idMark, marks), id];
  const idMember = repeat(sequence(literal(format.idMember), id, literal('"')), 0, 1);
  const calls = tools.map((tool, i) => {
    const name = tool.function.name;
    const head = [literal(JSON.stringify(name).slice(1, -1)), ...idMark];
    const given = argumentsOf(tool, known[i]?.textParameters ?? [], format, rules);
    return sequence(...head, pieceOf(format.nameEnd, marks), given);
  });
  const call = rules.add('call', alternatives(calls));
  const whole = format.idMember === '' ? call : sequence(call, idMember);
  const another = sequence(pieceOf(format.between, marks), whole);
  const others = mayBeSeveral && format.between !== '' ? [repeat(another, 0, undefined)] : [];
  const parts = [pieceOf(format.begin, marks), whole, ...others, pieceOf(format.end, marks)];
  const isThinking = beginsThought(prompt, format.thoughtBegin);
  return rules.grammar(sequence(...(isThinking ? restOfThought(format, rules) : []), ...parts));
}

/**
 * Returns the grammars of an answer that is valid under a schema. The end of a prompt may begin a
 * thought, and which prompts do is known only when they are laid out.
 *
 * @throws KingletError as {@link grammarOfSchema}.
 */
export function grammarsOfAnswer(
  schema: unknown,
  indent: number,
  format: EngineCallFormat,
): AnswerGrammars {
  const { thoughtBegin: begin, thoughtEnd: end } = format;
  const rules = newRules();
  const value = schemaToGbnf(schema, rules, indent);
  const grammar = rules.grammar(value);
  if (begin === '') return { grammar };
  const afterThought = rules.grammar(sequence(...restOfThought(format, rules), value));
  return { grammar, thinking: { begin, end, grammar: afterThought } };
}

function argumentsOf(
  { function: { name, parameters = {} } }: ChatTool,
  texts: readonly string[],
  format: EngineCallFormat,
  rules: GrammarRules,
): string {
  if (format.hasPlainNames !== 0 && !isPlainName(name)) {
    throw invalid(`this model cannot call a tool of the name ${JSON.stringify(name)}`);
  }
  const at = (message: string) => invalid(`the tool ${JSON.stringify(name)}: ${message}`);
  let given: string | undefined;
  try {
    given = argumentsToGbnf(parameters, texts, format, rules);
  } catch (error) {
    throw at(messageOf(error));
  }
  if (given === undefined) throw at('its parameters allow no object');
  return given;
}

/** Returns GBNF for the rest of a thought that the prompt has begun. */
function restOfThought({ thoughtEnd, marks }: EngineCallFormat, rules: GrammarRules): string[] {
  const languages = new Languages();
  const texts = without(thoughtEnd, languages);
  const text = languageToGbnf(texts, languages, plainCharacters, rules.sink('thought'));
  return [text ?? '""', pieceOf(thoughtEnd, marks), repeat('"\\n"', 0, 2)];
}

function invalid(message: string): KingletError {
  return new KingletError('invalid_argument', message);
}
