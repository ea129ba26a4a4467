// The message about an error, above the composer, until it is closed or a later action succeeds.
import { showMessage } from './ui/closable.ts';
import { byId } from './ui/dom.ts';
import { errorText } from './ui/format.ts';

const alert = byId('alert', HTMLElement);

export function showAlert(what: string, error: unknown): void {
  showMessage(alert, `${what}: ${errorText(error)}.`, clearAlert);
}

export function clearAlert(): void {
  showMessage(alert, '', clearAlert);
}
