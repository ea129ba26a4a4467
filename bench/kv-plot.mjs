// Draws the results of npm run report:kv.

const rowHeight = 26;
const left = 86;
const top = 84;
const panel = { width: 150, gap: 62 };

/** Returns an SVG of horizontal bars: a row for each kind, a panel for each measure. */
export function drawKv({ models, machine }) {
  const large = models['smollm2-135m']?.kinds ?? {};
  const small = models['kinglet-stories-5m']?.kinds ?? {};
  const kinds = Object.keys({ ...large, ...small });
  const longest = (place) => Math.max(...Object.keys(large.f32?.[place] ?? { 0: 0 }).map(Number));
  const decode = (place) => (kind) => large[kind]?.[place]?.[longest(place)]?.decode;
  const panels = [
    { title: ['bytes a token', '135M shape'], value: (kind) => large[kind]?.bytesPerToken },
    {
      title: ['perplexity, change in %', 'Kinglet Stories 5M'],
      value: (kind) => 100 * Math.abs(small[kind]?.perplexity / small.f32?.perplexity - 1),
      text: (kind) => changeText(small[kind]?.perplexity / small.f32?.perplexity - 1),
    },
    ...Object.entries({ native: 'native', chromium: 'in Chromium' }).map(([place, name]) => ({
      title: [`tokens/s at ${longest(place)}`, `135M shape, ${name}`],
      value: decode(place),
    })),
  ];
  const width = left + panels.length * (panel.width + panel.gap);
  const height = top + kinds.length * rowHeight + 30;
  const labels = kinds.map((kind, i) => textAt(left - 10, rowMiddle(i), kind, 'end'));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      'font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24">',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    textAt(left, 24, 'What each kind of KV cache costs and gives', 'start', 'font-weight="bold"'),
    ...labels,
    ...panels.flatMap((one, i) => drawPanel(one, kinds, left + i * (panel.width + panel.gap))),
    textAt(left, height - 10, `${machine}; one thread`, 'start', 'font-size="11" fill="#57606a"'),
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel({ title, value, text }, kinds, x) {
  const known = kinds.map(value).filter(Number.isFinite);
  const scale = known.length > 0 ? panel.width / Math.max(...known, Number.EPSILON) : 0;
  const bars = kinds.flatMap((kind, i) => {
    const amount = value(kind);
    if (!Number.isFinite(amount)) return [];
    const length = Math.max(amount * scale, 1).toFixed(1);
    const color = kind === 'f32' ? '#8c959f' : '#2f81b7';
    const y = top + i * rowHeight;
    const label = text?.(kind) ?? Math.round(amount).toLocaleString('en');
    return [
      `<rect x="${x}" y="${y + 4}" width="${length}" height="${rowHeight - 8}" fill="${color}"/>`,
      textAt(x + Number(length) + 5, rowMiddle(i), label, 'start', 'font-size="12"'),
    ];
  });
  const [first, second] = title;
  return [
    textAt(x, 52, first),
    textAt(x, 69, second, 'start', 'font-size="11" fill="#57606a"'),
    ...bars,
  ];
}

function changeText(change) {
  return `${change < 0 ? '−' : '+'}${Math.abs(100 * change).toFixed(3)}`;
}

function rowMiddle(i) {
  return top + i * rowHeight + rowHeight / 2 + 4;
}

function textAt(x, y, text, anchor = 'start', more = '') {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}" ${more}>${text}</text>`;
}
