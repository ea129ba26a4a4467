// The exchanges on the page, and the one that is being answered.
import type { Generation, GenerateOptions, Piece, Session } from 'kinglet';
import type { Picture } from '../pictures/picture.ts';
import { Observable } from '../ui/observable.ts';
import type { OpenModel } from '../workspace.ts';
import { Exchange } from './exchange.ts';
import type { Mode } from './conversation-store.ts';
import { messagesOf } from './messages.ts';
import { writer } from './writer.ts';
import type { Task, Writer } from './writer.ts';

export const exchanges = new Observable<readonly Exchange[]>([]);
/** The id of the conversation on the page; undefined while it has nothing to store. */
export const conversationId = new Observable<string | undefined>(undefined);
export const running = new Observable<Exchange | undefined>(undefined);
/** The exchange that is running, or ran last. */
export const latest = new Observable<Exchange | undefined>(undefined);

let stopRunning: AbortController | undefined;
let whenEnded: Promise<void> = Promise.resolve();

export function send(mode: Mode, prompt: string, pictures: readonly Picture[] = []): Promise<void> {
  return begin(new Exchange(mode, prompt, pictures));
}

/** Sends a prompt of the page itself, to show what it does. */
export function sendSample(prompt: string): Promise<void> {
  const exchange = new Exchange('write', prompt);
  exchange.isSample = true;
  return begin(exchange);
}

function begin(exchange: Exchange): Promise<void> {
  exchanges.value = [...exchanges.value, exchange];
  return answer(exchange);
}

/** Answers again, with a changed prompt if one is given. Removes later exchanges of the chat. */
export function resend(exchange: Exchange, prompt = exchange.prompt): Promise<void> {
  takeUp(exchange);
  exchange.prompt = prompt;
  return answer(exchange);
}

/** Continues the answer from its end. */
export function goOn(exchange: Exchange): Promise<void> {
  takeUp(exchange);
  const { pieces, hasTokens, text, reasoning } = exchange;
  // An answer from an earlier visit or from a server has text only.
  return answer(exchange, hasTokens ? pieces : [{ token: -1, text, reasoning }]);
}

/** Replaces the answer's token at `index` by another one, and continues from there. */
export function branch(exchange: Exchange, index: number, piece: Piece): Promise<void> {
  takeUp(exchange);
  return answer(exchange, [...exchange.pieces.slice(0, index), piece]);
}

/** Stops the running answer; resolves when it has ended. */
export function stop(): Promise<void> {
  stopRunning?.abort();
  return whenEnded;
}

export async function startOver(): Promise<void> {
  await stop();
  exchanges.value = [];
  conversationId.value = undefined;
}

/** Removes all tokens, for a model with another vocabulary. The texts stay. */
export async function forgetTokens(): Promise<void> {
  await stop();
  for (const exchange of exchanges.value) exchange.forgetTokens();
}

/** The tokens of everything before an exchange's answer. */
export async function promptTokens(
  { kinglet }: OpenModel,
  exchange: Exchange,
  before: readonly Exchange[],
): Promise<number[]> {
  return exchange.mode === 'write'
    ? kinglet.tokenize(exchange.prompt)
    : kinglet.chatTokens(messagesOf(exchange, before));
}

/** Continues exactly these tokens. A beginning that the session holds is not computed again. */
export async function continueFrom(
  session: Session,
  tokens: readonly number[],
  options: GenerateOptions,
): Promise<Generation> {
  return session.generate(await unread(session, tokens), options);
}

/** Cuts the session to its common beginning with these tokens. Returns the tokens after that. */
export async function unread(session: Session, tokens: readonly number[]): Promise<number[]> {
  return tokens.slice(await session.keepPrefix(tokens));
}

async function answer(exchange: Exchange, kept: readonly Piece[] = []): Promise<void> {
  await stop();
  if (!writer.value) return;
  stopRunning = new AbortController();
  running.value = exchange;
  latest.value = exchange;
  const before = exchanges.value.slice(0, exchanges.value.indexOf(exchange));
  const { signal } = stopRunning;
  whenEnded = run(writer.value, { exchange, before, kept, signal }).finally(() => {
    running.value = undefined;
  });
  await whenEnded;
}

async function run(by: Writer, task: Task): Promise<void> {
  const { exchange, kept, signal } = task;
  exchange.begin(kept);
  try {
    exchange.end(await by.answer(task));
  } catch (error) {
    if (signal.aborted) exchange.stop();
    else exchange.fail(error);
  }
}

/** Prepares an exchange for a changed answer: removes later exchanges of the chat. */
function takeUp(exchange: Exchange): void {
  exchange.isSample = false;
  if (exchange.mode !== 'chat') return;
  const index = exchanges.value.indexOf(exchange);
  exchanges.value = exchanges.value.filter(({ mode }, i) => i <= index || mode !== 'chat');
}
