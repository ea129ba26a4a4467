// The memory that the model and its session take, and the choice of how keys and values are stored.
import type { KvKind, SessionInfo } from 'kinglet';
import { useNewSession } from '../actions.ts';
import { changeSettings, kvKindNames, kvKinds } from '../settings.ts';
import { h } from '../ui/dom.ts';
import { bytes, count } from '../ui/format.ts';
import { canWrite, opened } from '../workspace.ts';
import type { WritingModel } from '../workspace.ts';

export function memoryBars(): HTMLElement {
  const stack = h('div', { class: 'stack', 'aria-hidden': 'true' });
  const legend = h('dl', { class: 'legend' });
  const select = h(
    'select',
    {
      id: 'kv-kind',
      onchange: () => {
        const kind = select.value as KvKind;
        changeSettings({ kvKeys: kind, kvValues: kind });
        void useNewSession();
      },
    },
    h('option', { value: 'mixed', hidden: true }, 'keys and values apart'),
    ...kvKinds.map((kind) => h('option', { value: kind }, kvKindNames[kind].name)),
  );
  const section = h(
    'section',
    { id: 'memory' },
    h('h3', {}, 'Memory'),
    stack,
    legend,
    h(
      'div',
      { class: 'field inline' },
      h('label', { for: 'kv-kind' }, 'Store keys and values as'),
      select,
    ),
  );
  opened.subscribe((model) => {
    section.hidden = !canWrite(model);
    if (!canWrite(model)) return;
    const { k, v } = model.session.info.kv;
    select.value = k === v ? k : 'mixed';
    const parts = partsOf(model);
    const total = parts.reduce((sum, part) => sum + part.size, 0);
    stack.replaceChildren(...parts.map((part) => segment(part, total)));
    legend.replaceChildren(...parts.map(legendRow), legendRow({ ...totalPart, size: total }));
  });
  return section;
}

interface Part {
  name: string;
  className: string;
  size: number;
}

const totalPart = { name: 'Together', className: 'total' };

function partsOf({ kinglet, session }: WritingModel): Part[] {
  const { memory } = session.info;
  const { images } = kinglet.info;
  return [
    { name: 'Weights', className: 'weights', size: kinglet.info.memory.weightBytes },
    ...(images ? [visionPart(images.weightBytes)] : []),
    { name: kvName(session.info), className: 'kv', size: memory.kvBytes },
    ...(memory.recurrentBytes > 0 ? [recurrentPart(memory.recurrentBytes)] : []),
    { name: 'Scratch', className: 'scratch', size: memory.scratchBytes },
  ];
}

function visionPart(size: number): Part {
  return { name: 'Weights that read pictures', className: 'vision', size };
}

function recurrentPart(size: number): Part {
  return { name: 'States of recurrent layers, with checkpoints', className: 'recurrent', size };
}

/** "Keys and values of 512 tokens, f32" */
function kvName({ nCtx, kv: { k, v } }: SessionInfo): string {
  return `Keys and values of ${count(nCtx)} tokens, ${k === v ? k : `${k} and ${v}`}`;
}

function segment({ className, size }: Part, total: number): HTMLElement {
  const made = h('span', { class: className });
  made.style.width = `${String((100 * size) / total)}%`;
  return made;
}

function legendRow({ name, className, size }: Part): HTMLElement {
  return h(
    'div',
    { class: className },
    h('dt', {}, name),
    h('dd', { 'data-bytes': String(size) }, bytes(size)),
  );
}
