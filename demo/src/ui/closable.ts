import { button, h } from './dom.ts';

/** Shows a message with a button that closes it. An empty text removes the message. */
export function showMessage(place: HTMLElement, text: string, onClose: () => void): void {
  if (text === '') place.replaceChildren();
  else {
    const close = button('Close', onClose, { 'aria-label': 'Close this message' });
    place.replaceChildren(h('p', {}, text), close);
  }
}
