// Compares the prompts that the desktop program and the package make of conversations with those of
// Jinja2: see scripts/jinja-answers.py.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Kinglet } from 'kinglet';
import type { ChatMessage } from 'kinglet';
import { afterAll, describe, expect, test } from 'vitest';
import { writeVocabulary } from './vocabulary-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = join(root, 'tests/fixtures');
const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

type TextMessage = ChatMessage & { content: string };

interface Conversation {
  messages: TextMessage[];
  add_generation_prompt: boolean;
  enable_thinking?: boolean;
  tools?: object[];
}

const readJson = (name: string): unknown =>
  JSON.parse(readFileSync(join(fixtures, 'jinja', name), 'utf8'));
const conversations = readJson('conversations.json') as Conversation[];
/** The prompts by Jinja2 for each template; null if Jinja2 refuses the conversation. */
const chats = readJson('chats.json') as Record<string, (string | null)[]>;

/** Returns the answer with today's date: Jinja2 was told that today is the 26th of July 2024. */
function asOfToday(answer: string | null | undefined): string | null {
  const now = new Date();
  const day = String(now.getDate()).padStart(2, '0');
  const year = String(now.getFullYear());
  const month = now.toLocaleString('en', { month: 'long' });
  const spelled = (name: string) => `${day} ${name} ${year}`;
  if (typeof answer !== 'string') return null;
  return answer
    .replace('26 July 2024', spelled(month))
    .replace('26 Jul 2024', spelled(month.slice(0, 3)))
    .replace('July 26, 2024', `${month} ${day}, ${year}`);
}

/** Returns the desktop program's prompt for a system message, if any, and the other messages. */
function promptByCli(path: string, { messages, enable_thinking: thinks }: Conversation) {
  const system = messages.find(({ role }) => role === 'system');
  const others = messages.filter((message) => message !== system);
  const options = [
    ...(system ? ['--system', system.content] : []),
    ...(thinks === false ? ['--no-thinking'] : []),
  ];
  return prompt(['-m', path, ...options], others);
}

function prompt(options: string[], messages: TextMessage[]) {
  const { stdout, stderr } = spawnSync(join(root, 'build/native/kinglet'), ['prompt', ...options], {
    encoding: 'utf8',
    input: messages.map(({ content }) => `${content}\0`).join(''),
  });
  return stderr || stdout;
}

/** Conversations in the program begin and end with the user, and have no tools. */
const isKnownToProgram = ({ messages, tools, add_generation_prompt: isOpen }: Conversation) =>
  !tools &&
  isOpen &&
  messages[0]!.content !== '' &&
  messages
    .filter(({ role }) => role !== 'system')
    .every(({ role }, i) => role === (i % 2 ? 'assistant' : 'user'));

function writeModel(name: string, chatTemplate: string): string {
  const path = join(folder, `${name}.gguf`);
  writeVocabulary(path, {
    ...{ model: 'gpt2', pre: 'gpt-2', tokens: ['<s>', '</s>'], types: [3, 3], merges: [] },
    extra: {
      'tokenizer.ggml.bos_token_id': 0,
      'tokenizer.ggml.eos_token_id': 1,
      'tokenizer.chat_template': chatTemplate,
    },
  });
  return path;
}

describe.each(Object.keys(chats))('%s', (name) => {
  const chatTemplate = readFileSync(join(fixtures, `chat/${name}.jinja`), 'utf8');
  const path = writeModel(name, chatTemplate);
  const tellsTime = chatTemplate.includes('strftime_now');
  const answers = chats[name]!.map((answer) => (tellsTime ? asOfToday(answer) : answer));

  test('is run by the program', () => {
    const known = conversations.filter(isKnownToProgram);
    expect(known.length).toBeGreaterThan(4);
    for (const conversation of known) {
      const expected = answers[conversations.indexOf(conversation)];
      const found = promptByCli(path, conversation);
      if (expected === null) {
        expect(found).toMatch(/the chat template refuses this conversation: line \d+: /);
      } else expect(found).toBe(expected);
    }
  });

  test('is run by the package', async () => {
    const model = await Kinglet.load(new Blob([readFileSync(path)]), { nThreads: 1 });
    for (const [i, { messages, ...given }] of conversations.entries()) {
      // Templates that know no tools get other messages then.
      const hasTools = given.tools ?? messages.some((message) => 'tool_calls' in message);
      if (hasTools && !model.info.knowsTools) continue;
      const { add_generation_prompt: addGenerationPrompt, ...variables } = given;
      const found = await model
        .chatPrompt(messages, { addGenerationPrompt, variables })
        .catch((error: unknown) => error as Error);
      if (found instanceof Error) {
        expect(answers[i]).toBeNull();
        expect(found.message).toMatch(/the chat template refuses this conversation: line \d+: /);
      } else expect(found).toBe(answers[i]);
    }
    model.dispose();
  });
});

test('a template may come from elsewhere', async () => {
  const path = writeModel('other', '{{ 1 }}');
  const source = '{% for m in messages %}[{{ m.role }}]{{ m.content + eos_token }}{% endfor %}';
  const file = join(folder, 'own.jinja');
  writeFileSync(file, source);
  const messages = [{ role: 'user', content: 'Hi' }];
  expect(prompt(['-m', path], messages)).toBe('1');
  expect(prompt(['-m', path, '--chat-template', file], messages)).toBe('[user]Hi</s>');
  writeFileSync(file, '{% if %}');
  expect(prompt(['-m', path, '--chat-template', file], messages)).toMatch(
    /the chat template cannot be parsed: line 1: /,
  );
  expect(prompt(['-m', path, '--chat-template', `${file}x`], messages)).toMatch(/own.jinjax/);

  const blob = new Blob([readFileSync(path)]);
  const model = await Kinglet.load(blob, { nThreads: 1, chatTemplate: source });
  expect(model.info.chatTemplate).toBe(source);
  expect(await model.chatPrompt(messages)).toBe('[user]Hi</s>');
  model.dispose();
  await expect(Kinglet.load(blob, { nThreads: 1, chatTemplate: '{% if %}' })).rejects.toMatchObject(
    {
      code: 'unsupported_feature',
      message: expect.stringMatching(/the chat template cannot be parsed: line 1: /) as string,
    },
  );
  await expect(Kinglet.load(blob, { chatTemplate: 1 as unknown as string })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});
