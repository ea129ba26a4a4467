// The engine: the build that runs, its threads and kernels, and how it stores keys and values.
import type { SingleThreadReason } from 'kinglet';
import { reloadModel, useNewSession } from '../actions.ts';
import { numberField, selectField } from '../panels/setting-fields.ts';
import { kernelSets, kvChoices, kvKindNames } from '../settings.ts';
import { h } from '../ui/dom.ts';
import { opened } from '../workspace.ts';
import type { OpenModel } from '../workspace.ts';

export function engine(): HTMLElement {
  const facts = h('p', { id: 'engine-facts' });
  opened.subscribe((model) => {
    facts.textContent = model ? describe(model) : 'No model is loaded.';
  });
  const kindName = (kind: (typeof kvChoices)[number]) => kvKindNames[kind].name;
  return h(
    'section',
    { id: 'engine' },
    h('h3', {}, 'Engine'),
    facts,
    h(
      'p',
      { class: 'soft' },
      'Kernels are the routines that multiply; these two settings load the model again.',
    ),
    numberField('nThreads', 'Threads', 'Where the page may use them', 1, 'auto', reloadModel),
    selectField(
      'kernels',
      'Kernels',
      ['', ...kernelSets],
      (value) => value || 'the fastest',
      reloadModel,
    ),
    h(
      'p',
      { class: 'soft' },
      'Keys and values are what the model keeps of a text that it has read. Fewer bits take less ' +
        'memory and blur a little.',
    ),
    selectField('kvKeys', 'Keys stored as', kvChoices, kindName, useNewSession),
    selectField('kvValues', 'Values stored as', kvChoices, kindName, useNewSession),
  );
}

function describe({ kinglet }: OpenModel): string {
  const { variant, kernels, nThreads, singleThreadReason } = kinglet.info.runtime;
  const threads = nThreads === 1 ? '1 thread' : `${String(nThreads)} threads`;
  const why = singleThreadReason ? ` (${reasons[singleThreadReason]})` : '';
  return `Engine ${variant}, kernels ${kernels}, ${threads}${why}.`;
}

const reasons: Record<SingleThreadReason, string> = {
  not_isolated: 'this site is served without the COOP and COEP headers that threads need',
  refused: 'this browser refused the memory or the workers that threads need',
  requested: 'as asked for',
  here: 'the engine runs in the page, not in a worker',
  one_core: 'this machine has no core to spare',
};
