// npx kinglet prepare: stores the state after a conversation's beginning in a file, from which pages
// start. The same as `kinglet prepare` of the program.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Kinglet } from '../dist/index.js';

const options = {
  model: { type: 'string', short: 'm' },
  output: { type: 'string', short: 'o' },
  system: { type: 'string' },
  messages: { type: 'string' },
  tools: { type: 'string' },
  kv: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
};
const help = `Usage: kinglet prepare -m MODEL -o NAME.kprompt [options]

Computes a conversation's beginning, and stores the state after it: a file for the option "prepared"
of load(), so that visitors of a page do not compute it.

Options:
  -m, --model MODEL    the model: a path, a URL or an address of the hub
  -o, --output FILE    the file to write
      --system FILE    a text file with the system message
      --messages FILE  a JSON file with a list of messages
      --tools FILE     a JSON file with a list of tools
      --kv KIND        how keys and values are stored; default: as load() does
  -h, --help           print this`;

/** @throws Error in words, for the user. */
export async function prepare(given) {
  const { values } = parseArgs({ args: given, options });
  if (values.help) return void console.log(help);
  for (const name of ['model', 'output']) {
    if (values[name] === undefined) throw new Error(`--${name} is missing`);
  }
  const tools = values.tools && readJson(values.tools);
  if (values.system === undefined && values.messages === undefined) {
    throw new Error('--system or --messages is missing');
  }
  const messages = [
    // Without the ends of lines at its end, as a shell's $(cat FILE).
    ...(values.system
      ? [{ role: 'system', content: readFileSync(values.system, 'utf8').replace(/\n+$/, '') }]
      : []),
    ...(values.messages ? messagesIn(values.messages) : []),
  ];
  const warn = ({ message }) => console.error(`kinglet: ${message}`);
  const model = await Kinglet.load(values.model, { kv: values.kv, onWarning: warn });
  try {
    const state = await model.prepare({ messages, ...(tools && { tools }) });
    writeFileSync(values.output, state);
    console.error(`${(state.length / 1e6).toFixed(1)} MB`);
  } finally {
    model.dispose();
  }
}

function messagesIn(path) {
  const given = readJson(path);
  const messages = given?.messages ?? given;
  if (Array.isArray(messages) && messages.length > 0) return messages;
  throw new Error(`${path}: expected a list of at least one message`);
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // Node's parser shows a part of the file, with its line breaks.
    throw new Error(`${path}: ${error.message.replace(/\s+/g, ' ')}`, { cause: error });
  }
}
