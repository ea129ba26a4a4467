// Answers questions with what dropped text files say: an index, which stays in the browser, finds the
// passages that are nearest to the question, and a chat model answers with them.
import { Kinglet } from './kinglet/index.js';
import { SearchIndex } from './kinglet/search/index.js';

const form = document.querySelector('form');
const { question: input, send, stop } = form.elements;
const [files, texts, status, answer, sources] = [
  'files',
  'texts',
  'status',
  'answer',
  'sources',
].map((id) => document.getElementById(id));

/** How many passages the chat model reads. */
const nBest = 3;

let answering = new AbortController();

say('Loading the models …');
const models = Promise.all([openIndex(), load('model.gguf')]);
models
  .then(async ([index]) => {
    send.disabled = false;
    // An earlier visit may have ended while it read a text.
    const onProgress = ({ done, total }) => say(`Reading earlier texts: ${done} of ${total}`);
    await index.computePending({ onProgress });
    say('Ready.');
  })
  .catch((error) => say(error.message));

async function openIndex() {
  const embedder = await load('embedder.gguf');
  const index = await SearchIndex.open('rag', { model: embedder, onChange: () => show(index) });
  show(index);
  return index;
}

function load(source) {
  const onProgress = ({ loaded, total }) =>
    say(`Loading ${source}${total ? `: ${Math.round((100 * loaded) / total)} %` : ''}`);
  return Kinglet.load(source, { onProgress });
}

async function add(list) {
  const failures = [];
  try {
    const [index] = await models;
    for (const file of list) {
      const onProgress = ({ done, total }) => say(`Reading ${file.name}: ${done} of ${total}`);
      await index.add(file.name, file, { onProgress }).catch((error) => {
        failures.push(`${file.name}: ${error.message}.`);
      });
    }
    const nPassages = index.documents.reduce((sum, one) => sum + one.nPassages, -index.nPending);
    say([`${nPassages} passages can be found.`, ...failures].join(' '));
  } catch (error) {
    say(error.message);
  }
}

/** Shows the names of the files that can be searched. */
function show(index) {
  const files = index.documents.filter(({ nPassages }) => nPassages > 0);
  texts.replaceChildren(...files.map(({ id }) => make('li', id)));
}

async function ask(question) {
  const { signal } = (answering = new AbortController());
  send.disabled = true;
  stop.disabled = false;
  say('');
  answer.textContent = '';
  try {
    const [index, model] = await models;
    const found = await index.search(question, { limit: nBest, hybrid: true, signal });
    if (found.length === 0) throw new Error('Add a text first.');
    sources.replaceChildren(...found.map(({ id, text }) => make('li', `${id}: ${text}`)));
    const listed = found.map(({ text }, i) => `[${i + 1}] ${text}`).join('\n\n');
    const content = `${listed}\n\nAnswer with these sources only, and name their numbers: ${question}`;
    for await (const { text } of model.chat(content, { signal, temperature: 0 })) {
      answer.append(text);
    }
  } catch (error) {
    if (!signal.aborted) say(error.message);
  }
  send.disabled = false;
  stop.disabled = true;
}

function say(text) {
  status.textContent = text;
}

function make(name, textContent) {
  return Object.assign(document.createElement(name), { textContent });
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question !== '' && !send.disabled) void ask(question);
});
stop.addEventListener('click', () => answering.abort());
files.addEventListener('change', () => add([...files.files]));
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  void add([...event.dataTransfer.files]);
});
