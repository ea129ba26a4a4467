// What a conversation becomes: the engine runs the model's chat template.
import type { EngineModel } from '#engine';
import type { ChatText, Conversation, PostedEncoding } from '../protocol.ts';
import { unwrap } from './engine-error.ts';

export function layOut(model: EngineModel, { variables, trustContent }: Conversation): ChatText {
  const texts = unwrap(model.layOut(variables, localTime()));
  return { texts: trustContent ? [texts.join('')] : texts };
}

/** The tokens of a text, or of a conversation, in which the template's control tokens are. */
export function encoded(
  model: EngineModel,
  content: string | ChatText | Conversation,
  { addBos, parseSpecial }: PostedEncoding,
): Int32Array {
  if (typeof content === 'string') return model.encode([content], addBos, parseSpecial);
  const { texts } = 'texts' in content ? content : layOut(model, content);
  return model.encode(texts, addBos, true);
}

function localTime() {
  const now = new Date();
  return {
    year: now.getFullYear(),
    month: now.getMonth() + 1,
    day: now.getDate(),
    hour: now.getHours(),
    minute: now.getMinutes(),
    second: now.getSeconds(),
  };
}
