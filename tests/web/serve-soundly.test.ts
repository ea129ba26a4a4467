// A short life of `kinglet serve`. `npm run sanitize` runs this with a program that ends at the
// first error of its memory, and fails if it has lost some.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stories } from '../cli/program.ts';
import { serve } from './serve-program.ts';
import { withChatTemplate } from './support.ts';
import { chatTemplate } from './tool-templates.ts';

test('serve answers, refuses and ends with nothing to report', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kinglet-soundly-'));
  const model = join(folder, 'model.gguf');
  writeFileSync(model, withChatTemplate(readFileSync(stories), chatTemplate('qwen2.5')));
  const served = await serve(model, ['--ctx', '128']);
  const request = {
    ...{ model: 'any', temperature: 0, max_tokens: 8 },
    messages: [{ role: 'user' as const, content: 'Tell me of a cat.' }],
  };
  const answer = await served.client.chat.completions.create(request);
  let streamed = '';
  for await (const chunk of await served.client.chat.completions.create({
    ...request,
    stream: true,
  })) {
    streamed += chunk.choices[0]?.delta.content ?? '';
  }
  expect(streamed).toBe(answer.choices[0]?.message.content);
  const wrong = { ...request, messages: 'none' as unknown as [] };
  await expect(served.client.chat.completions.create(wrong)).rejects.toThrow(/400/);
  expect(await served.stop('SIGTERM')).toBe(0);
  const post = String.raw`\S+ "POST" "/v1/chat/completions" \d{3}.*\n`;
  expect(served.log()).toMatch(
    new RegExp(String.raw`^kinglet: .* at http:.*\n(${post}){3}kinglet: ending\n$`),
  );
  rmSync(folder, { recursive: true });
});
