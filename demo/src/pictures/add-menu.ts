// The menu that adds pictures to the composer: from files, a phone's camera, or the live camera.
import { byId } from '../ui/dom.ts';
import { opened } from '../workspace.ts';
import { addPictures } from './draft.ts';
import { readsPictures } from './seeing.ts';

const button = byId('add', HTMLButtonElement);
const menu = byId('add-menu', HTMLElement);
const place = byId('add-place', HTMLElement);

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
  place.addEventListener('keydown', onKey);
  document.addEventListener('pointerdown', ({ target }) => {
    if (!(target instanceof Node && place.contains(target))) setOpen(false);
  });
  opened.subscribe((model) => {
    const isSeeing = readsPictures(model);
    place.hidden = !isSeeing;
    if (!isSeeing) setOpen(false);
  });
}

/** Browsers offer the camera only to secure pages (HTTPS). */
function hasCamera(): boolean {
  return 'mediaDevices' in navigator && 'getUserMedia' in navigator.mediaDevices;
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || menu.hidden) return;
  event.stopPropagation(); // otherwise Escape would also stop an answer
  setOpen(false);
  button.focus();
}

function setOpen(isOpen: boolean): void {
  menu.hidden = !isOpen;
  button.ariaExpanded = String(isOpen);
}
