import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const storyModel = new URL(
  '../../demo/models/kinglet-stories-5m-Q4_0.gguf',
  import.meta.url,
);

/** The desktop program's greedy continuation of a prompt. */
export function tellByCli(prompt: string, nTokens: number, options: string[] = []): string {
  const answer = execFileSync(
    `${root}build/native/kinglet`,
    [
      ...['generate', '-m', fileURLToPath(storyModel), '-p', prompt],
      ...['-n', String(nTokens), '--temp', '0', ...options],
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return answer.replace(/\n$/, ''); // the program ends its last line
}

/** Gives whole numbers from 0 to n - 1 that are the same in every run. */
export function seededRandom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** The file without its tensors. */
export function vocabularyOf(model: Uint8Array): Uint8Array<ArrayBuffer> {
  const vocabulary = new Uint8Array(model);
  vocabulary.fill(0, 8, 16); // the number of tensors
  return vocabulary;
}

/** The file with a chat template added to its metadata. */
export function withChatTemplate(model: Uint8Array, template: string): Uint8Array<ArrayBuffer> {
  const key = Buffer.from('tokenizer.chat_template');
  const header = 24; // magic, version, number of tensors, number of metadata values
  const fixed = 8 + key.length + 4 + 8;
  const alignment = 32;
  // As long as whole blocks of the alignment, so that the tensors stay where they belong.
  const comment =
    '{#' + ' '.repeat(alignment - 1 - ((fixed + template.length + 3) % alignment)) + '#}';
  const text = Buffer.from(template + comment);
  const entry = Buffer.alloc(fixed + text.length);
  entry.writeBigUInt64LE(BigInt(key.length), 0);
  key.copy(entry, 8);
  entry.writeUInt32LE(8, 8 + key.length); // a string
  entry.writeBigUInt64LE(BigInt(text.length), fixed - 8);
  text.copy(entry, fixed);
  if (entry.length % alignment !== 0) throw new Error('not aligned');
  const start = Buffer.from(model.subarray(0, header));
  start.writeBigUInt64LE(start.readBigUInt64LE(16) + 1n, 16);
  return new Uint8Array(Buffer.concat([start, entry, model.subarray(header)]));
}
