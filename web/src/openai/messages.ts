// Messages as OpenAI's API has them, made into those that chat templates expect.
import { KingletError } from '../errors.ts';
import type { ChatMessage } from '../types.ts';
import { spellCall, toolInstructions } from './tools.ts';
import type { ToolStyle } from './tools.ts';
import type { FunctionCall, FunctionTool, MessageParam } from './types.ts';

export function templateMessages(
  messages: readonly MessageParam[],
  tools: readonly FunctionTool[],
  style: ToolStyle,
): ChatMessage[] {
  const given: unknown = messages;
  if (!Array.isArray(given) || !given.every((item) => typeof item === 'object' && item !== null)) {
    throw new KingletError('invalid_argument', 'messages must be a list of objects');
  }
  const made = messages.map((message) =>
    style.isTaught ? taughtMessage(message) : untaughtMessage(message),
  );
  return tools.length === 0 || style.isTaught
    ? made
    : withInstructions(made, toolInstructions(tools));
}

/** Templates that know tools know these messages too, the arguments being values, not JSON. */
function taughtMessage(message: MessageParam): ChatMessage {
  const calls = functionCalls(message).map(
    ({ id, type, function: { name, arguments: given } }) => ({
      ...{ id, type },
      function: { name, arguments: parseArguments(name, given) },
    }),
  );
  return {
    role: roleOf(message),
    content: textOf(message),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(message.tool_call_id !== undefined && { tool_call_id: message.tool_call_id }),
    ...(message.name !== undefined && { name: message.name }),
    ...thoughtsOf(message),
  };
}

/** Other templates know text alone. */
function untaughtMessage(message: MessageParam): ChatMessage {
  const content = textOf(message);
  if (message.role === 'tool') {
    return { role: 'user', content: `<tool_response>\n${content}\n</tool_response>` };
  }
  const calls = functionCalls(message).map((call) => spellCall(call.function));
  const lines = content === '' ? calls : [content, ...calls];
  return { role: roleOf(message), content: lines.join('\n'), ...thoughtsOf(message) };
}

function thoughtsOf({ reasoning_content: thoughts }: MessageParam) {
  return typeof thoughts === 'string' && { reasoning_content: thoughts };
}

function withInstructions(messages: ChatMessage[], instructions: string): ChatMessage[] {
  const [first, ...rest] = messages;
  return first?.role === 'system'
    ? [{ ...first, content: `${first.content}\n\n${instructions}` }, ...rest]
    : [{ role: 'system', content: instructions }, ...messages];
}

function roleOf({ role }: MessageParam): string {
  // What OpenAI's newer models call the system.
  return role === 'developer' ? 'system' : role;
}

function textOf({ content }: MessageParam): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text, refusal }) => {
      const said = type === 'text' ? text : type === 'refusal' ? refusal : undefined;
      if (said !== undefined) return said;
      throw new KingletError(
        'invalid_argument',
        `a part of type "${type}" is not supported: the model reads text only`,
      );
    })
    .join('');
}

function functionCalls({ tool_calls: calls = [] }: MessageParam): FunctionCall[] {
  return calls.filter((call) => call.type === 'function');
}

function parseArguments(name: string, given: string): unknown {
  try {
    return JSON.parse(given === '' ? '{}' : given) as unknown;
  } catch {
    throw new KingletError(
      'invalid_argument',
      `the arguments of the earlier call of "${name}" are not JSON`,
    );
  }
}
