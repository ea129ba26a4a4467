// The tables of npm run bench:peers. Each compared number is followed by the spread of its rounds:
// (largest − smallest) / median.
import { markdownTable, median } from '../table.mjs';
import {
  comparisonsOf,
  embedTargets,
  firstTokenTargets,
  openingTarget,
  pictureTargets,
  threads as targetThreads,
  usualPrompt,
} from './targets.mjs';

/** "(largest − smallest) / median" of some numbers. */
export function spread(values) {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** The median of the rounds' ratios: the engines of one round ran within the same minute. */
export function ratioOf(ours, theirs) {
  return median(ours.map((value, round) => value / theirs[round]));
}

/** The ratios of all compared engines; `kind` is decode or prefill. */
export function speedRatios(speeds, threads) {
  return groupsOf(speeds, ['shape', 'type', 'nPrompt']).flatMap(
    ([{ shape, type, nPrompt }, rows]) =>
      comparisonsOf(shape).flatMap(({ ours, peer, targets }) =>
        ['decode', 'prefill'].flatMap((kind) => {
          const [here, there] = [ours, peer].map((name) => valuesOf(rows, name, kind));
          if (here.length === 0 || there.length === 0) return [];
          const isUsual = threads === targetThreads && nPrompt === usualPrompt;
          const target = isUsual ? targets[type]?.[kind] : undefined;
          const spreads = [spread(here), spread(there)];
          const ratio = ratioOf(here, there);
          return { ...{ shape, type, nPrompt, ours, peer }, kind, ratio, spreads, target };
        }),
      ),
  );
}

export function speedSection(speeds, ratios) {
  const rows = groupsOf(speeds, ['shape', 'type', 'nPrompt', 'name']).map(
    ([{ shape, type, nPrompt, name }, runs]) => ({
      ...{ shape, type, prompt: nPrompt, engine: name },
      prefill: withSpread(runs, 'prefill'),
      decode: withSpread(runs, 'decode'),
      'peak MB': megabytes(runs),
    }),
  );
  return [
    'Tokens per second: reading a prompt (prefill), then generating 64 tokens (decode). ' +
      `${spreadText} ${peakText}`,
    markdownTable(rows),
    markdownTable(ratios.map(ratioRow)),
  ];
}

/** Like speedRatios(), for embeddings; `kind` is passages or queries. */
export function embedRatios(embeddings, threads) {
  return groupsOf(embeddings, ['shape', 'type']).flatMap(([{ shape, type }, rows]) =>
    embedTargets.flatMap(({ ours, peer, target }) =>
      ['passages', 'queries'].flatMap((kind) => {
        const [here, there] = [ours, peer].map((name) => valuesOf(rows, name, kind));
        if (here.length === 0 || there.length === 0) return [];
        return {
          ...{ shape, type, ours, peer, kind },
          ratio: ratioOf(here, there),
          spreads: [spread(here), spread(there)],
          target: threads === targetThreads ? target : undefined,
        };
      }),
    ),
  );
}

export function embedSection(embeddings, threads) {
  const rows = groupsOf(embeddings, ['shape', 'type', 'name']).map(
    ([{ shape, type, name }, runs]) => ({
      ...{ shape, type, engine: name },
      passages: withSpread(runs, 'passages'),
      queries: withSpread(runs, 'queries'),
      'peak MB': megabytes(runs),
    }),
  );
  return [
    'Embeddings, texts per second: passages of 256 tokens in one call, and queries of 16 tokens, ' +
      `each in a call of its own. ${spreadText} ${peakText}`,
    markdownTable(rows),
    markdownTable(embedRatios(embeddings, threads).map(ratioRow)),
  ];
}

export function firstTokenSection(firstTokens) {
  const seconds = (runs, phase) => {
    const values = runs.map((run) => run[phase]).filter((value) => value !== undefined);
    return values.length > 0 ? (median(values) / 1000).toFixed(2) : '';
  };
  const rows = groupsOf(firstTokens, ['shape', 'type', 'name']).map(
    ([{ shape, type, name }, runs]) => ({
      ...{ shape, type, engine: name },
      'first token': `${seconds(runs, 'firstToken')} (${percent(spread(runs.map((r) => r.firstToken)))})`,
      opening: seconds(runs, 'opening'),
      'to the first byte': seconds(runs, 'header'),
      reading: seconds(runs, 'reading'),
      preparing: seconds(runs, 'preparing'),
      prompt: seconds(runs, 'prompt'),
      'next token': seconds(runs, 'nextToken'),
      'peak MB': megabytes(runs),
    }),
  );
  return [
    'Seconds from a file that the page keeps to the first token of a prompt of 64: opening it ' +
      '(starting the engine and reading the header, reading the weights, preparing what is left), ' +
      'reading the prompt and sampling the first token, and then the next token alone. ' +
      `${spreadText} ${peakText}`,
    markdownTable(rows),
    markdownTable(firstTokenRatios(firstTokens).map(ratioRow)),
  ];
}

/** Ratios of times: the peer's time divided by this project's, so that more is better. */
export function firstTokenRatios(firstTokens) {
  return groupsOf(firstTokens, ['shape', 'type']).flatMap(([{ shape, type }, rows]) => {
    const [ours] = rows.map(({ name }) => name);
    const here = valuesOf(rows, ours, 'firstToken');
    const peers = Object.entries(firstTokenTargets).flatMap(([peer, target]) => {
      const there = valuesOf(rows, peer, 'firstToken');
      if (there.length === 0 || peer === ours) return [];
      const spreads = [spread(here), spread(there)];
      return {
        shape,
        type,
        ours,
        peer,
        kind: 'first token',
        ratio: ratioOf(there, here),
        spreads,
        target,
      };
    });
    const opening = valuesOf(rows, ours, 'opening');
    const alone = valuesOf(rows, ours, 'readingAlone');
    const peer = 'reading the file alone';
    const spreads = [spread(opening), spread(alone)];
    const ratio = ratioOf(alone, opening);
    return [
      ...peers,
      { shape, type, ours, peer, kind: 'opening', ratio, spreads, target: openingTarget },
    ];
  });
}

/** Like firstTokenRatios(), for pictures. */
export function pictureRatios(pictures, threads) {
  return groupsOf(pictures, ['shape', 'type']).flatMap(([{ shape, type, name: ours }, rows]) =>
    Object.entries(pictureTargets).flatMap(([peer, target]) => {
      const [here, there] = [ours, peer].map((name) => valuesOf(rows, name, 'picture'));
      if (there.length === 0 || peer === ours) return [];
      return {
        ...{ shape, type, ours, peer, kind: 'picture' },
        ratio: ratioOf(there, here),
        spreads: [spread(here), spread(there)],
        target: threads === targetThreads ? target : undefined,
      };
    }),
  );
}

export function pictureSection(pictures, threads) {
  const seconds = (value) => (value === undefined ? '' : (value / 1000).toFixed(2));
  const rows = groupsOf(pictures, ['shape', 'type', 'name']).map(([group, runs]) => {
    const times = runs.map(({ picture }) => picture);
    const seeing = runs.flatMap((run) => run.seeing ?? []);
    return {
      ...{ shape: group.shape, type: group.type, engine: group.name },
      picture: `${seconds(median(times))} (${percent(spread(times))})`,
      seeing: seeing.length > 0 ? seconds(median(seeing)) : '',
      tokens: group.nTokens,
      'peak MB': megabytes(runs),
    };
  });
  return [
    'Seconds of reading a picture of 512 × 512 pixels, a PNG: how much later the answer to a ' +
      'question begins with one; and of it, until the tower is done and the model reads what it ' +
      `made, these tokens. ${spreadText} ${peakText}`,
    markdownTable(rows),
    markdownTable(pictureRatios(pictures, threads).map(ratioRow)),
  ];
}

export function productSection(products) {
  const keys = ['bits', 'nTokens', 'nColumns', 'nRows'];
  const rows = groupsOf(products, keys).map(([shape, runs]) => {
    const { bits, nTokens, nColumns, nRows, target } = shape;
    const [ours, peer] = [...new Set(runs.map(({ name }) => name))];
    const [here, there] = [ours, peer].map((name) => valuesOf(runs, name, 'gmacS'));
    return {
      operator: bits === 4 ? 'Q4_0, MatMulNBits' : 'Q8_0, MatMulInteger',
      rows: nTokens,
      matrix: `${nRows} × ${nColumns}`,
      [ours]: `${median(here).toFixed(1)} (${percent(spread(here))})`,
      [peer]: `${median(there).toFixed(1)} (${percent(spread(there))})`,
      ratio: `${ratioOf(here, there).toFixed(1)} ×`,
      ...verdictOn(ratioOf(here, there), target),
    };
  });
  return [
    'Products of matrices, GMAC/s on one thread: one row is decoding, 128 are a prompt, 16 and 256 ' +
      `the tokens of a query and a passage that are embedded. ${spreadText}`,
    markdownTable(rows),
  ];
}

/** The most important results. The columns are the engines; the peers' have ratios. */
export function shortRows({ speeds, firstTokens, embeddings, pictures }) {
  const rows = [];
  const [[model, ofModel] = [{}, []]] = groupsOf(speeds, ['shape', 'type']);
  const what = `tokens/s, ${model.shape} ${model.type}`;
  for (const [{ nPrompt }, runs] of groupsOf(ofModel, ['nPrompt'])) {
    rows.push(shortRow(`reading ${nPrompt} tokens: ${what}`, runs, 'prefill', 1));
    rows.push(shortRow(`generating after them: ${what}`, runs, 'decode', 1));
  }
  const [first] = groupsOf(firstTokens, ['shape', 'type']);
  if (first) {
    const [{ shape, type, bytes }, runs] = first;
    const file = `${(bytes / 1e6).toFixed(0)} MB of ${shape} ${type}`;
    rows.push(shortRow(`first token from a kept file: s, ${file}`, runs, 'firstToken', 1000));
    rows.push(shortRow("memory of that page's process: MB", runs, 'peakBytes', 1e6));
  }
  const [embedding] = groupsOf(embeddings, ['shape', 'type']);
  if (embedding) {
    const [{ shape, type }, runs] = embedding;
    const title = `embedding passages of 256 tokens: texts/s, ${shape} ${type}`;
    rows.push(shortRow(title, runs, 'passages', 1));
  }
  const [picture] = groupsOf(pictures, ['shape', 'type']);
  if (picture) {
    const [{ shape, type }, runs] = picture;
    const title = `reading a picture of 512 × 512 pixels: s, ${shape} ${type}`;
    rows.push(shortRow(title, runs, 'picture', 1000));
  }
  return rows;
}

/** The engines of the short table. */
export const shortNames = ['chromium relaxed-simd', 'wllama 2.3.1', 'wllama 3.13.0'];
const lessIsBetter = ['firstToken', 'peakBytes', 'picture'];

function shortRow(title, runs, key, unit) {
  const [here, ...there] = shortNames.map((name) => valuesOf(runs, name, key));
  const number = (values) => (values.length > 0 ? shortNumber(median(values) / unit) : '');
  const peers = there.map((values, i) => {
    const both = lessIsBetter.includes(key) ? [values, here] : [here, values];
    const isCompared = here.length > 0 && values.length > 0;
    const ratio = isCompared ? ` (${ratioOf(...both).toFixed(1)} ×)` : '';
    return [shortNames[i + 1], number(values) + ratio];
  });
  return Object.fromEntries([['', title], ['this project', number(here)], ...peers]);
}

function shortNumber(value) {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

function ratioRow({ shape, type, ours, peer, kind, ratio, spreads, target }) {
  return {
    shape,
    type,
    'this project': ours,
    peer,
    '': kind,
    ratio: `${ratio.toFixed(2)} ×`,
    spreads: spreads.map(percent).join(', '),
    ...verdictOn(ratio, target),
  };
}

/** The columns of a target; empty if there is none. */
function verdictOn(ratio, target) {
  if (target === undefined) return { target: '', ' ': '' };
  return { target: `≥ ${target} ×`, ' ': verdict(ratio >= target) };
}

export function sizeRow({ variant, kB, gzippedKB }) {
  return { wasm: variant, KB: kB.toFixed(0), 'gzipped KB': gzippedKB.toFixed(0) };
}

const spreadText =
  'In brackets, and beside ratios for both sides, the spread of the rounds: (largest − smallest) ' +
  '/ median.';

const peakText =
  "Peaks are resident memory: in Chromium of the page's process, which holds the engine's heap, " +
  'elsewhere of the program.';

function withSpread(runs, kind) {
  const values = runs.map((run) => run[kind]);
  return `${median(values).toFixed(1)} (${percent(spread(values))})`;
}

function megabytes(runs) {
  const peaks = runs.map(({ peakBytes }) => peakBytes).filter((bytes) => bytes !== undefined);
  return peaks.length > 0 ? (median(peaks) / 1e6).toFixed(0) : '';
}

function percent(share) {
  return `${(100 * share).toFixed(0)} %`;
}

function verdict(reached) {
  return reached ? 'pass' : 'MISS';
}

function valuesOf(rows, name, key) {
  return rows.filter((row) => row.name === name).map((row) => row[key]);
}

/** Groups rows with equal values of `keys`, in order: [the group's first row, all its rows]. */
function groupsOf(rows, keys) {
  const groups = new Map();
  for (const row of rows) {
    const id = keys.map((key) => row[key]).join('\n');
    groups.set(id, [...(groups.get(id) ?? []), row]);
  }
  return [...groups.values()].map((group) => [group[0], group]);
}
