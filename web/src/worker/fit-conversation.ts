// Chooses the messages to leave out of a conversation that is longer than the context.
import type { EngineSession } from '#engine';
import { KingletError } from '../errors.ts';
import type { ChatText, Conversation } from '../protocol.ts';
import type { PromptTokens } from './prompt-tokens.ts';

/** A conversation that is laid out, with its tokens. */
export interface LaidOut extends PromptTokens {
  content: ChatText;
}

export interface FittedConversation extends LaidOut {
  /** The number of messages that were left out. */
  dropped: number;
}

export interface FitRequest {
  conversation: Conversation;
  session: EngineSession;
  /** The most tokens that the prompt may have. */
  nMost: number;
  layOut: (conversation: Conversation) => Promise<LaidOut>;
}

interface Message {
  role: string;
}

interface Variables {
  messages: readonly Message[];
}

/** How many runs were last left out of a session's conversation. */
const lastDropped = new WeakMap<EngineSession, number>();

/**
 * Leaves out the oldest exchanges until the prompt fits. If that is not enough, also leaves out the
 * oldest calls of tools after the last question. If it must leave out more than the last time, it
 * also makes room for a few more turns: these then begin with what the session holds, so that only
 * their new tokens are computed.
 */
export async function fitConversation(request: FitRequest): Promise<FittedConversation> {
  const { conversation, session, nMost, layOut } = request;
  const variables = JSON.parse(conversation.variables) as Variables;
  const runs = removableRuns(variables.messages);
  const without = async (nRuns: number): Promise<FittedConversation> => {
    const messages = withoutRuns(variables.messages, runs.slice(0, nRuns));
    const dropped = variables.messages.length - messages.length;
    const shorter = { ...conversation, variables: JSON.stringify({ ...variables, messages }) };
    return { ...(await layOut(shorter)), dropped };
  };
  const fits = ({ tokens }: LaidOut, nTokens = nMost) => tokens.length <= nTokens;

  const whole = await without(0);
  if (fits(whole) || runs.length === 0) return whole;
  const nBefore = lastDropped.get(session) ?? 0;
  if (nBefore > 0 && nBefore <= runs.length) {
    const again = await without(nBefore);
    if (fits(again) && goesOn(session.tokens(), again.tokens)) return again;
  }
  let [least, most] = [1, runs.length];
  while (least < most) {
    const middle = Math.floor((least + most) / 2);
    if (fits(await without(middle), nMost - nMost / 4)) most = middle;
    else least = middle + 1;
  }
  lastDropped.set(session, least);
  return without(least);
}

/**
 * Returns how many of the first tokens belong to the system messages. These are the tokens that
 * also begin a conversation of the system messages and an empty question. Returns 0 if the template
 * refuses that conversation.
 */
export async function systemTokens(
  { variables, ...conversation }: Conversation,
  tokens: Int32Array,
  layOut: FitRequest['layOut'],
): Promise<number> {
  const given = JSON.parse(variables) as Variables;
  const nSystem = countSystem(given.messages);
  const messages = [...given.messages.slice(0, nSystem), { role: 'user', content: '' }];
  const empty = { ...conversation, variables: JSON.stringify({ ...given, messages }) };
  try {
    return countSame((await layOut(empty)).tokens, tokens);
  } catch (error) {
    if (error instanceof KingletError) return 0;
    throw error;
  }
}

/**
 * Returns the runs of messages [first, end) that can be left out, the oldest first. A run is an
 * exchange, from a user's message to the next one. In the last exchange, a run is a message of the
 * assistant with the results of its calls, except for the last one.
 */
export function removableRuns(messages: readonly Message[]): [first: number, end: number][] {
  const first = countSystem(messages);
  const roleAt = (i: number) => messages[i]?.role;
  const starts = (isStart: (i: number) => boolean, from: number) =>
    [...messages.keys()].filter((i) => i >= from && isStart(i));
  const exchanges = starts(
    (i) => i === first || (roleAt(i) === 'user' && roleAt(i - 1) !== 'user'),
    first,
  );
  const rounds = starts((i) => roleAt(i) === 'assistant', exchanges.at(-1) ?? messages.length);
  return [...between(exchanges), ...between(rounds)];
}

function between(starts: readonly number[]): [number, number][] {
  return starts.slice(1).map((end, i) => [starts[i] ?? 0, end]);
}

function withoutRuns(messages: readonly Message[], runs: readonly [number, number][]): Message[] {
  return messages.filter((_, i) => !runs.some(([first, end]) => i >= first && i < end));
}

function countSystem(messages: readonly Message[]): number {
  const n = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return n < 0 ? messages.length : n;
}

/** Returns whether `tokens` begin with at least half of the held tokens. */
function goesOn(held: Int32Array, tokens: Int32Array): boolean {
  return held.length > 0 && 2 * countSame(held, tokens) >= held.length;
}

function countSame(a: Int32Array, b: Int32Array): number {
  const n = a.findIndex((token, i) => token !== b[i]);
  return n < 0 ? a.length : n;
}
