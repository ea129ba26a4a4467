// Converts messages of OpenAI's API to those that chat templates expect.
import { KingletError } from '../errors.ts';
import type { ChatMessage, ContentPart } from '../types.ts';
import { spellCall, toolInstructions } from './tools.ts';
import type { FunctionCall, FunctionTool, MessagePart, MessageParam } from './types.ts';

export function templateMessages(
  messages: readonly MessageParam[],
  tools: readonly FunctionTool[],
  knowsTools: boolean,
): ChatMessage[] {
  const given: unknown = messages;
  if (!Array.isArray(given) || !given.every((item) => typeof item === 'object' && item !== null)) {
    throw new KingletError('invalid_argument', 'messages must be a list of objects');
  }
  const made = messages.map((message) =>
    knowsTools ? taughtMessage(message) : untaughtMessage(message),
  );
  return tools.length === 0 || knowsTools ? made : withInstructions(made, toolInstructions(tools));
}

/** For templates that know tools: they also know calls and results. */
function taughtMessage(message: MessageParam): ChatMessage {
  const calls = functionCalls(message).map(
    ({ id, type, function: { name, arguments: given } }) => ({
      ...{ id, type },
      function: { name, arguments: checkedArguments(name, given) },
    }),
  );
  return {
    role: roleOf(message),
    content: contentOf(message),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(typeof message.tool_call_id === 'string' && { tool_call_id: message.tool_call_id }),
    ...(typeof message.name === 'string' && { name: message.name }),
    ...thoughtsOf(message),
  };
}

/** For other templates, which know only text and pictures. */
function untaughtMessage(message: MessageParam): ChatMessage {
  const content = contentOf(message);
  if (message.role === 'tool') {
    return { role: 'user', content: within('<tool_response>\n', content, '\n</tool_response>') };
  }
  const calls = functionCalls(message)
    .map((call) => spellCall(call.function))
    .join('\n');
  const separator = content === '' || calls === '' ? '' : '\n';
  return {
    role: roleOf(message),
    content: within('', content, separator + calls),
    ...thoughtsOf(message),
  };
}

type Content = ChatMessage['content'];

function within(before: string, content: Content, after: string): Content {
  if (typeof content === 'string') return before + content + after;
  return [{ type: 'text', text: before }, ...content, { type: 'text', text: after }];
}

function thoughtsOf({ reasoning_content: thoughts }: MessageParam) {
  return typeof thoughts === 'string' && { reasoning_content: thoughts };
}

function withInstructions(messages: ChatMessage[], instructions: string): ChatMessage[] {
  const [first, ...rest] = messages;
  return first?.role === 'system'
    ? [{ ...first, content: within('', first.content, `\n\n${instructions}`) }, ...rest]
    : [{ role: 'system', content: instructions }, ...messages];
}

function roleOf({ role }: MessageParam): string {
  // OpenAI's newer models call the system role "developer".
  return role === 'developer' ? 'system' : role;
}

/** Returns text, or parts if there are pictures. */
function contentOf({ content, refusal }: MessageParam): Content {
  if (content === null || content === undefined) return refusal ?? '';
  if (typeof content === 'string') return content;
  const given: unknown = content;
  if (!Array.isArray(given)) {
    throw new KingletError('invalid_argument', 'content must be a text or a list of parts');
  }
  const parts = content.map(partOf);
  return parts.every((part) => part.type === 'text')
    ? parts.map(({ text }) => text).join('')
    : parts;
}

function partOf({ type, text, refusal, image_url: image }: MessagePart): ContentPart {
  if (type === 'image_url') return { type: 'image', image: checkedAddress(image) };
  const said = type === 'text' ? text : type === 'refusal' ? refusal : undefined;
  if (said !== undefined) return { type: 'text', text: said };
  throw new KingletError(
    'invalid_argument',
    `a part of type "${type}" is not supported: models read text and pictures (image_url) only`,
  );
}

/** A model always reads a picture in full detail, so `detail: "low"` is refused. */
function checkedAddress(image: MessagePart['image_url']): string {
  const { url, detail = 'auto' } = (image ?? {}) as { url?: unknown; detail?: unknown };
  if (detail !== 'auto' && detail !== 'high') {
    const message = `an image_url's detail must be "auto" or "high", not ${String(detail)}`;
    throw new KingletError('invalid_argument', message);
  }
  // Paths and file: URLs are refused, because messages may come from other people.
  if (typeof url === 'string' && /^\s*(https?|data):/i.test(url)) return url.trim();
  throw new KingletError(
    'invalid_argument',
    'the url of an image_url must begin with "https:", "http:" or "data:"',
  );
}

function functionCalls({ tool_calls: calls }: MessageParam): FunctionCall[] {
  return (calls ?? []).filter((call) => call.type === 'function');
}

/** The engine makes values of them: numbers keep their digits, which JavaScript's may not have. */
function checkedArguments(name: string, given: string): string {
  const text = given === '' ? '{}' : given;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new KingletError(
      'invalid_argument',
      `the arguments of the earlier call of "${name}" are not JSON`,
    );
  }
}
