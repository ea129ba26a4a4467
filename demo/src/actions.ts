// What several parts of the page ask for: another model, another session, and telling of failure.
import { openPanel } from './panels/panels.ts';
import { chooseModel } from './search/desk.ts';
import { startOver, stop } from './talk/conversation.ts';
import { byId } from './ui/dom.ts';
import { errorText } from './ui/format.ts';
import { openModel, OtherPurpose, renewSession } from './workspace.ts';
import type { ModelChoice } from './workspace.ts';

const alert = byId('alert', HTMLElement);

/**
 * Opens a model, and clears what was said with the one before. One that embeds texts goes to the
 * search panel, beside the one that is open.
 */
export async function useModel(choice: ModelChoice): Promise<boolean> {
  clearAlert();
  try {
    const isOpen = await openModel(choice);
    if (isOpen) await startOver();
    return isOpen;
  } catch (error) {
    if (error instanceof OtherPurpose && error.purpose === 'embeddings') {
      openPanel('search');
      await chooseModel(choice);
    } else showAlert(`${choice.name} could not be loaded`, error);
    return false;
  }
}

export async function useNewSession(): Promise<void> {
  clearAlert();
  await stop();
  try {
    await renewSession();
  } catch (error) {
    showAlert('The settings could not be used', error);
  }
}

export function showAlert(what: string, error: unknown): void {
  alert.textContent = `${what}: ${errorText(error)}.`;
}

export function clearAlert(): void {
  alert.textContent = '';
}
