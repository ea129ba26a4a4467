// Actions that several parts of the page use: open another model or session, and report failures.
import { addNotice, clearAlert, showAlert } from './alert.ts';
import { modelName, sortFiles } from './models/own-files.ts';
import { openPanel } from './panels/panels.ts';
import { chooseModel } from './search/desk.ts';
import { RememberedChoice } from './storage/remembered.ts';
import { focusPrompt } from './talk/composer.ts';
import { startOver, stop } from './talk/conversation.ts';
import { tryAgain } from './ui/format.ts';
import { embedded, opened, openModel, OtherPurpose, renewSession } from './workspace.ts';
import type { ModelChoice } from './workspace.ts';

/** The model of the last visit; undefined if it was the page's own. */
export const rememberedModel = new RememberedChoice('kinglet model');

/**
 * Opens a model. A model other than the open one begins a new conversation. A model that embeds
 * texts opens in the search panel, and the open model stays.
 */
export async function useModel(choice: ModelChoice): Promise<boolean> {
  clearAlert();
  const before = opened.value?.choice;
  const isAnother = before !== undefined && before.source !== choice.source;
  try {
    if (!isAnother) await stop();
    if (!(await openModel(choice))) return false;
    if (isAnother) await startOver();
    if (choice.source === embedded.source) rememberedModel.forget();
    else rememberedModel.remember(choice);
    focusPrompt();
    return true;
  } catch (error) {
    if (error instanceof OtherPurpose && error.purpose === 'embeddings') {
      openPanel('search');
      await chooseModel(choice);
    } else {
      const again = tryAgain(error, () => useModel(choice));
      showAlert(`${choice.name} could not be loaded`, error, again);
    }
    return false;
  }
}

/**
 * Opens files that were dropped or picked: a model, whole or in parts, a picture reader for a model,
 * or both. Says which files were left, because the page opens one model at a time.
 */
export async function useFiles(files: readonly File[]): Promise<void> {
  const { models, readers } = await sortFiles(files);
  const [model, ...otherModels] = models;
  const [reader, ...otherReaders] = readers;
  const before = opened.value?.choice;
  if (model) {
    const source = model.length === 1 ? model[0] : model;
    await useModel({ name: modelName(model[0]), source, reader });
  } else if (reader && before) await useModel({ ...before, reader });
  else if (reader) {
    const why = new Error('it reads pictures for a model: open the model first, or both together');
    showAlert(`${reader.name} could not be loaded`, why);
  }
  const left = [...otherModels.map(([file]) => file), ...otherReaders].map(({ name }) => name);
  if (left.length > 0) {
    addNotice(`Not opened: ${left.join(', ')}. This page opens one model at a time.`);
  }
}

/** Applies settings that take effect only when a model is loaded. */
export async function reloadModel(): Promise<void> {
  if (opened.value) await useModel(opened.value.choice);
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
