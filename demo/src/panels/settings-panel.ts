// The settings as a form, in groups by what they change.
import type { KvKind } from 'kinglet';
import { useModel, useNewSession } from '../actions.ts';
import {
  changeSettings,
  defaultSettings,
  kernelSets,
  kvKinds,
  isSampling,
  presets,
  recommendedSampling,
  settings,
} from '../settings.ts';
import type { Sampling } from '../settings.ts';
import { button, h } from '../ui/dom.ts';
import { opened } from '../workspace.ts';
import type { Panel } from './panels.ts';

export const settingsPanel: Panel = {
  title: 'Settings',
  create: () =>
    h(
      'form',
      {
        class: 'settings',
        onsubmit: (event: SubmitEvent) => {
          event.preventDefault();
        },
      },
      h(
        'fieldset',
        {},
        h('legend', {}, 'The next answer'),
        presetButtons(),
        slider('temperature', 'Temperature', 'How far the choice of words may stray', 0, 2, 0.05),
        slider('topP', 'Top p', 'Keep the likeliest that reach this share', 0, 1, 0.01),
        slider('minP', 'Min p', 'Drop what is below this share of the likeliest', 0, 0.5, 0.01),
        numberField('topK', 'Top k', 'Keep this many; 0 keeps all', 0),
        slider('repeatPenalty', 'Repetition penalty', 'Above 1 avoids repeating', 1, 2, 0.05),
        numberField('maxTokens', 'Length in tokens', 'At most', 1),
        numberField('seed', 'Seed', 'The same seed, the same text', 0, 'random'),
        systemField(),
      ),
      h(
        'fieldset',
        {},
        h('legend', {}, 'The context'),
        numberField(
          'nCtx',
          'Tokens of context',
          'Up to what the model was trained for',
          1,
          'auto',
          useNewSession,
        ),
        kvField('kvKeys', 'Keys stored as'),
        kvField('kvValues', 'Values stored as'),
      ),
      h(
        'fieldset',
        {},
        h('legend', {}, 'The engine'),
        h('p', { class: 'soft' }, 'Loads the model again.'),
        numberField('nThreads', 'Threads', 'Where the page may use them', 1, 'auto', reload),
        selectField(
          'kernels',
          'Kernels',
          ['', ...kernelSets],
          (value) => value || 'the fastest',
          reload,
        ),
      ),
      button('Back to the defaults', () => {
        changeSettings(defaultSettings);
        void reload();
      }),
    ),
};

async function reload(): Promise<void> {
  const model = opened.value;
  if (model) await useModel(model.choice);
}

function presetButtons(): HTMLElement {
  const buttons = Object.entries(presets).map(([name, preset]) => presetButton(name, () => preset));
  const ofModel = presetButton('The model’s', () => {
    const info = opened.value?.kinglet.info;
    return info && recommendedSampling(info);
  });
  return h(
    'div',
    { class: 'row presets', role: 'group', 'aria-label': 'Presets' },
    ...[...buttons, ofModel],
  );
}

/** Hidden while there is no such preset. */
function presetButton(name: string, preset: () => Sampling | undefined): HTMLElement {
  const made = button(name, () => {
    changeSettings(preset() ?? {});
  });
  const show = () => {
    const wanted = preset();
    made.hidden = wanted === undefined;
    made.setAttribute(
      'aria-pressed',
      String(wanted !== undefined && isSampling(settings.value, wanted)),
    );
  };
  settings.subscribe(show);
  opened.subscribe(show);
  return made;
}

function slider(
  name: 'temperature' | 'topP' | 'minP' | 'repeatPenalty',
  text: string,
  hint: string,
  min: number,
  max: number,
  step: number,
): HTMLElement {
  const output = h('output', { for: name });
  const input = h('input', {
    ...{ type: 'range', id: name, min: String(min), max: String(max), step: String(step) },
    oninput: () => {
      changeSettings({ [name]: input.valueAsNumber });
    },
  });
  settings.subscribe((current) => {
    input.value = String(current[name]);
    output.value = current[name].toFixed(2);
  });
  return h('div', { class: 'field' }, label(name, text, hint), output, input);
}

/** With a placeholder the field may be empty, which is undefined. */
function numberField(
  name: 'topK' | 'maxTokens' | 'seed' | 'nCtx' | 'nThreads',
  text: string,
  hint: string,
  min: number,
  placeholder?: string,
  onChanged?: () => Promise<void>,
): HTMLElement {
  const input = h('input', {
    ...{ type: 'number', id: name, min: String(min), step: '1', placeholder },
    required: placeholder === undefined,
    onchange: () => {
      if (!input.reportValidity()) return;
      changeSettings({ [name]: input.value === '' ? undefined : input.valueAsNumber });
      void onChanged?.();
    },
  });
  settings.subscribe((current) => {
    input.value = String(current[name] ?? '');
  });
  return h('div', { class: 'field inline' }, label(name, text, hint), input);
}

function kvField(name: 'kvKeys' | 'kvValues', text: string): HTMLElement {
  const names: Record<KvKind, string> = {
    ...{ f32: '32-bit floats', f16: '16-bit floats', q8: 'Q8, by 32', int8: 'INT8, by head' },
    ...{ fp8_e4m3: 'FP8 E4M3', fp8_e5m2: 'FP8 E5M2', q4: 'Q4, by 32' },
  };
  return selectField(name, text, kvKinds, (kind) => names[kind], useNewSession);
}

function selectField<T extends string>(
  name: 'kvKeys' | 'kvValues' | 'kernels',
  text: string,
  values: readonly T[],
  textOf: (value: T) => string,
  onChanged: () => Promise<void>,
): HTMLElement {
  const select = h(
    'select',
    {
      id: name,
      onchange: () => {
        changeSettings({ [name]: select.value || undefined });
        void onChanged();
      },
    },
    ...values.map((value) => h('option', { value }, textOf(value))),
  );
  settings.subscribe((current) => {
    select.value = current[name] ?? '';
  });
  return h('div', { class: 'field inline' }, label(name, text), select);
}

function systemField(): HTMLElement {
  const area = h('textarea', {
    ...{ id: 'system', rows: '2', placeholder: 'You are a poet.' },
    onchange: () => {
      changeSettings({ system: area.value });
    },
  });
  settings.subscribe(({ system }) => {
    area.value = system;
  });
  return h('div', { class: 'field' }, label('system', 'System message', 'For chats'), area);
}

function label(id: string, text: string, hint?: string): HTMLElement {
  return h('label', { for: id }, text, hint && h('span', { class: 'soft' }, hint));
}
