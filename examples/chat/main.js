// A chat that streams and stops, keeps its conversation over reloads, and opens a model file that is
// picked or dropped.
import { Kinglet } from './kinglet/index.js';

const form = document.querySelector('form');
const { message: input, send, stop } = form.elements;
const [log, status, file, clear] = ['log', 'status', 'file', 'clear'].map((id) =>
  document.getElementById(id),
);

const storageKey = 'kinglet chat';
const messages = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
let model;
let loading = new AbortController();
let answering = new AbortController();

/** Loads a model in place of the one that is open, which stays if this fails. */
async function open(source) {
  loading.abort(); // a model that was chosen earlier
  const { signal } = (loading = new AbortController());
  try {
    const onProgress = ({ loaded, total }) => say(`Loading: ${inMegabytes(loaded, total)}`);
    const opened = await Kinglet.load(source, { signal, onProgress });
    answering.abort();
    model?.dispose();
    model = opened;
    send.disabled = false;
    say(`${model.info.name || 'The model'} is ready.`);
  } catch (error) {
    if (!signal.aborted) say(error.message);
  }
}

async function ask(question) {
  const turn = [
    { role: 'user', content: question },
    { role: 'assistant', content: '' },
  ];
  const [asked, answer] = turn;
  const prompt = [...messages, asked];
  const shown = turn.map(show);
  messages.push(...turn);
  const { signal } = (answering = new AbortController());
  setBusy(true);
  say('');
  try {
    for await (const { text } of model.chat(prompt, { signal, onFull: 'dropOldest' })) {
      answer.content += text;
      shown[1].append(text);
      log.scrollTop = log.scrollHeight;
    }
  } catch (error) {
    if (!signal.aborted) say(error.message);
  }
  setBusy(false);
  if (answer.content === '' && messages.includes(answer)) {
    // Nothing was said, so the question can be asked again.
    messages.splice(messages.indexOf(asked), 2);
    for (const element of shown) element.remove();
    input.value ||= question;
  }
  keep();
}

function show({ role, content }) {
  const element = Object.assign(document.createElement('p'), {
    className: role,
    textContent: content,
  });
  log.append(element);
  return element;
}

function setBusy(isBusy) {
  send.disabled = isBusy;
  stop.disabled = !isBusy;
}

function say(text) {
  status.textContent = text;
}

/** In Safari's private windows and with full storage, the conversation ends with the page. */
function keep() {
  try {
    localStorage.setItem(storageKey, JSON.stringify(messages));
  } catch (error) {
    say(`The conversation cannot be kept: ${error.message}`);
  }
}

function inMegabytes(loaded, total) {
  const [done, all] = [loaded, total ?? NaN].map((bytes) => (bytes / 1e6).toFixed(1));
  return total ? `${done} of ${all} MB` : `${done} MB`;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question === '' || send.disabled) return;
  input.value = '';
  void ask(question);
});
stop.addEventListener('click', () => answering.abort());
clear.addEventListener('click', () => {
  answering.abort();
  messages.length = 0;
  log.replaceChildren();
  keep();
});
file.addEventListener('change', () => file.files[0] && open(file.files[0]));
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  const [dropped] = event.dataTransfer.files;
  if (dropped) void open(dropped);
});
addEventListener('pagehide', keep); // in the middle of an answer, what there is of it

messages.forEach(show);
void open('model.gguf');
