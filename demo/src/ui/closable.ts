import { button, h } from './dom.ts';

export interface Message {
  text: string;
  /** What the visitor can do about it. */
  action?: { name: string; act: () => unknown } | undefined;
}

/** Shows a message with a button that closes it; undefined removes the message. */
export function showMessage(
  place: HTMLElement,
  message: Message | undefined,
  onClose: () => void,
): void {
  if (!message) {
    place.replaceChildren();
    return;
  }
  const { text, action } = message;
  const close = button('Close', onClose, { 'aria-label': 'Close this message' });
  const act = action && button(action.name, action.act);
  place.replaceChildren(h('p', {}, text), h('div', { class: 'row' }, act, close));
}
