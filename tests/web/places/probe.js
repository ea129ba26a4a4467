// Tries what a model must do in every place: generate, let other events in, stop, be loaded again.
// `load`: options of Kinglet.load(). Returns what happened.
import { Kinglet, ModelCache } from './kinglet/index.js';

const opening = 'Once upon a time';

export async function probe(load) {
  try {
    const model = await Kinglet.load('model.gguf', { cache: false, ...load });
    const { runtime } = model.info;
    const greedy = { maxTokens: 40, temperature: 0 };
    const { text } = await model.generate(opening, greedy).result;
    const told = {
      ...{ text, runtime },
      ...{ stoppedText: await stopText(model), stoppedPrompt: await stopPrompt(model) },
      textAfterwards: (await model.generate(opening, greedy).result).text,
    };
    model.dispose();
    return { ...told, cached: load.cache ? await cachedTwice(load) : undefined };
  } catch ({ name, code, message }) {
    return { name, code, message };
  }
}

/** Loads the model twice, the first time broken off; returns from where the last one came. */
async function cachedTwice(load) {
  const controller = new AbortController();
  const address = new URL(`model.gguf?${String(Math.random())}`, self.location.href).href;
  const broken = Kinglet.load(address, {
    ...load,
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  const phases = new Set();
  const brokenOff = await nameOf(broken);
  const warnings = [];
  const onWarning = ({ message }) => warnings.push(message);
  for (let i = 0; i < 2; ++i) {
    phases.clear();
    const onProgress = ({ phase }) => phases.add(phase);
    (await Kinglet.load(address, { ...load, onProgress, onWarning })).dispose();
  }
  const keptIn = await placesOf(address);
  await new ModelCache().delete(address);
  return { brokenOff, phases: [...phases], warnings, keptIn };
}

/** Returns where the file of this address is stored. */
async function placesOf(address) {
  const places = [];
  const cache = await self.caches.open('kinglet');
  for (const request of await cache.keys()) {
    if (!request.url.endsWith('/head')) continue;
    const head = await (await cache.match(request))?.text();
    if (head?.includes(address)) places.push('Cache API');
  }
  if (!navigator.storage?.getDirectory) return places; // WebKitGTK
  const files = await navigator.storage.getDirectory();
  const folder = await files.getDirectoryHandle('kinglet', { create: true });
  for await (const handle of folder.values()) {
    const file = handle.getFile();
    const text = await file.then((opened) => opened.text()).catch(() => ''); // changed by another probe
    if (text.includes(address)) places.push('file system');
  }
  return places;
}

/** Stops an answer by this thread's next event; returns how it ended, and whether it was cut. */
async function stopText(model) {
  const controller = new AbortController();
  const session = await model.newSession();
  const generation = session.generate(opening, {
    ...{ maxTokens: 500, temperature: 0, logitBias: { 2: -100 } }, // without an end
    signal: controller.signal,
  });
  await generation[Symbol.asyncIterator]().next();
  setTimeout(() => controller.abort(), 1);
  const name = await nameOf(generation.result);
  const nTokens = await session.nPositions();
  session.dispose();
  return { name, isCut: nTokens < 500 };
}

/**
 * The same, while a prompt is computed. By a message, as a page stops a worker: browsers may hold
 * timers back for longer than the prompt takes.
 */
async function stopPrompt(model) {
  const controller = new AbortController();
  const session = await model.newSession();
  const prompt = new Array(500).fill(300);
  const generation = session.generate(prompt, { maxTokens: 1, signal: controller.signal });
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => controller.abort();
  port2.postMessage(null);
  const name = await nameOf(generation.result);
  const nTokens = await session.nPositions();
  session.dispose();
  return { name, isCut: nTokens < prompt.length };
}

const nameOf = (result) =>
  result.then(
    () => 'an answer',
    ({ name }) => name,
  );
