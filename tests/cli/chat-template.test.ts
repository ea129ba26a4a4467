// Both renderers on the same conversations: the core's built-in formats through the desktop
// program, and the templates themselves, run by the package.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { renderChat } from '../../web/src/chat-template.ts';
import { writeVocabulary } from './vocabulary-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const templates = join(root, 'tests/fixtures/chat');
const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const bosToken = '<s>';
const eosToken = '</s>';

/** The user's and the assistant's messages in turn. */
const conversations = [
  ['Hello'],
  ['Hello', 'Hi there', 'Who are you?'],
  ['2 + 2?', '   4   ', '  And "3 + 3"?\n', '6', "It's so — {eos} {{ x }} <b>"],
  ['1 + 1?', '<think>\nOne and one.\n</think>\n\n2', 'Sure?'],
];
const system = 'You are a kind\nassistant.';

/** What the desktop program makes of them, with a file that has the template. */
function promptByCli(path: string, contents: string[], options: string[]) {
  const { stdout, stderr } = spawnSync(
    join(root, 'build/native/kinglet'),
    ['prompt', '-m', path, ...options],
    { encoding: 'utf8', input: contents.map((content) => `${content}\0`).join('') },
  );
  return stderr || stdout;
}

describe.each(readdirSync(templates).map((file) => file.replace('.jinja', '')))('%s', (name) => {
  const chatTemplate = readFileSync(join(templates, `${name}.jinja`), 'utf8');
  const info = { chatTemplate, bosToken, eosToken };
  const path = join(folder, `${name}.gguf`);
  writeVocabulary(path, {
    ...{ model: 'gpt2', pre: 'gpt-2', tokens: [bosToken, eosToken], types: [3, 3], merges: [] },
    extra: {
      'tokenizer.ggml.bos_token_id': 0,
      'tokenizer.ggml.eos_token_id': 1,
      'tokenizer.chat_template': chatTemplate,
    },
  });
  const messagesOf = (contents: string[]) =>
    contents.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));

  test.each(conversations.map((contents) => [contents]))('says %j', async (conversation) => {
    // The package's lstrip('\n') takes all white space, Python's only the newlines.
    const strips = chatTemplate.includes('content.lstrip("\\n")');
    const contents = strips ? conversation.map((content) => content.trimStart()) : conversation;
    const expected = await renderChat(info, messagesOf(contents));
    expect(expected).toContain(contents[0]!.trim());
    expect(promptByCli(path, contents, [])).toBe(expected);
  });

  test('says a system message, or that there is none', async () => {
    const contents = conversations[1]!;
    const messages = [{ role: 'system', content: system }, ...messagesOf(contents)];
    const found = promptByCli(path, contents, ['--system', system]);
    const expected = await renderChat(info, messages).catch((error: unknown) => error as Error);
    if (typeof expected === 'string') {
      expect(expected).toContain(system);
      expect(found).toBe(expected);
    } else {
      expect(expected.message).toMatch(/refuses this conversation/);
      expect(found).toMatch(/has no system message/);
    }
  });

  test('asks for an answer without thoughts where it can', async () => {
    const contents = conversations[1]!;
    const variables = { enable_thinking: false };
    const expected = await renderChat(info, messagesOf(contents), { variables });
    expect(promptByCli(path, contents, ['--no-thinking'])).toBe(expected);
    const thinking = await renderChat(info, messagesOf(contents));
    expect(expected !== thinking).toBe(['qwen3', 'smollm3'].includes(name));
  });
});
