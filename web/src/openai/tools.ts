// Chooses the tools of a request, and describes them to models whose template does not.
import { KingletError } from '../errors.ts';
import type { ToolCall } from '../types.ts';
import type { ChatCompletionParams, FunctionTool } from './types.ts';

export interface ChosenTools {
  /** The tools that the model may call; empty if it must not call any. */
  tools: readonly FunctionTool[];
  /** Whether the answer must be a call. */
  isForced: boolean;
  /** Whether the choice names one function. */
  isNamed?: boolean;
}

export function chosenTools({
  tools = [],
  tool_choice: choice,
}: ChatCompletionParams): ChosenTools {
  const known = (tools ?? []).map((tool) => {
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
  if (choice === undefined || choice === null || choice === 'auto')
    return { tools: known, isForced: false };
  if (choice === 'required') return { tools: atLeastOne(known), isForced: true };
  if (choice.type === 'function') {
    return { tools: named([choice.function.name]), isForced: true, isNamed: true };
  }
  if (choice.type === 'allowed_tools') {
    const { mode, tools: allowed } = choice.allowed_tools;
    if (!['auto', 'required'].includes(mode)) {
      throw invalid(`the mode of allowed_tools must be "auto" or "required", not ${mode}`);
    }
    const names = (allowed as { function?: { name?: unknown } }[]).map(
      (tool) => tool.function?.name,
    );
    return { tools: atLeastOne(named(names)), isForced: mode === 'required' };
  }
  throw invalid(`a tool_choice of type "${choice.type}" is not supported`);
}

// A model whose template does not describe tools is asked to write calls in the format of Hermes,
// which the engine assumes for such models.
const mark = '<tool_call>';
const endMark = '</tool_call>';

export function toolInstructions(tools: readonly FunctionTool[]): string {
  return (
    'You can call these functions, given by their JSON schemas:\n' +
    tools.map((tool) => JSON.stringify(tool.function)).join('\n') +
    `\nTo call one, answer with ${mark}\n{"name": its name, "arguments": its arguments}\n${endMark}`
  );
}

export function spellCall({ name, arguments: given }: ToolCall): string {
  return `${mark}\n{"name": ${JSON.stringify(name)}, "arguments": ${given}}\n${endMark}`;
}

function atLeastOne(tools: readonly FunctionTool[]): readonly FunctionTool[] {
  if (tools.length > 0) return tools;
  throw invalid('tool_choice asks for a call, but there are no tools');
}

function invalid(message: string): KingletError {
  return new KingletError('invalid_argument', message);
}
