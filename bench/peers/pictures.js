// The time to read a picture, for this project and for wllama 3, in a page.
import { nCtx, openWllama3 } from './wllama.js';

const side = 512;
const question = { type: 'text', text: 'What is this?' };
/** A template that adds nothing: the models' vocabularies have no tokens for conversations. */
const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}';

/** `seeing`: the part of the time until the picture's rows are ready for the model. */
globalThis.readPictureKinglet = async ({ model: file, reader }, { kernels, threads }) => {
  const { Kinglet } = await import('/dist/index.js');
  const options = { nThreads: threads, kernels, nCtx, chatTemplate, mmproj: reader };
  const model = await Kinglet.load(file, options);
  try {
    const { runtime } = model.info;
    if (runtime.nThreads !== threads) {
      throw new Error(`${threads} threads were asked for and ${runtime.nThreads} started`);
    }
    let startedAt;
    let seenAt;
    const onImage = () => (seenAt = performance.now());
    const spans = await measurePicture(async (image) => {
      startedAt = performance.now();
      const content = [...(image ? [{ type: 'image', image }] : []), question];
      const answer = { maxTokens: 1, temperature: 0, onImage };
      const { usage } = await model.chat([{ role: 'user', content }], answer).result;
      return usage.promptTokens;
    });
    return { ...spans, seeing: seenAt - startedAt };
  } finally {
    model.dispose();
  }
};

/** Reads one more token with a picture: the newline that it adds after the picture. */
globalThis.readPictureWllama3 = async ({ model: file, reader }, { threads }) => {
  const blobs = await Promise.all([file, reader].map(async (name) => (await fetch(name)).blob()));
  const options = { chat_template: chatTemplate, jinja: true };
  const wllama = await openWllama3(blobs, { threads }, options);
  return measurePicture(async (image) => {
    const data = await image?.arrayBuffer();
    const content = [...(data ? [{ type: 'image', data }] : []), question];
    const { usage } = await wllama.createChatCompletion({
      ...{ messages: [{ role: 'user', content }], cache_prompt: false },
      ...{ max_tokens: 1, temperature: 0, ignore_eos: true },
    });
    return usage.prompt_tokens;
  });
};

/**
 * `ask(image)` answers the question in one token, with a picture (a PNG) before it or without, and
 * returns how many tokens it read. Returns milliseconds: `picture` is the time with a picture minus
 * the time without, which is what a picture costs: decoding and scaling it, the tower, and the
 * model's reading of its rows. A first call without a picture warms up. The picture is the first
 * one that the engine sees.
 */
async function measurePicture(ask) {
  const image = await drawPicture();
  await ask();
  const timed = async (...args) => {
    const startedAt = performance.now();
    const nTokens = await ask(...args);
    return { nTokens, ms: performance.now() - startedAt };
  };
  const without = await timed();
  const withOne = await timed(image);
  return { picture: withOne.ms - without.ms, nTokens: withOne.nTokens - without.nTokens };
}

async function drawPicture() {
  const canvas = new OffscreenCanvas(side, side);
  const context = canvas.getContext('2d');
  for (let y = 0; y < side; y += 16) {
    for (let x = 0; x < side; x += 16) {
      context.fillStyle = `rgb(${x % 256} ${y % 256} ${(7 * x + 3 * y) % 256})`;
      context.fillRect(x, y, 16, 16);
    }
  }
  return canvas.convertToBlob();
}
