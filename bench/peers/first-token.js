// The time from a file in the page's storage to the first token, by phases. Runs in a page.
import { promptOf } from '../measure.js';
import { nCtx, openWllama2, openWllama3 } from './wllama.js';

/** The copy of the file that the peers load; it is also read alone, for comparison. */
const keptName = 'kept.gguf';

/** Stores the file for each engine: for this project by loading it, for the peers as a file. */
globalThis.keepFile = async (file, { threads }) => {
  const { Kinglet } = await import('/dist/index.js');
  (await Kinglet.load(addressOf(file), { nThreads: threads, nCtx: 64 })).dispose();
  const root = await navigator.storage.getDirectory();
  const handle = await root.getFileHandle(keptName, { create: true });
  const { body } = await fetch(file);
  await body.pipeTo(await handle.createWritable());
};

/** Returns the milliseconds for reading the stored file into new memory of the same size. */
globalThis.readKept = async () => {
  const worker = new Worker(new URL('./read-worker.js', import.meta.url));
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(keptName);
    });
  } finally {
    worker.terminate();
  }
};

globalThis.firstTokenKinglet = async (file, { kernels, threads, nPrompt }) => {
  const { Kinglet } = await import('/dist/index.js');
  const phases = {};
  const onProgress = ({ phase }) => {
    if (phase === 'download') throw new Error(`${file} was not kept`);
    phases[phase] ??= performance.now();
  };
  const startedAt = performance.now();
  const model = await Kinglet.load(addressOf(file), {
    nThreads: threads,
    kernels,
    nCtx,
    onProgress,
  });
  const openAt = performance.now();
  const times = [];
  const options = { maxTokens: 2, temperature: 0 };
  for await (const { token } of model.generate(promptOf(nPrompt).tokens, options)) {
    if (token >= 0) times.push(performance.now());
  }
  const { heapBytes } = model.info.memory;
  model.dispose();
  return {
    ...spans(startedAt, openAt, times),
    header: phases.cache - startedAt,
    reading: phases.prepare - phases.cache,
    preparing: openAt - phases.prepare,
    heapBytes,
  };
};

globalThis.firstTokenWllama2 = async (_, { threads, nPrompt }) => {
  const blob = await keptFile();
  const startedAt = performance.now();
  const wllama = await openWllama2(blob, { threads });
  const openAt = performance.now();
  const times = [];
  await wllama.samplingInit({ temp: 0 });
  for (let next = promptOf(nPrompt).tokens; times.length < 2;) {
    await wllama.samplingAccept(next);
    await wllama.decode(next, {});
    next = [(await wllama.samplingSample()).token];
    times.push(performance.now());
  }
  return spans(startedAt, openAt, times);
};

globalThis.firstTokenWllama3 = async (_, { threads, nPrompt }) => {
  const blob = await keptFile();
  const startedAt = performance.now();
  const wllama = await openWllama3(blob, { threads });
  const openAt = performance.now();
  const times = [];
  await wllama.createCompletion({
    ...{ prompt: promptOf(nPrompt).text, max_tokens: 2, temperature: 0 },
    ...{ ignore_eos: true, cache_prompt: false, stream: true },
    onData: () => times.push(performance.now()),
  });
  return spans(startedAt, openAt, times);
};

/** All times are in milliseconds. Reading the prompt includes sampling the first token. */
function spans(startedAt, openAt, [firstAt, secondAt]) {
  return {
    firstToken: firstAt - startedAt,
    opening: openAt - startedAt,
    prompt: firstAt - openAt,
    nextToken: secondAt - firstAt,
  };
}

/** An absolute address, because it is the key of the stored file. */
function addressOf(file) {
  return new URL(file, location.href).href;
}

async function keptFile() {
  const root = await navigator.storage.getDirectory();
  return (await root.getFileHandle(keptName)).getFile();
}
