// The desktop program in a pseudo-terminal, as a person uses it; script(1) makes the terminal.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { kinglet, program, stories } from './program.ts';
import { writeVocabulary } from './vocabulary-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'kinglet-terminal-'));
const template = join(folder, 'said.jinja');
writeFileSync(template, '{% for message in messages %}{{ message.content }}{% endfor %}');

const ctrlC = '\u0003';
const ctrlD = '\u0004';

/** A program in a terminal: collects what the program shows and types into it. */
class Terminal {
  shown = '';
  readonly ended: Promise<number | null>;
  readonly #process;

  constructor(args: string[]) {
    const command = [program, ...args].map((word) => `'${word}'`).join(' ');
    this.#process = spawn('script', ['-qefc', `exec ${command}`, '/dev/null'], {
      env: { ...process.env, XDG_STATE_HOME: folder, TERM: 'xterm' },
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.shown += text;
    });
    this.ended = new Promise((resolve) => this.#process.on('close', resolve));
  }

  /** Waits until `text` is in what is shown after the last call, then types `keys`. */
  async type(keys: string, text: string | RegExp = /> $/): Promise<void> {
    const message = () => `waited for ${String(text)}, got ${JSON.stringify(this.shown)}`;
    await vi.waitFor(
      () => {
        expect(this.shown.search(text), message()).toBeGreaterThan(-1);
      },
      {
        timeout: 20_000,
        interval: 10,
      },
    );
    this.shown = '';
    this.#process.stdin.write(keys);
  }

  kill(): void {
    this.#process.kill();
  }
}

const open: Terminal[] = [];
function chat(...options: string[]): Terminal {
  const args = ['chat', '-m', stories, '--chat-template', template, '--temp', '0', ...options];
  const terminal = new Terminal(args);
  open.push(terminal);
  return terminal;
}

