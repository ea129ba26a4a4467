import type { Panel } from '../panels/panels.ts';
import { h } from '../ui/dom.ts';
import { benchmark } from './benchmark.ts';
import { fileInspector } from './file-inspector.ts';
import { forks } from './forks.ts';
import { memoryBars } from './memory-bars.ts';
import { speedPlot } from './speed-plot.ts';

export const lookPanel: Panel = {
  title: 'Look inside',
  create: () =>
    h('div', { class: 'look' }, speedPlot(), memoryBars(), forks(), fileInspector(), benchmark()),
};
