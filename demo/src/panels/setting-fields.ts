// Form fields for settings. Each field shows and changes the setting that it names.
import { changeSettings, settings } from '../settings.ts';
import { h } from '../ui/dom.ts';

export function slider(
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

/** A field with a placeholder may be empty; its setting is then undefined. */
export function numberField(
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

export function selectField<T extends string>(
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

export function label(id: string, text: string, hint?: string): HTMLElement {
  return h('label', { for: id }, text, hint && h('span', { class: 'soft' }, hint));
}
