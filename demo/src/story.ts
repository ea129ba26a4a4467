// Telling a story: the form, the streamed text and its speed.
import type { FinishReason, GenerationResult } from 'kinglet';
import { currentModel } from './model.ts';
import { clearError, page, showError } from './page.ts';

const storyNode = document.createTextNode('');
page.storyText.append(storyNode);

let telling: AbortController | undefined;

/** Starts a story, or stops the one that is being told. */
export function tellOrStop(): void {
  if (telling) telling.abort();
  else void tell();
}

async function tell(): Promise<void> {
  const model = currentModel();
  if (!model) return;
  const controller = new AbortController();
  telling = controller;
  clearError();
  begin(page.prompt.value);
  let nTokens = 0;
  const startedAt = performance.now();
  try {
    const generation = model.generate(page.prompt.value, {
      maxTokens: page.length.valueAsNumber,
      temperature: page.temperature.valueAsNumber,
      seed: page.seed.value === '' ? undefined : page.seed.valueAsNumber,
      signal: controller.signal,
    });
    for await (const piece of generation) {
      nTokens += 1;
      append(piece.text);
      page.tokenCount.textContent = String(nTokens);
      page.decodeSpeed.textContent = speed(
        (nTokens * 1000) / Math.max(performance.now() - startedAt, 1),
      );
    }
    showResult(await generation.result);
  } catch (error) {
    if (controller.signal.aborted) page.ending.textContent = 'you';
    else showError(error, 'The story could not be told');
  } finally {
    telling = undefined;
    page.story.setAttribute('aria-busy', 'false');
    page.tell.textContent = 'Tell';
  }
}

function begin(prompt: string): void {
  page.storyPrompt.textContent = prompt;
  storyNode.data = '';
  page.story.setAttribute('aria-busy', 'true');
  page.tell.textContent = 'Stop';
  for (const cell of [page.prefillSpeed, page.decodeSpeed, page.tokenCount, page.ending]) {
    cell.textContent = '–';
  }
}

/**
 * Keeps the end in view, unless the reader has scrolled up. The text stays one node: as nodes of
 * their own, the parts of a word would jump when it is wrapped.
 */
function append(text: string): void {
  const { story } = page;
  const atEnd = story.scrollHeight - story.scrollTop - story.clientHeight < 24;
  storyNode.appendData(text);
  if (atEnd) story.scrollTop = story.scrollHeight;
}

function showResult({ finishReason, usage, timings }: GenerationResult): void {
  page.prefillSpeed.textContent = speed(timings.promptTokensPerSecond);
  page.decodeSpeed.textContent = speed(timings.tokensPerSecond);
  page.tokenCount.textContent = String(usage.completionTokens);
  page.ending.textContent = endings[finishReason];
}

const endings: Record<FinishReason, string> = {
  stop: 'the model',
  length: 'the length',
  context: 'a full context',
  cancelled: 'you',
};

function speed(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 10 ? 1 : 0);
}
