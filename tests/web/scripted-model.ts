// A scripted model: a test writes its answers. A grammar lets the engine write nothing else, so all
// that reads requests and answers is real.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import type { GenerateOptions, Session } from 'kinglet';
import { onTestFinished } from 'vitest';
import type { Conversation } from '../../web/src/protocol.ts';
import { storyModel } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

const file = new Blob([readFileSync(storyModel)]);

/** The body of a request. */
export type Body = Record<string, unknown>;

/** The start of a generation in a session of its own. */
export interface Start {
  prompt: string;
  /** The texts of the template and of the messages, in turn. */
  texts: readonly string[];
  options: GenerateOptions;
}

export interface Scripted {
  model: Kinglet;
  /** The bodies of the requests that the model was given, in order, as they were. */
  requests: Body[];
  starts: Start[];
}

/**
 * Returns a model with the named template, which gives `answer(i)` to its request or start number i. A
 * request that constrains its answer is not scripted.
 */
export async function scriptedModel(
  template: string,
  answer: (index: number) => string,
): Promise<Scripted> {
  const source = chatTemplate(template);
  const real = await Kinglet.load(file, { nThreads: 1, chatTemplate: source });
  onTestFinished(() => {
    real.dispose();
  });
  const starts: Start[] = [];
  const start = (session: Session): Session['start'] => {
    return (chat, options, place) => {
      const begun: Start = { prompt: '', texts: [], options };
      const grammar = exactly(answer(starts.length));
      starts.push(begun);
      // The model answers this first.
      void real.layOut(chat as Conversation).then((texts) => {
        Object.assign(begun, { prompt: texts.join(''), texts });
      });
      return session.start(chat, { ...options, jsonSchema: undefined, grammar }, place);
    };
  };
  const scriptedSession = (session: Session): Session => {
    const { info } = session;
    return {
      ...{ info, start: start(session) },
      keepPrefix: (tokens) => session.keepPrefix(tokens),
      decode: (tokens, options) => session.decode(tokens, options),
      fork: async () => scriptedSession(await session.fork()),
      dispose: () => {
        session.dispose();
      },
    } as Partial<Session> as Session;
  };
  const requests: Body[] = [];
  const ask: Kinglet['ask'] = (request, signal) => {
    const body = JSON.parse(request.body) as Body;
    const grammar = exactly(answer(requests.length));
    requests.push(body);
    const scripted = isConstrained(body) ? body : { ...body, grammar };
    return real.ask({ ...request, body: JSON.stringify(scripted) }, signal);
  };
  const { info } = real;
  const model = {
    ...{ info, ask },
    newSession: async (options) => scriptedSession(await real.newSession(options)),
    layOut: (conversation) => real.layOut(conversation),
    tokensOf: (conversation) => real.tokensOf(conversation),
    countTokens: (text) => real.countTokens(text),
  } as Partial<Kinglet> as Kinglet;
  return { model, requests, starts };
}

/** Returns the grammar of one text. */
export function exactly(text: string): string {
  return `root ::= ${JSON.stringify(text)}`;
}

function isConstrained({ response_format: format, text, tool_choice: choice }: Body): boolean {
  const isForced = typeof choice === 'object' || choice === 'required';
  return isForced || format !== undefined || text !== undefined;
}

export async function collect<T>(chunks: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}
