// Tables of the results of npm run report:kv.
import { markdownTable } from './table.mjs';

const places = { native: 'native', chromium: 'Chromium' };

/** Tables for each model: quality and memory, if they were measured, then speed. */
export function kvTables({ models }) {
  return Object.values(models)
    .flatMap(({ title, kinds, quality }) => {
      const rows = Object.entries(kinds);
      const costTable = markdownTable(rows.map((row) => costs(row, kinds.f32, quality)));
      const costPart = quality ? [costTable] : [];
      if (!rows.some(([, result]) => result.native ?? result.chromium)) {
        return [`### ${title}`, ...costPart];
      }
      return [
        `### ${title}`,
        ...costPart,
        'Tokens per second: reading a context except its last 32 tokens / generating these:',
        markdownTable(rows.map(([kind, result]) => speeds(kind, result, kinds))),
      ];
    })
    .join('\n\n');
}

function costs([kind, result], f32, quality) {
  const { bytesPerToken, compression, perplexity, sameTokens } = result;
  const change = 100 * (perplexity / f32?.perplexity - 1);
  return {
    kind: `\`${kind}\``,
    'bytes a token': bytesPerToken?.toLocaleString('en') ?? '',
    'F32 / this': compression?.toFixed(2) ?? '',
    perplexity: perplexity === undefined ? '' : significant(perplexity),
    'against F32': Number.isFinite(change) && kind !== 'f32' ? signed(change) : '',
    'greedy tokens as F32': sameTokens === undefined ? '' : sameAs(sameTokens, quality),
  };
}

function sameAs(sameTokens, { greedyTokens }) {
  return sameTokens === greedyTokens ? `all ${greedyTokens}` : String(sameTokens);
}

function speeds(kind, result, kinds) {
  const row = { kind: `\`${kind}\`` };
  for (const [place, name] of Object.entries(places)) {
    for (const context of Object.keys(kinds.f32?.[place] ?? {})) {
      const speed = result[place]?.[context];
      row[`${name}, ${context}`] = speed ? `${speed.prefill} / ${speed.decode.toFixed(0)}` : '';
    }
  }
  return row;
}

/** One sentence about forks. */
export function describeFork(fork) {
  const { kv, positions, pagePositions, pages, forkMicroseconds, forks, written, pagesMore } = fork;
  return (
    `A session of ${positions.toLocaleString('en')} tokens, \`${kv}\` in pages of ` +
    `${pagePositions}, forks in ${forkMicroseconds.toFixed(0)} µs; ${forks} forks that write ` +
    `${written} tokens each take ${pagesMore} pages beside its ${pages}.`
  );
}

/** Six digits, enough to show differences between kinds. */
function significant(x) {
  return x.toPrecision(6);
}

function signed(percent) {
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(3)} %`;
}
