// The live camera: its picture, the question, and the model's answers.
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Panel } from '../panels/panels.ts';
import { readsPictures } from '../pictures/seeing.ts';
import { h } from '../ui/dom.ts';
import { drawn } from '../ui/drawn.ts';
import { opened } from '../workspace.ts';
import {
  answers,
  current,
  isLive,
  question,
  startLive,
  status,
  stopLive,
  trouble,
  video,
  watchForStops,
} from './live.ts';
import type { LiveAnswer } from './live.ts';

export const cameraPanel: Panel = {
  title: 'Live camera',
  create: () => {
    watchForStops();
    return drawn(h('div', { class: 'camera' }), view, [
      ...[opened, isLive, question, status, trouble, current, answers],
    ]);
  },
  onClose: () => {
    stopLive();
  },
};

function view(): TemplateResult {
  const onInput = ({ target }: Event) => {
    question.value = (target as HTMLInputElement).value;
  };
  const run = () => {
    if (isLive.value) stopLive('Stopped.');
    else void startLive();
  };
  return html`
    <p class="soft">
      The model answers the same question about one picture after the other. What the camera sees
      stays on this page.
    </p>
    <div class="viewfinder" ?hidden=${!isLive.value}>${video}</div>
    <div class="field">
      <label for="live-question">Question</label>
      <input type="text" id="live-question" .value=${question.value} @input=${onInput} />
    </div>
    <div class="line">
      <button
        type="button"
        id="live-run"
        class="button"
        ?disabled=${!readsPictures(opened.value)}
        @click=${run}
      >
        ${isLive.value ? 'Stop' : 'Start the camera'}
      </button>
      <span id="live-speed" class="soft">${speed(answers.value)}</span>
    </div>
    <p role="alert">${trouble.value || nothing}</p>
    <p id="live-status" class="soft">${status.value}</p>
    ${said()}
  `;
}

/** The answer being written (or the last one while the next picture is read), and older answers. */
function said(): TemplateResult {
  const texts = answers.value.map(({ text }) => text || '(no words)');
  const [last = ''] = texts;
  const older = current.value ? texts : texts.slice(1);
  return html`
    <p id="live-answer" class="answer">${current.value || last}</p>
    <p class="visually-hidden" role="status">${last}</p>
    <ol id="live-answers" class="soft" aria-label="Answers before">
      ${older.map((text) => html`<li>${text}</li>`)}
    </ol>
  `;
}

/** The mean time of the last answers: "3.2 s a picture". */
function speed(last: readonly LiveAnswer[]): string {
  if (last.length === 0) return '';
  const mean = last.reduce((sum, { seconds }) => sum + seconds, 0) / last.length;
  return `${mean.toFixed(mean < 1 ? 2 : 1)} s a picture`;
}
