// The texts for measuring embeddings, as text and as ids. Used in pages and in Node.
import { promptOf } from './measure.js';

const passageTokens = 256;
const nQueries = 32;
const queryTokens = 16;

/** BERT's [CLS] and [SEP], and the first id that is a word. */
const begin = 101;
const end = 102;
const firstWord = 200;
const nWords = 1000;

/**
 * Returns `nPassages` passages, to be embedded in one call, and queries, to be embedded in one call
 * each: [{ text, tokens }]. The vocabularies of shapes with WordPiece consist of words "w<id>"
 * (`words`); all others are like those of promptOf().
 */
export function embedTexts({ words, nPassages }) {
  const textOf = words ? wordsOf : promptOf;
  const texts = (n, nTokens) => Array.from({ length: n }, (_, i) => textOf(nTokens, i));
  return { passages: texts(nPassages, passageTokens), queries: texts(nQueries, queryTokens) };
}

function wordsOf(nTokens, index) {
  const ids = Array.from(
    { length: nTokens - 2 },
    (_, i) => firstWord + ((7 * i + 131 * index) % nWords),
  );
  return { text: ids.map((id) => `w${id}`).join(' '), tokens: [begin, ...ids, end] };
}

/**
 * Texts per second { passages, queries }, by `embed(texts)`, after a few queries to warm up.
 */
export async function measureEmbedding(of, embed) {
  const { passages, queries } = embedTexts(of);
  for (const query of queries.slice(0, 8)) await embed([query]);
  const startedAt = performance.now();
  await embed(passages);
  const middle = performance.now();
  for (const query of queries) await embed([query]);
  const endedAt = performance.now();
  return {
    passages: (passages.length * 1000) / (middle - startedAt),
    queries: (queries.length * 1000) / (endedAt - middle),
  };
}
