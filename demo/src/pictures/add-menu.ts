// The menu by which pictures come into the composer: files, the camera of a phone, the live camera.
import { byId } from '../ui/dom.ts';
import { opened } from '../workspace.ts';
import { addPictures } from './draft.ts';
import { readsPictures } from './seeing.ts';

const button = byId('add', HTMLButtonElement);
const menu = byId('add-menu', HTMLElement);
const why = byId('pictures-off', HTMLElement);

export function showAddMenu(): void {
  button.addEventListener('click', () => {
    setOpen(button.ariaExpanded !== 'true');
  });
  for (const input of menu.querySelectorAll('input')) {
    input.addEventListener('change', () => {
      setOpen(false);
      void addPictures([...(input.files ?? [])]);
      input.value = ''; // so that the same file can be picked again
      byId('prompt', HTMLTextAreaElement).focus();
    });
  }
  const live = byId('live', HTMLButtonElement);
  live.hidden = !hasCamera();
  live.addEventListener('click', () => {
    setOpen(false);
  });
  menu.parentElement?.addEventListener('keydown', onKey);
  document.addEventListener('pointerdown', ({ target }) => {
    const isInside = target instanceof Node && menu.parentElement?.contains(target);
    if (!isInside) setOpen(false);
  });
  opened.subscribe((model) => {
    const isSeeing = readsPictures(model);
    button.disabled = !isSeeing;
    if (!isSeeing) setOpen(false);
    // Where it cannot chat, that is said instead.
    why.hidden = isSeeing || model?.kinglet.info.chatTemplate === undefined;
  });
}

/** Browsers give it to pages over HTTPS only. */
function hasCamera(): boolean {
  return 'mediaDevices' in navigator && 'getUserMedia' in navigator.mediaDevices;
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || menu.hidden) return;
  event.stopPropagation(); // which would stop an answer
  setOpen(false);
  button.focus();
}

function setOpen(isOpen: boolean): void {
  menu.hidden = !isOpen;
  button.ariaExpanded = String(isOpen);
}
