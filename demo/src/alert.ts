// The message above the composer, until it is closed or a later action succeeds.
import { showMessage } from './ui/closable.ts';
import { byId } from './ui/dom.ts';
import { errorText } from './ui/format.ts';

const alert = byId('alert', HTMLElement);

export function showAlert(what: string, error: unknown): void {
  showNotice(`${what}: ${errorText(error)}.`);
}

/** Shows sentences that the visitor should not miss. */
export function showNotice(text: string): void {
  showMessage(alert, text, clearAlert);
}

export function clearAlert(): void {
  showNotice('');
}
