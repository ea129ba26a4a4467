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
/** Of the conversation on the page; undefined while there is nothing in it to keep. */
export const conversationId = new Observable<string | undefined>(undefined);
export const running = new Observable<Exchange | undefined>(undefined);
/** The one that runs, or ran last. */
export const latest = new Observable<Exchange | undefined>(undefined);

let stopRunning: AbortController | undefined;
let whenEnded: Promise<void> = Promise.resolve();

export function send(mode: Mode, prompt: string, pictures: readonly Picture[] = []): Promise<void> {
  return begin(new Exchange(mode, prompt, pictures));
}

/** What the page says by itself. */
export function sendSample(prompt: string): Promise<void> {
  const exchange = new Exchange('write', prompt);
  exchange.isSample = true;
  return begin(exchange);
}

function begin(exchange: Exchange): Promise<void> {
  exchanges.value = [...exchanges.value, exchange];
  return answer(exchange);
}

/** Answers anew, another prompt if one is given. What was said after it in the chat goes. */
export function resend(exchange: Exchange, prompt = exchange.prompt): Promise<void> {
  takeUp(exchange);
  exchange.prompt = prompt;
  return answer(exchange);
}

/** Goes on where the answer ended. */
export function goOn(exchange: Exchange): Promise<void> {
  takeUp(exchange);
  const { pieces, hasTokens, text, reasoning } = exchange;
  // Of an answer from an earlier visit, or from a server, there is the text only.
  return answer(exchange, hasTokens ? pieces : [{ token: -1, text, reasoning }]);
}

/** Goes on from another token in place of the answer's `index`th. */
export function branch(exchange: Exchange, index: number, piece: Piece): Promise<void> {
  takeUp(exchange);
  return answer(exchange, [...exchange.pieces.slice(0, index), piece]);
}

/** Stops what is running; resolves when it has ended. */
export function stop(): Promise<void> {
  stopRunning?.abort();
  return whenEnded;
}

export async function startOver(): Promise<void> {
  await stop();
  exchanges.value = [];
  conversationId.value = undefined;
}

/** For a model that counts in other tokens: what was said stays as text. */
export async function forgetTokens(): Promise<void> {
  await stop();
  for (const exchange of exchanges.value) exchange.forgetTokens();
}

/** The tokens that an exchange's answer follows. */
export async function promptTokens(
  { kinglet }: OpenModel,
  exchange: Exchange,
  before: readonly Exchange[],
): Promise<number[]> {
  return exchange.mode === 'write'
    ? kinglet.tokenize(exchange.prompt)
    : kinglet.chatTokens(messagesOf(exchange, before));
}

/** Goes on from exactly these tokens. What the session holds of them is not computed again. */
export async function continueFrom(
  session: Session,
  tokens: readonly number[],
  options: GenerateOptions,
): Promise<Generation> {
  return session.generate(await unread(session, tokens), options);
}

/** Has the session forget what is not the beginning of these tokens; gives those it does not hold. */
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

/** Has an answer changed: what was said after it in the chat goes. */
function takeUp(exchange: Exchange): void {
  exchange.isSample = false;
  if (exchange.mode !== 'chat') return;
  const index = exchanges.value.indexOf(exchange);
  exchanges.value = exchanges.value.filter(({ mode }, i) => i <= index || mode !== 'chat');
}
