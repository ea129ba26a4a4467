// node bench/peers/search.mjs MODEL: compares a search among 20,000 passages in Node, on one thread,
// with two libraries that pages use for this, Orama and Voy: the time of a search, and how many of
// the ten best passages are those that float32 finds (recall@10). MODEL: an embedding model whose
// vectors have 384 numbers. All have the same made vectors, see search_speed.cpp; this project's
// time is that of search() without making the query's vector, which the others do not do.
import { Blob } from 'node:buffer';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/tools.mjs';
import { machineName } from '../machine.mjs';
import { buildPrograms, folder, runProgram } from '../models.mjs';
import { markdownTable, median } from '../table.mjs';
import { installPeers } from './engines.mjs';

const nPassages = 20_000;
const nBest = 10;
const name = 'search';

const [model] = process.argv.slice(2);
if (!model) throw new Error('usage: node bench/peers/search.mjs MODEL');
buildPrograms(['search_speed']);
installPeers();
const place = join(root, folder, name);
rmSync(place, { recursive: true, force: true });
mkdirSync(place, { recursive: true });
const [{ recallAt10: recall }] = runProgram('search_speed', [model, String(nPassages), place]);
const read = (file) => new Float32Array(new Uint8Array(readFileSync(join(place, file))).buffer);
const passages = read('vectors.f32');
const nDimensions = 384;
const rows = (all) =>
  Array.from({ length: all.length / nDimensions }, (_, i) =>
    all.subarray(i * nDimensions, (i + 1) * nDimensions),
  );
const vectors = rows(passages);
const queries = rows(read('queries.f32'));
const best = queries.map(exactBest);

const results = [await measureKinglet(), await measureOrama(), await measureVoy()];
console.log(
  `${machineName()}. One thread, ${nPassages.toLocaleString('en')} passages of 384 numbers.`,
);
console.log(markdownTable(results));

async function measureKinglet() {
  const { Kinglet } = await import('../../dist/index.js');
  const { SearchIndex } = await import('../../dist/search/index.js');
  const embedder = await Kinglet.load(new Blob([readFileSync(model)]), { nThreads: 1 });
  const index = await SearchIndex.open(name, {
    model: embedder,
    folder: join(root, folder),
    passageTokens: 16,
  });
  if (index.nPending > 0) throw new Error('the passages were made with other settings');
  const texts = queries.map((_, i) => `passage number ${i}`);
  const whole = await timesOf(texts, (text) => index.search(text, { limit: nBest }));
  const alone = await timesOf(texts, (text) => embedder.embed(text));
  embedder.dispose();
  return rowOf('Kinglet', whole - alone, recall);
}

async function measureOrama() {
  const { create, insert, searchVector } = await import(peerFile('@orama/orama/dist/esm/index.js'));
  const schema = { vector: `vector[${nDimensions}]` };
  const database = create({ schema });
  for (const [i, vector] of vectors.entries()) {
    await insert(database, { id: String(i), vector: [...vector] });
  }
  const found = [];
  const ms = await timesOf(queries, async (query) => {
    const { hits } = await searchVector(database, {
      vector: { value: [...query], property: 'vector' },
      similarity: 0,
      limit: nBest,
    });
    found.push(hits.map(({ id }) => Number(id)));
  });
  return rowOf('Orama 3.1.18', ms, recallOf(found));
}

async function measureVoy() {
  const { Voy } = await openVoy();
  const embeddings = vectors.map((vector, i) => {
    return { id: String(i), title: '', url: '', embeddings: [...vector] };
  });
  const index = new Voy({ embeddings });
  const found = [];
  const ms = await timesOf(queries, (query) => {
    found.push(index.search(query, nBest).neighbors.map(({ id }) => Number(id)));
  });
  return rowOf('Voy 0.6.3', ms, recallOf(found));
}

function rowOf(engine, ms, share) {
  return { engine, 'a search, ms': ms.toFixed(1), 'recall@10': share.toFixed(4) };
}

/** The median time of the work with each item, in milliseconds. */
async function timesOf(items, work) {
  const times = [];
  for (const item of items) {
    const begin = performance.now();
    await work(item);
    times.push(performance.now() - begin);
  }
  return median(times);
}

function exactBest(query) {
  const scores = vectors.map((vector, i) => {
    let product = 0;
    for (let j = 0; j < nDimensions; ++j) product += query[j] * vector[j];
    return [product, i];
  });
  return new Set(
    scores
      .sort(([a], [b]) => b - a)
      .slice(0, nBest)
      .map(([, i]) => i),
  );
}

function recallOf(found) {
  const hits = found.map((own, i) => own.filter((id) => best[i].has(id)).length / nBest);
  return hits.reduce((sum, one) => sum + one, 0) / hits.length;
}

function peerFile(path) {
  return join(root, folder, 'peers/node_modules', path);
}

/** Its own entry imports a wasm file, which Node does not do. */
async function openVoy() {
  const library = await import(peerFile('voy-search/voy_search_bg.js'));
  const wasm = readFileSync(peerFile('voy-search/voy_search_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './voy_search_bg.js': library });
  library.__wbg_set_wasm(instance.exports);
  return library;
}
