// Whether the open model reads pictures.
import { writingModels } from '../catalogue.ts';
import { server } from '../server/server.ts';
import { canWrite } from '../workspace.ts';
import type { OpenModel, WritingModel } from '../workspace.ts';

export function readsPictures(model: OpenModel | undefined): model is WritingModel {
  if (!canWrite(model)) return false;
  const { chatTemplate, images, imageWidth } = model.kinglet.info;
  // For other models on the hub, the package looks for a reader when the first picture comes.
  const { source } = model.choice;
  const isKnown = writingModels.some(({ address }) => address === source);
  const isOnHub = typeof source === 'string' && source.startsWith('hf:');
  const mayRead = imageWidth > 0 && isOnHub && !isKnown;
  return chatTemplate !== undefined && (images !== undefined || mayRead);
}

/** Why the open model reads no pictures. */
export function whyNoPictures(model: OpenModel | undefined): string {
  if (server.value) return 'this page sends the server text only';
  return canWrite(model) ? 'this model reads text only' : 'no model is loaded that could read them';
}
