// The exchanges on the page, and the one that is being answered.
import type { ChatMessage, Generation, GenerateOptions, Piece, Session } from 'kinglet';
import { generateOptions, settings } from '../settings.ts';
import { Observable } from '../ui/observable.ts';
import { canWrite, opened } from '../workspace.ts';
import type { OpenModel, WritingModel } from '../workspace.ts';
import { Exchange } from './exchange.ts';
import type { Mode } from './exchange.ts';

export const exchanges = new Observable<readonly Exchange[]>([]);
export const running = new Observable<Exchange | undefined>(undefined);
/** The one that runs, or ran last. */
export const latest = new Observable<Exchange | undefined>(undefined);

/** How many tokens are told that might have stood in a token's place. */
const nAlternatives = 8;

let stopRunning: AbortController | undefined;
let whenEnded: Promise<void> = Promise.resolve();

export function send(mode: Mode, prompt: string): Promise<void> {
  const exchange = new Exchange(mode, prompt);
  exchanges.value = [...exchanges.value, exchange];
  return answer(exchange);
}

/** Answers anew, another prompt if one is given. What was said after it in the chat goes. */
export function resend(exchange: Exchange, prompt = exchange.prompt): Promise<void> {
  forgetAfter(exchange);
  exchange.prompt = prompt;
  return answer(exchange);
}

/** Goes on where the answer ended. */
export function goOn(exchange: Exchange): Promise<void> {
  forgetAfter(exchange);
  return answer(exchange, exchange.pieces);
}

/** Goes on from another token in place of the answer's `index`th. */
export function branch(exchange: Exchange, index: number, piece: Piece): Promise<void> {
  forgetAfter(exchange);
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
}

/** The tokens that an exchange's answer follows. */
export async function promptTokens(
  { kinglet }: OpenModel,
  { mode, prompt }: Pick<Exchange, 'mode' | 'prompt'>,
  before: readonly Exchange[],
): Promise<number[]> {
  return mode === 'write'
    ? kinglet.tokenize(prompt)
    : kinglet.chatTokens(messagesOf(prompt, before));
}

function messagesOf(prompt: string, before: readonly Exchange[]): ChatMessage[] {
  const messages: ChatMessage[] = before
    .filter((earlier) => earlier.mode === 'chat')
    .flatMap((earlier) => [
      { role: 'user', content: earlier.prompt },
      { role: 'assistant', content: earlier.text },
    ]);
  const { system } = settings.value;
  if (system) messages.unshift({ role: 'system', content: system });
  messages.push({ role: 'user', content: prompt });
  return messages;
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
  const model = opened.value;
  if (!canWrite(model)) return;
  stopRunning = new AbortController();
  running.value = exchange;
  latest.value = exchange;
  whenEnded = run(model, exchange, kept, stopRunning.signal).finally(() => {
    running.value = undefined;
  });
  await whenEnded;
}

async function run(
  model: WritingModel,
  exchange: Exchange,
  kept: readonly Piece[],
  signal: AbortSignal,
): Promise<void> {
  exchange.begin(kept);
  try {
    const before = exchanges.value.slice(0, exchanges.value.indexOf(exchange));
    const prefix = kept.map(({ token }) => token).filter((token) => token >= 0);
    const options = { ...generateOptions(settings.value), logprobs: nAlternatives, signal };
    const generation =
      exchange.mode === 'chat'
        ? model.session.chat(messagesOf(exchange.prompt, before), { ...options, prefix })
        : await continueFrom(
            model.session,
            [...(await promptTokens(model, exchange, before)), ...prefix],
            options,
          );
    for await (const piece of generation) exchange.add(piece);
    exchange.end(await generation.result);
  } catch (error) {
    if (signal.aborted) exchange.stop();
    else exchange.fail(error);
  }
}

function forgetAfter(exchange: Exchange): void {
  if (exchange.mode !== 'chat') return;
  const index = exchanges.value.indexOf(exchange);
  exchanges.value = exchanges.value.filter(({ mode }, i) => i <= index || mode !== 'chat');
}
