import { jsonOf } from './options.ts';
import type { ChatMessage, ToolCall } from './types.ts';

/**
 * The message with what a tool returned, for the next chat(). `value`: a text, or anything that JSON
 * can hold.
 *
 * @throws {@link KingletError} `invalid_argument` if JSON cannot hold the value.
 */
export function toolResult({ id, name }: ToolCall, value: unknown): ChatMessage {
  const content = typeof value === 'string' ? value : jsonOf('result of a tool', value);
  return { role: 'tool', tool_call_id: id, name, content };
}
