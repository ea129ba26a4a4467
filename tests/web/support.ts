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
