// Answers questions with what dropped text files say: an embedding model finds the passages that are
// nearest to the question, and a chat model answers with them.
import { Kinglet, similarity } from './kinglet/index.js';

const form = document.querySelector('form');
const { question: input, send, stop } = form.elements;
const [files, texts, status, answer, sources] = [
  'files',
  'texts',
  'status',
  'answer',
  'sources',
].map((id) => document.getElementById(id));

/** How many passages the chat model reads, and their most characters: they must fit its context. */
const nBest = 3;
const passageLength = 800;
/** What the embedding model was trained with, here Nomic's: see the page of your model. */
const [ofDocument, ofQuestion] = ['search_document: ', 'search_query: '];

/** All passages: { name, text, vector }, the name being the file's. */
let passages = [];
let answering = new AbortController();

say('Loading the models …');
const models = Promise.all([load('embedder.gguf'), load('model.gguf')]);
models.then(
  () => {
    send.disabled = false;
    say('Ready.');
  },
  (error) => say(error.message),
);

function load(source) {
  const onProgress = ({ loaded, total }) =>
    say(`Loading ${source}${total ? `: ${Math.round((100 * loaded) / total)} %` : ''}`);
  return Kinglet.load(source, { onProgress });
}

async function add(list) {
  try {
    const [embedder] = await models;
    for (const file of list) {
      const found = passagesOf(await file.text());
      if (found.length === 0) continue;
      const vectors = await embedder.embed(found, {
        prompt: ofDocument,
        truncate: true,
        onProgress: ({ done, total }) => say(`Reading ${file.name}: ${done} of ${total}`),
      });
      passages = passages
        .filter(({ name }) => name !== file.name) // the file as it was before
        .concat(found.map((text, i) => ({ name: file.name, text, vector: vectors[i] })));
    }
    const names = [...new Set(passages.map(({ name }) => name))];
    texts.replaceChildren(...names.map((name) => make('li', name)));
    say(`${passages.length} passages can be found.`);
  } catch (error) {
    say(error.message);
  }
}

/** Returns the paragraphs of a text; long ones in parts that end between words. */
function passagesOf(text) {
  const part = new RegExp(`\\S[^]{0,${passageLength - 1}}(?=\\s|$)`, 'g');
  return text.split(/\n\s*\n/).flatMap((paragraph) => paragraph.trim().match(part) ?? []);
}

async function search(question) {
  const [embedder] = await models;
  const vector = await embedder.embed(question, { prompt: ofQuestion, truncate: true });
  return passages
    .map((passage) => ({ ...passage, score: similarity(vector, passage.vector) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, nBest);
}

async function ask(question) {
  const { signal } = (answering = new AbortController());
  send.disabled = true;
  stop.disabled = false;
  say('');
  answer.textContent = '';
  try {
    const found = await search(question);
    sources.replaceChildren(...found.map(({ name, text }) => make('li', `${name}: ${text}`)));
    const listed = found.map(({ text }, i) => `[${i + 1}] ${text}`).join('\n\n');
    const content = `${listed}\n\nAnswer with these sources only, and name their numbers: ${question}`;
    const [, model] = await models;
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
  if (question === '' || send.disabled) return;
  if (passages.length > 0) void ask(question);
  else say('Add a text first.');
});
stop.addEventListener('click', () => answering.abort());
files.addEventListener('change', () => add([...files.files]));
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  void add([...event.dataTransfer.files]);
});