afterEach(() => {
  for (const terminal of open.splice(0)) terminal.kill();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function savedMessages(path: string): { role: string; content: string }[] {
  const { messages } = JSON.parse(readFileSync(path, 'utf8')) as {
    messages: { role: string; content: string }[];
  };
  return messages;
}

const answer = ', there was a little girl named Lily.';

describe('chat in a terminal', () => {
  test('goes on after Ctrl-C in an answer, in a line and in none, and saves and loads', async () => {
    const saved = join(folder, 'saved.json');
    const terminal = chat('-n', '400', '--kernels', 'scalar');
    const begins =
      /"Kinglet Stories 5M" \(llama, Q4_0\), \d+\.\d MB of memory for 512 tokens\. \/help [^]*> $/;
    await terminal.type('Once upon a time\r', begins);
    await terminal.type(ctrlC, answer);
    await terminal.type(`/save ${saved}\r`);
    await terminal.type('/clear\r', `Saved 2 messages in ${saved}.`);
    await terminal.type('not this', /A new conversation\.\s+> $/);
    await terminal.type(ctrlC, 'not this');
    await terminal.type(ctrlC, /\n> $/);
    await terminal.type(`/load ${saved}\r`, /\n> $/);
    await terminal.type(ctrlD, /named Lily\.[^]*> $/);
    expect(await terminal.ended).toBe(0);
    const messages = savedMessages(saved);
    expect(messages[0]).toEqual({ role: 'user', content: 'Once upon a time' });
    expect(messages[1]!.content.startsWith(answer)).toBe(true);
    expect(messages[1]!.content.length).toBeLessThan(1200); // the whole has about 1400 characters
    expect(messages).toHaveLength(2);
  });

  test('takes messages of several lines, and files', async () => {
    const file = join(folder, 'file.txt');
    const saved = join(folder, 'lines.json');
    writeFileSync(file, 'From a file.');
    const terminal = chat('-n', '1');
    await terminal.type('/system Be kind.\r');
    await terminal.type('one\\\r', /A new conversation with the system message\.\s+> $/);
    await terminal.type('zwölf\r', /\. $/);
    await terminal.type(`/file ${file}\r`);
    await terminal.type('"""three\r');
    await terminal.type('four"""\r', /\. $/);
    await terminal.type(`/save ${saved}\r`);
    await terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
    const messages = savedMessages(saved);
    const said = messages.filter(({ role }) => role !== 'assistant');
    expect(said.map(({ content }) => content)).toEqual([
      'Be kind.',
      'one\nzwölf',
      'From a file.\n\nthree\nfour',
    ]);
  });

  test('says what is wrong and goes on', async () => {
    const terminal = chat('-n', '1');
    const broken = join(folder, 'broken.json');
    writeFileSync(broken, '{"messages": [{"role": "asistant", "content": ""}]}');
    const notes = join(folder, 'notes.txt');
    writeFileSync(notes, 'my notes');
    await terminal.type('/frob\r');
    await terminal.type('/save\r', /"\/frob" is not a command; \/help lists[^]*> $/);
    await terminal.type('/load /nowhere\r', /\/save needs the path of a file[^]*> $/);
    await terminal.type(`/save ${notes}\r`, /cannot open \/nowhere[^]*> $/);
    await terminal.type(`/load ${broken}\r`, /exists and is another kind of file[^]*> $/);
    await terminal.type('/exit\r', /has the role "asistant": did you mean "assistant"[^]*> $/);
    expect(await terminal.ended).toBe(0);
  });

  test('loads what the server would take, and asks for the result that is missing', async () => {
    const terminal = chat('-n', '1');
    const path = join(folder, 'calls.json');
    const call = (id: string, name: string) => ({
      ...{ id, type: 'function', function: { name, arguments: '{}' } },
    });
    const messages = [
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'a' },
      { role: 'assistant', content: '', tool_calls: [call('0', 'first'), call('1', 'second')] },
      { role: 'tool', content: 'b', tool_call_id: '1' },
    ];
    writeFileSync(path, JSON.stringify({ messages }));
    await terminal.type(`/load ${path}\r`);
    await terminal.type('/exit\r', /The next line is the result of first\.\s+> $/);
    expect(await terminal.ended).toBe(0);
  });

  test('remembers lines, for the user alone', async () => {
    const first = chat('-n', '1');
    await first.type('/help\r');
    await first.type('/exit\r');
    expect(await first.ended).toBe(0);
    expect(statSync(join(folder, 'kinglet/chat-history')).mode & 0o777).toBe(0o600);
    const second = chat('-n', '1');
    await second.type('\u001b[A\u001b[A\r'); // twice up: the line before /exit
    await second.type('/exit\r', /write the conversation as JSON[^]*> $/);
    expect(await second.ended).toBe(0);
  });
});

describe('what is generated from the options', () => {
  test('completes commands and options in bash', () => {
    const script = kinglet(['completions', 'bash']).stdout;
    const complete = (...words: string[]) => {
      const last = String(words.length - 1);
      const call = `COMP_WORDS=(${words.join(' ')}) COMP_CWORD=${last}; _kinglet`;
      const command = `${script}${call}; echo "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', command], { encoding: 'utf8' }).stdout.trim();
    };
    expect(complete('kinglet', 'qua')).toBe('quantize');
    expect(complete('kinglet', 'chat', '--sy')).toBe('--system');
  });

  test.each(['fish', 'zsh'])('makes a script for %s', (shell) => {
    const { status, stdout } = kinglet(['completions', shell]);
    expect(status).toBe(0);
    expect(stdout).toContain('quantize');
    expect(stdout).toContain('repeat-penalty');
  });

  test('makes a manual page with every command', () => {
    const { stdout } = kinglet(['man']);
    const named = [...stdout.matchAll(/^\.SS kinglet (\w+)/gm)].map(([, name]) => name);
    const help = kinglet(['--help']).stdout;
    const listed = [...help.split('Subcommands:')[1]!.matchAll(/^ {2}(\w+)/gm)];
    expect(named).toEqual(listed.map(([, name]) => name));
    expect(named.length).toBeGreaterThan(10);
  });
});

// Files, models and servers must not control the terminal that shows their text.
describe('text of others', () => {
  const evil = '\u001b]0;title\u0007\u009b31m\u202e';
  const safe = String.raw`\x1b]0;title\x07\x9b31m\u202e`;

  const controlsIn = (text: string) =>
    ['\u001b', '\u0007', '\u009b', '\u202e'].filter((control) => text.includes(control));

  /** What a command shows in a terminal, where lines end with CR LF. */
  async function inTerminal(...args: string[]): Promise<string> {
    const terminal = new Terminal(args);
    open.push(terminal);
    await terminal.ended;
    return terminal.shown.replaceAll('\r\n', '\n');
  }

  test('is escaped in what inspect says of a file', async () => {
    const path = join(folder, 'evil.gguf');
    const extra = { [`general.${evil}`]: evil, 'general.name': evil };
    writeVocabulary(path, { model: 'gpt2', tokens: ['a'], extra });
    for (const out of [await inTerminal('inspect', path), kinglet(['inspect', path]).stdout]) {
      expect(out).toContain(`general.${safe}`);
      expect(controlsIn(out)).toEqual([]);
    }
  });

  test('is escaped in what a model says in a terminal, and as it is in a pipe', async () => {
    const grammar = join(folder, 'evil.gbnf');
    writeFileSync(grammar, 'root ::= "\\x1b[31m\\n\\tb"\n');
    const args = ['generate', '-m', stories, '-p', 'a', '--grammar', grammar];
    expect(await inTerminal(...args)).toBe('\\x1b[31m\n\tb\n');
    expect(kinglet(args).stdout).toBe('\u001b[31m\n\tb\n');
  });

  test('is escaped in a conversation that is loaded', async () => {
    const saved = join(folder, 'evil.json');
    const messages = [
      { role: 'user', content: evil },
      { role: 'assistant', content: 'b' },
    ];
    writeFileSync(saved, JSON.stringify({ messages }));
    const terminal = chat();
    await terminal.type(`/load ${saved}\r`);
    await terminal.type(ctrlD, new RegExp(`> ${safe.replaceAll(/[\\[\]]/g, String.raw`\$&`)}`));
    expect(await terminal.ended).toBe(0);
  });

  test('is escaped in errors', () => {
    const { stderr } = kinglet(['inspect', join(folder, `${evil}.gguf`)]);
    expect(stderr).toContain(safe);
    expect(controlsIn(stderr)).toEqual([]);
  });
});
