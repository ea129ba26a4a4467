import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const storyModel = new URL(
  '../../demo/models/kinglet-stories-5m-Q4_0.gguf',
  import.meta.url,
);

/** Returns the desktop program's greedy continuation of a prompt. */
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

/** Returns a generator of whole numbers from 0 to n - 1 that are the same in every run. */
export function seededRandom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** Returns the file with its number of tensors set to 0. */
export function vocabularyOf(model: Uint8Array): Uint8Array<ArrayBuffer> {
  const vocabulary = new Uint8Array(model);
  vocabulary.fill(0, 8, 16); // the number of tensors
  return vocabulary;
}

/** Returns the file with a chat template added to its metadata. */
export function withChatTemplate(model: Uint8Array, template: string): Uint8Array<ArrayBuffer> {
  return withMetadata(model, { 'tokenizer.chat_template': template });
}

/** Returns the file with texts and floats added to its metadata. */
export function withMetadata(
  model: Uint8Array,
  values: Record<string, string | number>,
): Uint8Array<ArrayBuffer> {
  const header = 24; // magic, version, number of tensors, number of metadata values
  const entries = Object.entries(values).map(([key, value]) => metadataEntry(key, value));
  const size = Buffer.concat(entries).length + metadataEntry('filler', '').length;
  const alignment = 32; // the filler keeps the tensors aligned
  entries.push(metadataEntry('filler', ' '.repeat(alignment - (size % alignment))));
  const start = Buffer.from(model.subarray(0, header));
  start.writeBigUInt64LE(start.readBigUInt64LE(16) + BigInt(entries.length), 16);
  return new Uint8Array(Buffer.concat([start, ...entries, model.subarray(header)]));
}

function metadataEntry(key: string, value: string | number): Buffer {
  const type = Buffer.alloc(4);
  type.writeUInt32LE(typeof value === 'string' ? 8 : 6);
  const number = Buffer.alloc(4);
  if (typeof value === 'number') number.writeFloatLE(value);
  return Buffer.concat([text(key), type, typeof value === 'string' ? text(value) : number]);
}

function text(value: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(value)));
  return Buffer.concat([length, Buffer.from(value)]);
}
