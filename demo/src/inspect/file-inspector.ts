// The contents of the open model's file: metadata, tensors, and the size of each tensor type.
import { inspect } from 'kinglet';
import type { FileDescription, MetadataEntry } from 'kinglet';
import { button, h } from '../ui/dom.ts';
import { bytes, count, errorText } from '../ui/format.ts';
import { firstFile, hubBase, opened } from '../workspace.ts';

export function fileInspector(): HTMLElement {
  const content = h('div', { id: 'file-content', class: 'file' });
  const read = button('Read the header', () => void show(), { id: 'inspect' });

  async function show(): Promise<void> {
    const model = opened.value;
    if (!model) return;
    read.disabled = true;
    const file = firstFile(model.choice.source);
    try {
      content.replaceChildren(...describe(await inspect(file, { hubBase: hubBase() })));
    } catch (error) {
      content.textContent = errorText(error);
    }
    read.disabled = false;
  }

  opened.subscribe(() => {
    content.replaceChildren();
  });
  return h('section', {}, h('h3', {}, 'File'), h('div', { class: 'row' }, read), content);
}

function describe({ version, metadata, tensors }: FileDescription): HTMLElement[] {
  return [
    h('p', { class: 'soft' }, `GGUF version ${String(version)}`),
    details(
      'Size by type',
      ['Type', 'Tensors', 'Size'],
      sizesByType(tensors).map(({ type, nTensors, size }) => [type, count(nTensors), bytes(size)]),
    ),
    details(
      `Metadata, ${count(metadata.length)}`,
      ['Key', 'Value'],
      metadata.map((entry) => [entry.key, valueText(entry)]),
    ),
    details(
      `Tensors, ${count(tensors.length)}`,
      ['Name', 'Type', 'Shape'],
      tensors.map(({ name, type, shape }) => [name, type, shape.join(' × ')]),
    ),
  ];
}

function sizesByType(tensors: FileDescription['tensors']) {
  const types = new Map<string, { type: string; nTensors: number; size: number }>();
  for (const { type, bytes: size = 0 } of tensors) {
    const sum = types.get(type) ?? { type, nTensors: 0, size: 0 };
    types.set(type, { type, nTensors: sum.nTensors + 1, size: sum.size + size });
  }
  return [...types.values()].sort((a, b) => b.size - a.size);
}

const maxShown = 160;

function valueText({ value, length }: MetadataEntry): string {
  const text =
    typeof value === 'object'
      ? `${value.join(', ')}${length === value.length ? '' : `, … ${count(length ?? 0)} in all`}`
      : String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)} …` : text;
}

function details(title: string, heads: readonly string[], rows: readonly string[][]): HTMLElement {
  return h(
    'details',
    {},
    h('summary', {}, title),
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...heads.map((text) => h('th', { scope: 'col' }, text)))),
      h(
        'tbody',
        {},
        ...rows.map((row) => h('tr', {}, ...row.map((text) => h('td', {}, ...breakable(text))))),
      ),
    ),
  );
}

/** Lets a name break after its dots and underscores. */
function breakable(text: string): (HTMLElement | string)[] {
  return text.split(/(?<=[._](?=\w))/).flatMap((part) => [part, h('wbr')]);
}
