// Where answers are made: in this page, or by the server that the page came from.
import { useModel } from '../actions.ts';
import { clearAlert, showAlert } from '../alert.ts';
import { closePanel } from '../panels/panels.ts';
import { Remembered } from '../storage/remembered.ts';
import { forgetTokens, stop } from '../talk/conversation.ts';
import { PageWriter } from '../talk/page-writer.ts';
import { writer } from '../talk/writer.ts';
import { Observable } from '../ui/observable.ts';
import { canWrite, loading, opened } from '../workspace.ts';
import type { ModelChoice } from '../workspace.ts';
import { KeyNeeded, RemoteModel } from './remote-model.ts';
import { address, server } from './server.ts';

/** Why the server needs a key; empty while it needs none. */
export const keyWanted = new Observable('');

const remembered = new Remembered('kinglet place');
/** The model that was open in the page before the switch to the server. */
let left: ModelChoice | undefined;
/** Kept for the browser session only. */
const key = new Remembered('kinglet server key', () => sessionStorage);
/** Counts the choices. An earlier choice that is still in progress gives up. */
let nChoices = 0;

export function followPlace(): void {
  for (const cause of [opened, server]) cause.subscribe(choose);
  // A visitor who opens a model wants to use it.
  opened.subscribe((model) => {
    if (model) leaveServer();
  });
}

export function lastPlaceWasServer(): boolean {
  return remembered.value === 'server';
}

/** Returns false if the server could not be used; the page's model is then still open. */
export async function useServer(withKey = key.value): Promise<boolean> {
  clearAlert();
  const choice = ++nChoices;
  try {
    const model = await RemoteModel.connect(address, withKey);
    if (choice !== nChoices) return false;
    model.onKeyNeeded = ({ message }) => {
      keyWanted.value = message;
    };
    key.value = withKey;
    keyWanted.value = '';
    await forgetTokens();
    if (choice !== nChoices) return false;
    loading.value?.cancel();
    closePanel(); // it may show the page's model
    left = opened.value?.choice ?? left;
    opened.value?.kinglet.dispose();
    server.value = model; // first, so that there is always a writer
    opened.value = undefined;
    remembered.value = 'server';
    return true;
  } catch (error) {
    if (choice !== nChoices) return false;
    if (error instanceof KeyNeeded) keyWanted.value = error.message;
    else showAlert('The server could not be used', error);
    return false;
  }
}

/** Opens again the model that was open in the page; calls `begin` if there was none. */
export async function usePage(begin: () => Promise<void>): Promise<void> {
  clearAlert();
  nChoices += 1;
  keyWanted.value = '';
  remembered.value = undefined;
  if (!server.value) return;
  await stop();
  leaveServer();
  if (left) await useModel(left);
  else await begin();
}

function choose(): void {
  const model = opened.value;
  writer.value = server.value ?? (canWrite(model) ? new PageWriter(model) : undefined);
}

function leaveServer(): void {
  if (!server.value) return;
  server.value = undefined;
  remembered.value = undefined;
}
