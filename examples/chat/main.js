// A chat that streams and stops, keeps its conversation over reloads, and opens a model file that is
// picked or dropped.
import { Chat } from './kinglet/index.js';
import { MarkdownView } from './kinglet/markdown/index.js';

const form = document.querySelector('form');
const { message: input, send, stop } = form.elements;
const [log, status, file, clear] = ['log', 'status', 'file', 'clear'].map((id) =>
  document.getElementById(id),
);

const storageKey = 'kinglet chat';
const chat = new Chat({ messages: kept() });
/** The messages that are shown; those that did not change are the same objects in the next state. */
let shown = [];
/** The model that was there before. */
let announced;

/** The Markdown of each answer. */
const views = new WeakMap();
let frame;
chat.subscribe(() => {
  frame ??= globalThis.requestAnimationFrame(show);
});
function show() {
  frame = undefined;
  const { model, isLoading, progress, isAnswering, error, messages } = chat.getState();
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 8;
  messages.forEach((message, i) => {
    const view = views.get(log.children[i]);
    if (message === shown[i]) return;
    if (view && message.role === 'assistant') view.update(message.content);
    else if (i < log.children.length) log.children[i].replaceWith(elementOf(message));
    else log.append(elementOf(message));
  });
  while (log.children.length > messages.length) log.lastChild.remove();
  shown = messages;
  if (isAtEnd) log.scrollTop = log.scrollHeight;
  send.disabled = !model || isAnswering;
  stop.disabled = !isAnswering;
  log.setAttribute('aria-busy', isAnswering);
  if (isLoading) status.textContent = `Loading: ${inMegabytes(progress)}`;
  else if (error) status.textContent = error.message;
  else if (isAnswering) status.textContent = '';
  else if (model !== announced) status.textContent = `${model.info.name || 'The model'} is ready.`;
  announced = model;
}

function elementOf({ role, content }) {
  const element = Object.assign(document.createElement('div'), { className: role });
  if (role === 'assistant') {
    const view = new MarkdownView(element);
    views.set(element, view);
    view.update(content);
  } else element.textContent = content;
  return element;
}

/** Returns the conversation of the last visit. If it cannot be read, a new one begins. */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(storageKey)) ?? [];
  } catch {
    return [];
  }
}

/** In Safari's private windows and with full storage, the conversation ends with the page. */
function keep() {
  try {
    localStorage.setItem(storageKey, JSON.stringify(chat.getState().messages));
  } catch (error) {
    status.textContent = `The conversation cannot be kept: ${error.message}`;
  }
}

function inMegabytes({ loaded = 0, total } = {}) {
  const [done, all] = [loaded, total ?? NaN].map((bytes) => (bytes / 1e6).toFixed(1));
  return total ? `${done} of ${all} MB` : `${done} MB`;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question === '' || send.disabled) return;
  input.value = '';
  const answer = await chat.ask(question);
  if (!answer) input.value ||= question; // nothing was said, so it can be asked again
  keep();
});
stop.addEventListener('click', chat.stop);
clear.addEventListener('click', () => {
  chat.clear();
  keep();
});
file.addEventListener('change', () => file.files[0] && chat.load(file.files[0]));
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  const [dropped] = event.dataTransfer.files;
  if (dropped) void chat.load(dropped);
});
addEventListener('pagehide', keep); // in the middle of an answer, what there is of it

show();
void chat.load('model.gguf');
