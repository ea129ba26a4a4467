// Evaluates the measurements of the benchmark.
import { best, markdownTable, median } from './table.mjs';

/**
 * Computes medians and their shares of the limits: decoding reads every weight once per token, and
 * reading a prompt multiplies every weight with every token. Attention is left out of both.
 */
export function describe({ where, model, speed, limit }) {
  const { layers, output } = model.work;
  const { kernels, threads, ...runs } = speed;
  const { prefill128, prefill512, decode64 } = runs;
  const [prefill, nPrompt] = prefill512.length > 0 ? [prefill512, 512] : [prefill128, 128];
  // The logits are computed once per prompt.
  const promptMultiplyAdds = layers.multiplyAdds + output.multiplyAdds / nPrompt;
  const prefillGmacS = (median(prefill) * promptMultiplyAdds) / 1e9;
  const decodeGmacS = (median(decode64) * (layers.multiplyAdds + output.multiplyAdds)) / 1e9;
  const decodeGbS = (median(decode64) * (layers.bytes + output.bytes)) / 1e9;
  const { gmacS, readGbS } = limit ?? {};
  const limitGmacS = gmacS?.[operandsOf(model.type)];
  return {
    where,
    shape: model.shape,
    type: model.type,
    kernels,
    threads,
    prefill128,
    prefill512,
    decode64,
    prefillGmacS,
    decodeGmacS,
    decodeGbS,
    limits: limit && { gmacS: limitGmacS, readGbS },
    shareOfMultiplyLimit: limit && prefillGmacS / limitGmacS,
    shareOfReadLimit: limit && decodeGbS / readGbS,
  };
}

/** The kind of operands of most of a model's matrix products. */
function operandsOf(type) {
  if (/^(Q4_0|Q4_K)/.test(type)) return 'nibbles';
  return /^(Q5_0|Q5_K|Q6_K|Q8_0)/.test(type) ? 'bytes' : 'floats';
}

/** A row for each measurement. */
export function fullTable(results) {
  const speed = (runs) =>
    runs.length > 0 ? `${median(runs).toFixed(0)} (${best(runs).toFixed(0)})` : '';
  return markdownTable(
    results.map((result) => ({
      where: result.where,
      model: `${result.shape} ${result.type}`,
      kernels: result.kernels,
      threads: result.threads,
      'prefill 128': speed(result.prefill128),
      'prefill 512': speed(result.prefill512),
      'decode 64': speed(result.decode64),
      'prefill GMAC/s': result.prefillGmacS.toFixed(1),
      'of limit': percent(result.shareOfMultiplyLimit),
      'decode GMAC/s': result.decodeGmacS.toFixed(1),
      'GB/s': result.decodeGbS.toFixed(1),
      'of limit ': percent(result.shareOfReadLimit),
    })),
  );
}

/** A row for each place, kernel set and number of threads; a column for each weight type. */
export function shortTable(results) {
  const rows = new Map();
  for (const result of results) {
    const { where, kernels, threads, type } = result;
    const name = `${where}, ${kernels}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`;
    if (!rows.has(name)) rows.set(name, { ' ': name });
    const speeds = [result.prefill128, result.prefill512, result.decode64]
      .filter((runs) => runs.length > 0)
      .map((runs) => median(runs).toFixed(0));
    const shares = [result.shareOfMultiplyLimit, result.shareOfReadLimit].map(percent);
    rows.get(name)[type] = `${speeds.join(' / ')} (${shares.join(', ')})`;
  }
  return markdownTable([...rows.values()]);
}

function percent(share) {
  return share === undefined ? '' : `${(100 * share).toFixed(0)} %`;
}
