import { Kinglet } from 'kinglet';

const form = document.querySelector('form');
const log = document.querySelector('output');
const messages = [];

// The default number of threads suits the machine; ?threads=2 asks for two.
const nThreads = Number(new URLSearchParams(location.search).get('threads')) || undefined;
const model = await Kinglet.load('model.gguf', { nThreads });
form.elements.send.disabled = false;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  messages.push({ role: 'user', content: form.elements.message.value });
  log.textContent = '';
  form.elements.send.disabled = true;
  const answer = model.chat(messages, { temperature: 0, maxTokens: 100 });
  for await (const { text } of answer) log.append(text);
  messages.push({ role: 'assistant', content: log.textContent });
  form.elements.send.disabled = false;
});
