import { KingletError, messageOf } from './errors.ts';
import { randomDigits } from './random-digits.ts';
import type { ChatMessage, ToolCall } from './types.ts';

/** Returns the id of a new call. Mistral's template requires ids of nine letters and digits. */
export function newCallId(): string {
  return randomDigits(5).slice(0, 9);
}

/**
 * The message with what a tool returned, for the next chat(). `value`: a text, or anything that JSON
 * can hold.
 *
 * @throws {@link KingletError} `invalid_argument` if JSON cannot hold the value.
 */
export function toolResult({ id, name }: ToolCall, value: unknown): ChatMessage {
  return { role: 'tool', tool_call_id: id, name, content: textOf(value) };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value ?? null);
  } catch (error) {
    const reason = messageOf(error);
    throw new KingletError('invalid_argument', `the result of a tool must be JSON: ${reason}`);
  }
}
