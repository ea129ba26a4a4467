import { embedded, useModel } from './model.ts';
import { page } from './page.ts';
import { tellOrStop } from './story.ts';

page.form.addEventListener('submit', (event) => {
  event.preventDefault();
  tellOrStop();
});

// Enter tells, Shift+Enter starts a line, Escape stops.
page.prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!page.tell.disabled) page.form.requestSubmit();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && page.story.ariaBusy === 'true') tellOrStop();
});

page.temperature.addEventListener('input', () => {
  page.temperatureValue.value = page.temperature.valueAsNumber.toFixed(1);
});

page.file.addEventListener('change', () => {
  useFile(page.file.files);
  page.file.value = ''; // so that the same file can be picked again
});

document.addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dropping');
});
document.addEventListener('dragleave', (event) => {
  if (!event.relatedTarget) document.body.classList.remove('dropping');
});
document.addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('dropping');
  useFile(event.dataTransfer?.files);
});

function useFile(files: FileList | null | undefined): void {
  const file = files?.[0];
  if (file) void useModel({ name: file.name, source: file });
}

void useModel(embedded);
