// The panel: reads the open page when it is asked, and shows what the model answers. The conversation
// is in the extension's session storage, so it survives the panel, the background and the model.
import { api } from './api.js';
import { MarkdownView } from './kinglet/markdown/index.js';

const form = document.querySelector('form');
const { question: input, send, stop } = form.elements;
const [about, log, model, status, clear] = ['about', 'log', 'model', 'status', 'clear'].map((id) =>
  document.getElementById(id),
);

/** The page that the conversation is about: { url, title, text }. */
let page;
/** All questions and answers; the last one grows while it is being written. */
let messages = [];
/** The number of the question that is being answered; undefined if none is. */
let asked;
let nAsked = 0;
let view;
/** Leads to the model; undefined while there is none. */
let port;

({ page, messages = [] } = await api.storage.session.get(['page', 'messages']));
if (messages.at(-1)?.content === '') takeBack();
showAll();
connect().catch(report);

async function connect() {
  const { error } = await api.runtime.sendMessage('open the model');
  if (error) throw new Error(error);
  port = api.runtime.connect({ name: 'panel' });
  port.onMessage.addListener(hear);
  port.onDisconnect.addListener(() => {
    port = undefined;
    if (asked !== undefined) end('The browser has ended the model. Ask again.');
    connect().catch(report);
  });
}

function hear({ progress, ready, failed, id, text = '', end: isOver, error = '' }) {
  if (progress) model.textContent = `Loading: ${inMegabytes(progress)}`;
  if (ready) model.textContent = `${ready.name || 'The model'} is ready.`;
  if (failed) model.textContent = failed;
  if (id === undefined || id !== asked) return; // or of an answer that was stopped
  if (text) {
    status.textContent = '';
    messages.at(-1).content += text;
    view.update(messages.at(-1).content);
  }
  if (isOver) end(error);
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const content = input.value.trim();
  if (content === '' || asked !== undefined) return;
  const id = (asked = ++nAsked);
  setBusy(true);
  status.textContent = 'Reading the page …';
  try {
    await readPage();
    if (!port) await connect();
  } catch (error) {
    asked = undefined;
    setBusy(false);
    return report(error);
  }
  if (asked !== id) return; // stopped
  input.value = '';
  messages.push({ role: 'user', content });
  port?.postMessage({ ask: { id, page, messages } });
  messages.push({ role: 'assistant', content: '' });
  showAll();
  keep();
});
stop.addEventListener('click', () => end());
clear.addEventListener('click', () => {
  end();
  page = undefined;
  messages = [];
  showAll();
  keep();
});
addEventListener('pagehide', keep); // in the middle of an answer, what there is of it

/** Ends the answer, by itself or because it was stopped; what there is of it stays. */
function end(reason = '') {
  if (asked === undefined) return;
  asked = undefined;
  port?.postMessage({});
  setBusy(false);
  status.textContent = reason;
  if (messages.at(-1)?.content === '') {
    takeBack();
    showAll();
  }
  keep();
}

/** A question that has no answer can be asked again. */
function takeBack() {
  const [{ content }] = messages.splice(-2);
  input.value ||= content;
}

/** Reads the open page. On another page than before, a new conversation begins. */
async function readPage() {
  const [tab] = await api.tabs.query({ active: true, currentWindow: true });
  const func = () => ({
    url: location.href.split('#')[0],
    title: document.title,
    text: document.body.innerText.slice(0, 100_000),
  });
  const [{ result }] = await api.scripting
    .executeScript({ target: { tabId: tab.id }, func })
    .catch(({ message }) => {
      throw new Error(`${message} Click the extension’s button on the page to let it read.`);
    });
  if (result.url === page?.url) return;
  page = result;
  messages = [];
}

function showAll() {
  about.textContent = page?.title ?? '';
  log.replaceChildren(...messages.map(elementOf));
}

function elementOf({ role, content }) {
  const element = Object.assign(document.createElement('div'), { className: role });
  if (role === 'assistant') {
    view = new MarkdownView(element);
    view.update(content);
  } else element.textContent = content;
  return element;
}

function report({ message }) {
  status.textContent = message;
}

function setBusy(isBusy) {
  send.disabled = isBusy;
  stop.disabled = !isBusy;
  log.setAttribute('aria-busy', isBusy);
}

function keep() {
  void api.storage.session.set({ page, messages });
}

function inMegabytes({ loaded = 0, total }) {
  const [done, all] = [loaded, total ?? NaN].map((bytes) => (bytes / 1e6).toFixed(1));
  return total ? `${done} of ${all} MB` : `${done} MB`;
}
