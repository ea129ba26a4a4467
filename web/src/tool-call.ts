import { checkedObject, checkedText, jsonOf } from './options.ts';
import type { ChatMessage, ToolCall } from './types.ts';

/**
 * The message with what a tool returned, for the next chat(). `value`: a text, or anything that JSON
 * can hold.
 *
 * @throws {@link KingletError} `invalid_argument` if JSON cannot hold the value, or `call` lacks its id or
 *   name.
 */
export function toolResult(call: ToolCall, value: unknown): ChatMessage {
  const id = checkedText(checkedObject('the call', call).id, "the call's id");
  const name = checkedText(call.name, "the call's name");
  const content = typeof value === 'string' ? value : jsonOf('result of a tool', value);
  return { role: 'tool', tool_call_id: id, name, content };
}
