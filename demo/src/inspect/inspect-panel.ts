import type { Panel } from '../panels/panels.ts';
import { h } from '../ui/dom.ts';
import { benchmark } from './benchmark.ts';
import { engine } from './engine.ts';
import { fileInspector } from './file-inspector.ts';
import { forks } from './forks.ts';
import { memoryBars } from './memory-bars.ts';
import { speedPlot } from './speed-plot.ts';

export const inspectPanel: Panel = {
  title: 'Inspect the model',
  create: () =>
    h(
      'div',
      { class: 'inspect' },
      h(
        'p',
        { class: 'soft' },
        'The model at work on this machine: how fast it reads and writes, what it keeps in memory, ' +
          'how else its text could have continued, and what its file contains. It reads and writes in ' +
          'tokens: words, or parts of words.',
      ),
      ...[speedPlot(), memoryBars(), engine(), forks(), fileInspector(), benchmark()],
    ),
};
