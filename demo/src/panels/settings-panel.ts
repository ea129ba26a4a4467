// The settings as a form: those of the next answer, and those of the conversation.
import { reloadModel, useNewSession } from '../actions.ts';
import {
  changeSettings,
  defaultSettings,
  isSampling,
  presets,
  recommendedSampling,
  settings,
} from '../settings.ts';
import type { Sampling } from '../settings.ts';
import { button, h } from '../ui/dom.ts';
import { opened } from '../workspace.ts';
import type { Panel } from './panels.ts';
import { label, numberField, slider } from './setting-fields.ts';

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
        numberField(
          'maxTokens',
          'Length in tokens',
          'At most; a token is a word or part of one',
          1,
        ),
        systemField(),
        fineControl(),
      ),
      h(
        'fieldset',
        {},
        h('legend', {}, 'The conversation'),
        numberField(
          'nCtx',
          'Tokens of context',
          'How much text the model can have in view; more takes more memory',
          1,
          'auto',
          useNewSession,
        ),
        h(
          'p',
          { class: 'soft' },
          'Threads, kernels and the kinds of keys and values are under Inspect.',
        ),
      ),
      button('Back to the defaults', () => {
        changeSettings(defaultSettings);
        void reloadModel();
      }),
    ),
};

function fineControl(): HTMLElement {
  return h(
    'details',
    {},
    h('summary', {}, 'Which words may be chosen'),
    h(
      'div',
      { class: 'fine' },
      slider('topP', 'Top p', 'Keep the likeliest that reach this share', 0, 1, 0.01),
      slider('minP', 'Min p', 'Drop what is below this share of the likeliest', 0, 0.5, 0.01),
      numberField('topK', 'Top k', 'Keep this many; 0 keeps all', 0),
      slider('repeatPenalty', 'Repetition penalty', 'Above 1 avoids repeating', 1, 2, 0.05),
      numberField('seed', 'Seed', 'The same seed, the same text', 0, 'random'),
    ),
  );
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

/** A button that is hidden while `preset` returns undefined. */
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
