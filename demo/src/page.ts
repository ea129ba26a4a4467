// The page's elements, by the ids in index.html.

function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`index.html has no ${type.name} #${id}`);
  return found;
}

export const page = {
  alert: element('alert', HTMLDivElement),
  modelName: element('model-name', HTMLHeadingElement),
  modelFacts: element('model-facts', HTMLParagraphElement),
  progress: element('progress', HTMLProgressElement),
  file: element('file', HTMLInputElement),
  form: element('form', HTMLFormElement),
  prompt: element('prompt', HTMLTextAreaElement),
  tell: element('tell', HTMLButtonElement),
  temperature: element('temperature', HTMLInputElement),
  temperatureValue: element('temperature-value', HTMLOutputElement),
  length: element('length', HTMLInputElement),
  seed: element('seed', HTMLInputElement),
  story: element('story', HTMLDivElement),
  storyPrompt: element('story-prompt', HTMLSpanElement),
  storyText: element('story-text', HTMLSpanElement),
  prefillSpeed: element('prefill-speed', HTMLElement),
  decodeSpeed: element('decode-speed', HTMLElement),
  tokenCount: element('token-count', HTMLElement),
  ending: element('ending', HTMLElement),
  runtime: element('runtime', HTMLParagraphElement),
};

/** Says what went wrong, and why. */
export function showError(error: unknown, what: string): void {
  const why = error instanceof Error ? error.message : String(error);
  page.alert.textContent = `${what}: ${why}.`;
}

export function clearError(): void {
  page.alert.textContent = '';
}
