// What the page offers of the package's catalogue.
import { chatModels, pictureModels, storyModels } from 'kinglet/catalogue';
import type { ChatModel, HubModel } from 'kinglet/catalogue';

/** Chat models that a new visitor is offered, the better ones first. */
export const firstChatModels: readonly ChatModel[] = [
  ...['SmolLM2 360M Instruct', 'SmolLM2 135M Instruct'],
].flatMap((wanted) => chatModels.filter(({ name }) => name === wanted));

/** All models that write text. */
export const writingModels: readonly HubModel[] = [...chatModels, ...pictureModels, ...storyModels];

/** The address of the file that reads pictures for a model of `pictureModels`. */
export function readerOf(source: unknown): string | undefined {
  return pictureModels.find(({ address }) => address === source)?.mmproj.address;
}
