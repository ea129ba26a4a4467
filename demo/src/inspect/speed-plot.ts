// A plot of the last answer's tokens per second, drawn while the answer is written.
import { latest } from '../talk/conversation.ts';
import type { Exchange } from '../talk/exchange.ts';
import { h, oncePerFrame, svg } from '../ui/dom.ts';
import { rate } from '../ui/format.ts';

const width = 400;
const height = 110;
/** Each point is the mean over this time, because tokens arrive in groups when the page is busy. */
const windowMs = 150;
const maxPoints = 160;

interface Point {
  /** Milliseconds since the start of work. */
  at: number;
  tokensPerSecond: number;
}

export function speedPlot(): HTMLElement {
  const area = svg('polygon', { class: 'plot-area' });
  const line = svg('polyline', { class: 'plot-line' });
  const reading = svg('rect', { class: 'plot-reading', height: String(height) });
  const scale = h('span', { class: 'plot-scale' });
  const speeds = {
    prefill: h('dd', { id: 'prefill-speed' }, '–'),
    decode: h('dd', { id: 'decode-speed' }, '–'),
    first: h('dd', { id: 'first-token' }, '–'),
  };

  function paint(exchange: Exchange): void {
    const { arrivals, result } = exchange;
    const points = pointsOf(arrivals);
    const end = Math.max(1, arrivals.at(-1) ?? 1);
    const most = 1.15 * Math.max(1, ...points.map(({ tokensPerSecond }) => tokensPerSecond));
    const x = (at: number) => ((at / end) * width).toFixed(1);
    const y = (speed: number) => (height * (1 - speed / most)).toFixed(1);
    const corners = points.map(({ at, tokensPerSecond }) => `${x(at)},${y(tokensPerSecond)}`);
    const start = x(points[0]?.at ?? 0);
    const bottom = String(height);
    line.setAttribute('points', corners.join(' '));
    area.setAttribute(
      'points',
      [`${start},${bottom}`, ...corners, `${String(width)},${bottom}`].join(' '),
    );
    reading.setAttribute('width', x(arrivals[0] ?? 0));
    scale.textContent = points.length > 0 ? `${rate(most)} tokens/s` : '';
    const { promptTokensPerSecond, tokensPerSecond } = result?.timings ?? {};
    const decodeSpeed = tokensPerSecond ?? points.at(-1)?.tokensPerSecond;
    speeds.prefill.textContent = promptTokensPerSecond ? rate(promptTokensPerSecond) : '–';
    speeds.decode.textContent = decodeSpeed ? rate(decodeSpeed) : '–';
    speeds.first.textContent = arrivals[0] === undefined ? '–' : arrivals[0].toFixed(0);
  }

  followLatest(paint);
  return h(
    'section',
    {},
    h('h3', {}, 'Speed'),
    h(
      'dl',
      { class: 'figures' },
      h('div', {}, h('dt', {}, 'Reading, tok/s'), speeds.prefill),
      h('div', {}, h('dt', {}, 'Writing, tok/s'), speeds.decode),
      h('div', {}, h('dt', {}, 'First token, ms'), speeds.first),
    ),
    h(
      'figure',
      { class: 'plot' },
      scale,
      svg(
        'svg',
        {
          ...{ viewBox: `0 0 ${String(width)} ${String(height)}`, preserveAspectRatio: 'none' },
          ...{ role: 'img', 'aria-label': 'Tokens per second over the time of the last answer' },
        },
        reading,
        area,
        line,
      ),
      h('figcaption', { class: 'soft' }, 'Over the last answer; shaded: reading the prompt'),
    ),
  );
}

/** Calls `paint` with the running (or last) exchange whenever that exchange changes. */
function followLatest(paint: (exchange: Exchange) => void): void {
  let unsubscribe: (() => void) | undefined;
  const repaint = oncePerFrame(() => {
    if (latest.value) paint(latest.value);
  });
  latest.subscribe((exchange) => {
    unsubscribe?.();
    unsubscribe = exchange?.updates.subscribe(repaint);
  });
}

function pointsOf(arrivals: readonly number[]): Point[] {
  const step = Math.max(1, Math.floor(arrivals.length / maxPoints));
  const points: Point[] = [];
  const leastMs = Math.min(windowMs / 2, (arrivals.at(-1) ?? 0) / 10);
  let from = 0;
  for (let i = 0; i < arrivals.length; i += step) {
    const at = arrivals[i] ?? 0;
    while (at - (arrivals[from + 1] ?? at) >= windowMs) ++from;
    const span = at - (arrivals[from] ?? 0);
    if (span > leastMs) points.push({ at, tokensPerSecond: (1000 * (i - from)) / span });
  }
  return points;
}
