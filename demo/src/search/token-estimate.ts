// Estimates the number of a text's tokens. Cutting needs the tokens of every sentence; the model
// counts only some parts of a text.

/** A run of letters, a run of digits, or any other single character. */
const runs = /[\p{L}\p{M}]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]/gu;
/** Scripts without spaces between words, where nearly every character is a token. */
const unspaced =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}]/u;

/** Assumes a vocabulary of 30,000 tokens; within a third of the count of most models. */
export function estimateTokens(text: string): number {
  let sum = 0;
  for (const [run] of text.matchAll(runs)) sum += tokensOfRun(run);
  return sum;
}

function tokensOfRun(run: string): number {
  if (unspaced.test(run)) return run.length;
  return /\p{N}/u.test(run) ? Math.ceil(run.length / 3) : Math.ceil(run.length / 7);
}

const nSamples = 3;
const sampleLength = 2000;

/**
 * Returns an estimate for parts of this text, scaled to match the model's count of some samples.
 * `count` returns the model's exact number of tokens.
 */
export async function fittedEstimate(
  text: string,
  count: (sample: string) => Promise<number>,
): Promise<(part: string) => number> {
  const sample = samples(text).join('\n');
  const estimated = estimateTokens(sample);
  const scale = estimated === 0 ? 1 : (await count(sample)) / estimated;
  return (part) => scale * estimateTokens(part);
}

/** A short text as a whole; else the beginning, the middle and the end. */
export function samples(text: string): string[] {
  if (text.length <= nSamples * sampleLength) return [text];
  const step = (text.length - sampleLength) / (nSamples - 1);
  return Array.from({ length: nSamples }, (_, i) => {
    const start = Math.floor(i * step);
    return text.slice(start, start + sampleLength);
  });
}
