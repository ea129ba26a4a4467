// Lays conversations out by templates, without a model's weights.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet } from 'kinglet';
import type { ChatMessage, ChatTokensOptions } from 'kinglet';
import { conversationOf } from '../../web/src/chat-template.ts';
import { writeVocabulary } from '../cli/vocabulary-file.ts';

/** Returns a file that holds a vocabulary of two marks, `<s>` and `</s>`. */
export function smallVocabulary(): Uint8Array<ArrayBuffer> {
  const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
  const path = join(folder, 'vocabulary.gguf');
  writeVocabulary(path, {
    ...{ model: 'gpt2', pre: 'gpt-2', tokens: ['<s>', '</s>'], types: [3, 3], merges: [] },
    extra: { 'tokenizer.ggml.bos_token_id': 0, 'tokenizer.ggml.eos_token_id': 1 },
  });
  const bytes = new Uint8Array(readFileSync(path));
  rmSync(folder, { recursive: true });
  return bytes;
}

const file = new Blob([smallVocabulary()]);

/** Lays a conversation out by this template; the vocabulary's marks are `<s>` and `</s>`. */
export async function layOutBy(
  chatTemplate: string,
  messages: readonly ChatMessage[],
  options: ChatTokensOptions = {},
): Promise<string[]> {
  const model = await Kinglet.load(file, { nThreads: 1, chatTemplate });
  try {
    return await model.layOut(conversationOf(messages, options));
  } finally {
    model.dispose();
  }
}
