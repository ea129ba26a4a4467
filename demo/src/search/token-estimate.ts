// How many tokens a text has, told without the model: it is asked about some places of a text only,
// and this about every sentence.

/** A run of letters, one of digits, or any other sign. */
const runs = /[\p{L}\p{M}]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]/gu;
/** Scripts without spaces between words, where nearly every character is a token. */
const unspaced =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}]/u;

/** As a vocabulary of 30,000 tokens cuts common words; within a third of what most models count. */
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
 * An estimate that fits the model on this text: scaled by what the model counts in some places of it.
 * `count` gives the model's own number of tokens.
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

/** The whole of a short text; else its beginning, middle and end. */
export function samples(text: string): string[] {
  if (text.length <= nSamples * sampleLength) return [text];
  const step = (text.length - sampleLength) / (nSamples - 1);
  return Array.from({ length: nSamples }, (_, i) => {
    const start = Math.floor(i * step);
    return text.slice(start, start + sampleLength);
  });
}
