// A writer that uses the model in this page.
import type { Generation } from 'kinglet';
import { readsPictures, whyNoPictures } from '../pictures/seeing.ts';
import { generateOptions, settings } from '../settings.ts';
import type { WritingModel } from '../workspace.ts';
import { continueFrom } from './conversation.ts';
import type { Ending } from './exchange.ts';
import { fittingTokens, mostPromptTokens } from './fitting.ts';
import { countPictures, messagesOf, textBefore } from './messages.ts';
import type { Task, Writer } from './writer.ts';

/** How many alternatives are reported for each token. */
const nAlternatives = 8;

export class PageWriter implements Writer {
  readonly name: string;
  readonly canChat: boolean;
  readonly canGoOnInChats = true;
  readonly #model: WritingModel;

  constructor(model: WritingModel) {
    this.#model = model;
    this.name = model.name;
    this.canChat = model.kinglet.info.chatTemplate !== undefined;
  }

  async answer(task: Task): Promise<Ending> {
    const generation = task.exchange.mode === 'chat' ? this.#chat(task) : await this.#write(task);
    for await (const piece of generation) task.exchange.add(piece);
    return generation.result;
  }

  #chat({ exchange, before, kept, signal }: Task): Generation {
    const nPictures = countPictures([...before, exchange]);
    if (nPictures > 0 && !readsPictures(this.#model)) {
      throw new Error(`There are pictures in this conversation, and ${whyNoPictures(this.#model)}`);
    }
    return this.#model.session.chat(messagesOf(exchange, before), {
      ...{ ...options(signal), onFull: 'dropOldest' },
      onImage: (progress) => {
        exchange.look(progress, nPictures);
      },
      prefix: textBefore(kept) || tokensOf(kept),
    });
  }

  async #write({ exchange, kept, signal }: Task): Promise<Generation> {
    const { kinglet, session } = this.#model;
    const text = exchange.prompt + textBefore(kept);
    const tokens = [...(await kinglet.tokenize(text)), ...tokensOf(kept)];
    const nMost = mostPromptTokens(session.info.nCtx, settings.value.maxTokens);
    const fitting = fittingTokens(tokens, nMost);
    exchange.isCut = fitting !== tokens;
    return continueFrom(session, fitting, options(signal));
  }
}

function options(signal: AbortSignal) {
  return { ...generateOptions(settings.value), logprobs: nAlternatives, signal };
}

function tokensOf(kept: Task['kept']): number[] {
  return kept.map(({ token }) => token).filter((token) => token >= 0);
}
