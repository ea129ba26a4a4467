// Answers questions with functions of the page: the model says which to call, the page calls it, and
// the model answers with what it returned.
import { Kinglet, toolResult } from './kinglet/index.js';

const form = document.querySelector('form');
const { question: input, send } = form.elements;
const [status, calls, answer] = ['status', 'calls', 'answer'].map((id) =>
  document.getElementById(id),
);

/** What the model may call. A model has read nothing but these words, so they must say it all. */
const functions = {
  get_time: {
    description: 'The time of day in a time zone',
    parameters: {
      type: 'object',
      properties: { zone: { type: 'string', description: 'Such as "Europe/Oslo"' } },
      required: ['zone'],
    },
    run: ({ zone }) => new Date().toLocaleTimeString('en', { timeZone: zone }),
  },
  add: {
    description: 'The sum of numbers',
    parameters: {
      type: 'object',
      properties: { numbers: { type: 'array', items: { type: 'number' } } },
      required: ['numbers'],
    },
    run: ({ numbers }) => numbers.reduce((sum, number) => sum + number, 0),
  },
};
const tools = Object.entries(functions).map(([name, { description, parameters }]) => ({
  type: 'function',
  function: { name, description, parameters },
}));

/** A model that goes on calling is stopped. */
const maxSteps = 5;

let model;
try {
  model = await Kinglet.load('model.gguf', {
    onProgress: ({ loaded, total }) =>
      say(`Loading${total ? `: ${Math.round((100 * loaded) / total)} %` : ''}`),
  });
  say(model.info.knowsTools ? 'Ready.' : 'This model was not trained to call functions.');
  send.disabled = false;
} catch (error) {
  say(error.message);
}

async function ask(question) {
  const messages = [{ role: 'user', content: question }];
  calls.replaceChildren();
  for (let step = 0; step < maxSteps; ++step) {
    answer.textContent = '';
    const turn = model.chat(messages, { tools, temperature: 0 });
    for await (const { text } of turn) answer.append(text);
    const { message, toolCalls = [], finishReason } = await turn.result;
    if (finishReason !== 'stop') throw new Error(`The answer was cut short: ${finishReason}.`);
    if (toolCalls.length === 0) return;
    messages.push(message);
    for (const call of toolCalls) messages.push(toolResult(call, await run(call)));
  }
  throw new Error(`No answer after ${maxSteps} steps.`);
}

/** Calls one of the functions: calls of others arrive as text. An error is a result, too: the model may mend its call. */
async function run({ name, arguments: json }) {
  let result;
  try {
    result = await functions[name].run(JSON.parse(json));
  } catch (error) {
    result = { error: error.message };
  }
  const shown = `${name}(${json}) → ${JSON.stringify(result)}`;
  calls.append(Object.assign(document.createElement('li'), { textContent: shown }));
  return result;
}

function say(text) {
  status.textContent = text;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question === '' || send.disabled) return;
  send.disabled = true;
  say('');
  await ask(question).catch((error) => say(error.message));
  send.disabled = false;
});
