// The prompt for a chat model: the passages and the question.

export interface Source {
  name: string;
  text: string;
}

export function answerPrompt(question: string, sources: readonly Source[]): string {
  const passages = sources.map(
    ({ name, text }, i) => `[${String(i + 1)}] ${name}\n${text.trim()}\n`,
  );
  return [
    'Answer the question from the passages below and from nothing else. Be short. Behind what you ' +
      'take from a passage, put its number in brackets, like [1]. If the passages do not answer the ' +
      'question, say so.\n',
    ...passages,
    `Question: ${question.trim()}`,
  ].join('\n');
}

/**
 * Returns as many of the first passages as fit a prompt of `maxTokens`; none if not even one fits.
 * `count` returns the number of a prompt's tokens.
 */
export async function fittingSources(
  question: string,
  sources: readonly Source[],
  maxTokens: number,
  count: (prompt: string) => Promise<number>,
): Promise<readonly Source[]> {
  for (let n = sources.length; n > 0; --n) {
    const first = sources.slice(0, n);
    if ((await count(answerPrompt(question, first))) <= maxTokens) return first;
  }
  return [];
}
