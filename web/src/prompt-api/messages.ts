// Reads prompts, and lays out conversations.
import { conversationOf } from '../chat-template.ts';
import type { Kinglet } from '../kinglet.ts';
import type { FunctionTool, MessageParam } from '../openai/types.ts';
import type { Conversation } from '../protocol.ts';
import type { ChatMessage } from '../types.ts';
import { notSupported, syntaxError } from './errors.ts';
import type { LanguageModelMessage, LanguageModelPrompt, LanguageModelTool } from './types.ts';

/** A message of the conversation. */
export type Said = MessageParam & { content: string };

export interface ReadPrompt {
  messages: Said[];
  /** How the answer begins. */
  prefix: string;
}

/** @throws TypeError, a `NotSupportedError` or, for a prefix in the wrong place, a `SyntaxError`. */
export function readPrompt(input: LanguageModelPrompt): ReadPrompt {
  const given: readonly LanguageModelMessage[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const messages = readMessages(given);
  if (messages.some(({ role }) => role === 'system')) {
    throw notSupported('A system message can only be the first of the initialPrompts.');
  }
  const last = given.at(-1);
  if (given.slice(0, -1).some(({ prefix }) => prefix === true)) {
    throw syntaxError('Only the last message can be a prefix.');
  }
  if (last?.prefix !== true) return { messages, prefix: '' };
  if (last.role !== 'assistant') throw syntaxError('Only an assistant message can be a prefix.');
  return { messages: messages.slice(0, -1), prefix: textOf(last) };
}

/** @throws TypeError, or a `NotSupportedError`. */
export function readInitialPrompts(given: readonly LanguageModelMessage[]): Said[] {
  const messages = readMessages(given);
  if (messages.some(({ role }, i) => role === 'system' && i > 0)) {
    throw new TypeError('A system message can only be the first of the initialPrompts.');
  }
  if (given.some(({ prefix }) => prefix === true)) {
    throw new TypeError('The initialPrompts cannot have a prefix.');
  }
  return messages;
}

const roles = ['system', 'user', 'assistant'];

function readMessages(given: readonly LanguageModelMessage[]): Said[] {
  const messages: unknown = given;
  if (!Array.isArray(messages))
    throw new TypeError('A prompt must be a string or an array of messages.');
  return given.map((message) => {
    if (!roles.includes((message as LanguageModelMessage | null)?.role ?? '')) {
      throw new TypeError(`The role of a message must be one of ${roles.join(', ')}.`);
    }
    return { role: message.role, content: textOf(message) };
  });
}

function textOf({ content }: LanguageModelMessage): string {
  if (typeof content === 'string') return content;
  const given: unknown = content;
  if (!Array.isArray(given)) throw new TypeError('The content must be text.');
  return content
    .map(({ type, value }) => {
      if (type === 'text' && typeof value === 'string') return value;
      throw notSupported(`The model reads text only, not "${type}".`);
    })
    .join('');
}

/** Lays out conversations, for models whose templates know tools and for others. */
export class Layout {
  readonly tools: FunctionTool[];
  readonly #model: Kinglet;

  constructor(model: Kinglet, tools: readonly LanguageModelTool[]) {
    this.#model = model;
    this.tools = tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema as Record<string, unknown> },
    }));
  }

  /** Returns the conversation up to an answer that begins with `prefix`. */
  chat(messages: readonly Said[], prefix: string): Conversation {
    return { ...this.#conversation(messages, true), saidLast: prefix };
  }

  /** Returns the messages' tokens. With `isAsking`, these end where an answer begins. */
  async tokens(messages: readonly Said[], isAsking = false): Promise<number[]> {
    if (messages.length === 0) return [];
    return this.#model.tokensOf(this.#conversation(messages, isAsking));
  }

  #conversation(messages: readonly Said[], addGenerationPrompt: boolean): Conversation {
    const tools = this.tools.length > 0 ? this.tools : undefined;
    const options = { tools, addGenerationPrompt };
    return conversationOf(merged(messages) as ChatMessage[], options);
  }
}

/** Joins messages of the same role in a row: templates expect user and assistant to take turns. */
function merged(messages: readonly Said[]): Said[] {
  const result: Said[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    const isMore = last?.role === message.role && message.role !== 'tool' && !last.tool_calls;
    if (!isMore) result.push(message);
    else {
      const content = [last.content, message.content].filter((text) => text !== '').join('\n\n');
      result[result.length - 1] = { ...last, ...message, content };
    }
  }
  return result;
}
