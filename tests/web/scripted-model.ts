// A scripted model: a test gives its answers, but the chat template of a real model lays out its
// prompts, and the engine reads its answers.
import type { Kinglet } from 'kinglet';
import { Generation } from '../../web/src/generation.ts';
import { ownEnd } from '../../web/src/protocol.ts';
import type { ChatText, PromptPlace } from '../../web/src/protocol.ts';
import type {
  ChatMessage,
  ChatTokensOptions,
  ChatTool,
  GenerateOptions,
} from '../../web/src/types.ts';
import { layOutBy } from './laid-out.ts';
import { answerReading } from './read-answer.ts';
import { chatTemplate } from './tool-templates.ts';

export interface ScriptedCall {
  prompt: string;
  /** The texts of the template and of the messages, in turn. */
  texts: readonly string[];
  options: GenerateOptions;
  /** The tools that it may call, as JSON, and whether it must. */
  tools: string | undefined;
  mustCall: PromptPlace['mustCall'];
}

export interface Scripted {
  model: Kinglet;
  /** The prompts and options that the model was given, in order. */
  calls: ScriptedCall[];
}

/** Returns a model with the named template; its answer number i comes in the pieces `answer(i)`. */
export function scriptedModel(
  template: string,
  answer: (index: number) => string[],
  finishReason: 'stop' | 'length' = 'stop',
  nCtx = 512,
): Scripted {
  const calls: ScriptedCall[] = [];
  const source = chatTemplate(template);
  const knowsTools = /\btools\b/.test(source);
  const info = {
    ...{ name: 'Scripted', nCtx, bosToken: '<s>', eosToken: '</s>', purpose: 'text' },
    ...{ chatTemplate: source, knowsTools, hasWeights: true },
  };
  const say = (
    { texts }: ChatText,
    options: GenerateOptions,
    { tools, mustCall }: Pick<PromptPlace, 'tools' | 'mustCall'>,
  ) => {
    const pieces = answer(calls.length);
    calls.push({ prompt: texts.join(''), texts, options, tools, mustCall });
    return new Generation((sink) => {
      const { grammar, jsonSchema } = options;
      const isConstrained = (grammar ?? jsonSchema) !== undefined && mustCall === undefined;
      const reading = answerReading(source, tools, ownEnd({ texts }), isConstrained);
      for (const text of pieces)
        sink.push({ ...reading.read(text, false), token: 7, logprob: -0.5 });
      sink.push({ ...reading.read('', true), token: -1 });
      reading.delete();
      sink.end({
        ...{ text: pieces.join(''), finishReason, seed: 1 },
        usage: { promptTokens: 5, cachedTokens: 2, completionTokens: pieces.length },
        timings: { guessedTokens: 7, keptTokens: 4 } as never,
      });
      return () => undefined;
    });
  };
  const layOut = (messages: ChatMessage[], options: ChatTokensOptions) =>
    layOutBy(source, messages, options);
  const session = {
    info: { nCtx },
    start: say,
    keepPrefix: () => Promise.resolve(0),
    decode: () => Promise.resolve(new Float32Array()),
    fork: () => Promise.resolve(session),
    dispose: () => undefined,
  };
  const model = {
    ...{ info, layOut, newSession: () => Promise.resolve(session) },
    answer: (
      chat: ChatText,
      { tools, mustCall }: { tools: readonly ChatTool[]; mustCall: PromptPlace['mustCall'] },
      options: GenerateOptions,
    ) => say(chat, options, { tools: JSON.stringify(tools), mustCall }),
    // A character is a token.
    chatTokens: async (messages: ChatMessage[], options: ChatTokensOptions) =>
      Array.from((await layOut(messages, options)).texts.join(''), () => 7),
  };
  return { model: model as unknown as Kinglet, calls };
}

/** Cuts `text` into pieces of `size` characters. */
export const inPieces = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  );

export async function collect<T>(chunks: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}
