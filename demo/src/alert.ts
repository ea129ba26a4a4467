// The message above the composer, until it is closed or a later action succeeds.
import { showMessage } from './ui/closable.ts';
import type { Message } from './ui/closable.ts';
import { byId } from './ui/dom.ts';
import { errorText } from './ui/format.ts';

const alert = byId('alert', HTMLElement);
let shown: Message | undefined;

export function showAlert(what: string, error: unknown, action?: Message['action']): void {
  show({ text: `${what}: ${errorText(error)}.`, action });
}

/** Shows sentences that the visitor should not miss. */
export function showNotice(text: string): void {
  show({ text });
}

/** Shows sentences after those that are shown already. */
export function addNotice(text: string): void {
  show({ ...shown, text: shown ? `${shown.text} ${text}` : text });
}

export function clearAlert(): void {
  show(undefined);
}

function show(message: Message | undefined): void {
  shown = message;
  showMessage(alert, message, clearAlert);
}
