import { KingletError } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import type { GenerateOptions, GenerationResult } from '../types.ts';
import { answerHead, AnswerStream, controllerOf, finishReasonOf, usageOf } from './answers.ts';
import { addTextLogprob, lengthOf, noTextLogprobs } from './logprobs.ts';
import { checked, reading, textShape } from './request.ts';
import {
  numberOfChoices,
  optionsOfChoice,
  present,
  refuseUnknown,
  samplingOptions,
} from './sampling.ts';
import type {
  CompletionUsage,
  NonStreaming,
  RequestOptions,
  Streaming,
  TextCompletion,
  TextCompletionParams,
  TextLogprobs,
} from './types.ts';

type Choice = TextCompletion['choices'][number];
type Prompt = string | readonly number[];

export class TextCompletions {
  readonly #model: Kinglet;

  /** @internal */
  constructor(model: Kinglet) {
    this.#model = model;
  }

  /** Continues one or several prompts: at once, or in chunks with `stream`. */
  create(
    params: TextCompletionParams & NonStreaming,
    options?: RequestOptions,
  ): Promise<TextCompletion>;
  create(
    params: TextCompletionParams & Streaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<TextCompletion>>;
  create(
    params: TextCompletionParams & (NonStreaming | Streaming),
    options?: RequestOptions,
  ): Promise<TextCompletion | AnswerStream<TextCompletion>>;
  async create(
    given: TextCompletionParams & (NonStreaming | Streaming),
    options: RequestOptions = {},
  ): Promise<TextCompletion | AnswerStream<TextCompletion>> {
    const controller = controllerOf(options);
    const params = reading(() => {
      refuseUnknown(given, ['prompt', 'echo']);
      return checked(given, textShape);
    });
    const request: TextRequest = {
      ...{ model: this.#model, params, prompts: promptsOf(params.prompt) },
      nChoices: numberOfChoices(params),
      head: answerHead('cmpl', params, this.#model.info),
      options: {
        ...samplingOptions(params, { signal: controller.signal }),
        ...present({ logprobs: params.logprobs }),
        maxTokens: params.max_tokens ?? 16,
      },
    };
    return params.stream ? new AnswerStream(controller, streamChunks(request)) : whole(request);
  }
}

interface TextRequest {
  model: Kinglet;
  params: TextCompletionParams;
  prompts: Prompt[];
  nChoices: number;
  head: ReturnType<typeof answerHead>;
  options: GenerateOptions;
}

async function whole(request: TextRequest): Promise<TextCompletion> {
  const choices: Choice[] = [];
  const usages: CompletionUsage[] = [];
  for await (const { choice, usage } of parts(request)) {
    if (usage) usages.push(usage);
    if (!choice) continue;
    const begun = choices[choice.index];
    if (begun) append(begun, choice);
    else choices.push(choice);
  }
  return { ...request.head, object: 'text_completion', choices, usage: sum(usages) };
}

async function* streamChunks(request: TextRequest): AsyncGenerator<TextCompletion, void, void> {
  const usages: CompletionUsage[] = [];
  const head = { ...request.head, object: 'text_completion' } as const;
  for await (const { choice, usage } of parts(request)) {
    if (usage) usages.push(usage);
    if (choice) yield { ...head, choices: [choice] };
  }
  if (request.params.stream_options?.include_usage === true) {
    yield { ...head, choices: [], usage: sum(usages) };
  }
}

/** Yields the parts of the choices, one choice after the other, and the usage of each prompt. */
async function* parts({
  model,
  params,
  prompts,
  nChoices,
  options,
}: TextRequest): AsyncGenerator<{ choice?: Choice; usage?: CompletionUsage }, void, void> {
  const withLogprobs = params.logprobs !== null && params.logprobs !== undefined;
  let index = 0;
  for (const prompt of prompts) {
    const results: GenerationResult[] = [];
    for (let i = 0; i < nChoices; ++i, ++index) {
      const generation = model.generate(prompt, optionsOfChoice(options, i));
      const echoed = params.echo === true ? await textOf(model, prompt) : '';
      if (echoed !== '') yield { choice: part(index, echoed, withLogprobs) };
      let offset = lengthOf(echoed);
      for await (const piece of generation) {
        const choice = part(index, piece.text, withLogprobs);
        if (choice.logprobs && piece.token >= 0) {
          offset = addTextLogprob(choice.logprobs, piece, offset);
        }
        if (piece.text !== '' || withLogprobs) yield { choice };
      }
      const result = await generation.result;
      results.push(result);
      const last = part(index, '', withLogprobs);
      yield { choice: { ...last, finish_reason: finishReasonOf(result) } };
    }
    yield { usage: usageOf(results) };
  }
}

/** Only a choice's last part has a `finish_reason`; OpenAI's type does not allow null before it. */
function part(index: number, text: string, withLogprobs: boolean): Choice {
  return {
    ...{ index, text, logprobs: withLogprobs ? noTextLogprobs() : null },
    finish_reason: null as unknown as 'stop',
  };
}

function append(choice: Choice, { text, finish_reason: finish, logprobs }: Choice): void {
  choice.text += text;
  choice.finish_reason = finish;
  for (const name of Object.keys(logprobs ?? {}) as (keyof TextLogprobs)[]) {
    (choice.logprobs?.[name] as unknown[]).push(...(logprobs?.[name] ?? []));
  }
}

function sum(usages: readonly CompletionUsage[]): CompletionUsage {
  const total = (count: (usage: CompletionUsage) => number) =>
    usages.reduce((before, usage) => before + count(usage), 0);
  return {
    prompt_tokens: total((usage) => usage.prompt_tokens),
    completion_tokens: total((usage) => usage.completion_tokens),
    total_tokens: total((usage) => usage.total_tokens),
    prompt_tokens_details: {
      cached_tokens: total((usage) => usage.prompt_tokens_details.cached_tokens),
    },
    completion_tokens_details: {
      reasoning_tokens: 0,
      accepted_prediction_tokens: total(
        (usage) => usage.completion_tokens_details.accepted_prediction_tokens,
      ),
      rejected_prediction_tokens: total(
        (usage) => usage.completion_tokens_details.rejected_prediction_tokens,
      ),
    },
  };
}

function textOf(model: Kinglet, prompt: Prompt): Promise<string> {
  return typeof prompt === 'string' ? Promise.resolve(prompt) : model.detokenize(prompt);
}

/** Returns the prompts of a text, of tokens, or of a list of either. */
export function promptsOf(prompt: TextCompletionParams['prompt']): Prompt[] {
  if (typeof prompt === 'string') return [prompt];
  if (!Array.isArray(prompt) || prompt.length === 0) {
    throw new KingletError('invalid_argument', 'expected a text, tokens, or a list of either');
  }
  return typeof prompt[0] === 'number' ? [prompt as number[]] : [...(prompt as Prompt[])];
}
