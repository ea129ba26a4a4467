// Holds the model, and answers panels, each over a port of its own.
import { api } from './api.js';
import { Kinglet } from './kinglet/index.js';

/** Downloaded once and kept. Another chat model works, too. */
const source = 'hf:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf';
/** A page that was read once is not computed again, even after the browser was closed. */
const keepPrompts = { maxBytes: 500_000_000 };

const listeners = new Set();
let loading;
let progress;

function load() {
  const onProgress = (made) => {
    progress = made;
    for (const tell of listeners) tell({ progress });
  };
  loading ??= Kinglet.load(source, { keepPrompts, onProgress }).catch((error) => {
    loading = undefined; // the next question tries again
    throw error;
  });
  return loading;
}

api.runtime.onConnect.addListener((port) => {
  if (port.name !== 'panel') return;
  const tell = (message) => port.postMessage(message);
  let answering = new AbortController();
  port.onMessage.addListener(({ ask }) => {
    answering.abort();
    answering = new AbortController();
    if (ask) void answer(ask, tell, answering.signal);
  });
  port.onDisconnect.addListener(() => {
    listeners.delete(tell);
    answering.abort();
  });
  listeners.add(tell);
  if (progress) tell({ progress });
  load().then(
    ({ info }) => listeners.has(tell) && tell({ ready: info }),
    (error) => listeners.has(tell) && tell({ failed: error.message }),
  );
});

async function answer({ id, page, messages }, tell, signal) {
  try {
    const model = await load();
    const content = `Answer questions about this page.\n\n${await fitting(page, model)}`;
    const conversation = [{ role: 'system', content }, ...messages];
    signal.throwIfAborted();
    for await (const { text } of model.chat(conversation, { onFull: 'dropOldest', signal })) {
      if (signal.aborted) return;
      tell({ id, text });
    }
    tell({ id, end: true });
  } catch (error) {
    if (!signal.aborted) tell({ id, end: true, error: error.message });
  }
}

/** Returns the beginning of a page, which leaves a third of the context to the conversation. */
async function fitting({ title, text }, model) {
  const tokens = await model.tokenize(`${title}\n\n${text}`, { addBos: false });
  return model.detokenize(tokens.slice(0, Math.floor((model.info.nCtx * 2) / 3)));
}
