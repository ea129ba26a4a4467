// What the panel's parts do with the texts and the model that embeds them, and the last error.
import { isText, readText } from 'kinglet/search';
import { Observable } from '../ui/observable.ts';
import type { Message } from '../ui/closable.ts';
import { errorText, tryAgain } from '../ui/format.ts';
import type { ModelChoice } from '../workspace.ts';
import { library } from './library.ts';
import { loadSearchModel, rememberedChoice, searchModel } from './search-model.ts';
import type { OpenSearchModel } from './search-model.ts';

/** What went wrong last; undefined if nothing did. */
export const trouble = new Observable<Message | undefined>(undefined);

/** Replaces the embedding model, and embeds the texts that the new model has not embedded yet. */
export async function chooseModel(choice: ModelChoice): Promise<void> {
  trouble.value = undefined;
  try {
    const model = await loadSearchModel(choice);
    if (!model) return;
    rememberedChoice.remember(choice);
    await replaceModel(model);
  } catch (error) {
    const text = `${choice.name} could not be loaded: ${errorText(error)}.`;
    trouble.value = { text, action: tryAgain(error, () => chooseModel(choice)) };
    return;
  }
  await embedTexts();
}

/** Loads the model of the last visit, if there was one. */
export async function chooseRemembered(): Promise<void> {
  const { name, source } = rememberedChoice.value ?? {};
  if (name && source && !searchModel.value) await chooseModel({ name, source });
}

/** Unloads the model, and forgets the choice. The texts and their vectors are kept. */
export async function dropModel(): Promise<void> {
  rememberedChoice.forget();
  await replaceModel(undefined);
}

async function replaceModel(model: OpenSearchModel | undefined): Promise<void> {
  const before = searchModel.value;
  searchModel.value = model;
  await library.use(model?.index);
  before?.kinglet.dispose();
}

export async function embedTexts(): Promise<void> {
  try {
    await library.embed();
  } catch (error) {
    trouble.value = { text: `The texts could not be embedded: ${errorText(error)}.` };
  }
}

/** Adds the files that are texts, and embeds them if a model is loaded. */
export async function addFiles(files: readonly File[]): Promise<void> {
  trouble.value = undefined;
  const wrong: string[] = [];
  for (const file of files) {
    try {
      if (!(await isText(file))) throw new Error('the file does not contain text');
      await library.add(file.name, (await readText(file)).text);
    } catch (error) {
      wrong.push(`${file.name} could not be added: ${errorText(error)}.`);
    }
  }
  await embedTexts();
  if (wrong.length > 0) trouble.value = { text: wrong.join(' ') };
}

/** Adds a text. Its first words become its name. */
export async function addPasted(text: string): Promise<void> {
  const words = text.trim().replace(/\s+/g, ' ').slice(0, 40).trim();
  const title = words === text.trim() ? words : `${words} …`;
  let name = title;
  const isTaken = () => library.texts.some(({ id }) => id === name);
  for (let n = 2; isTaken(); ++n) name = `${title} (${String(n)})`;
  await addFiles([new File([text], name)]);
}

/** Deletes the database in which earlier versions of this page kept texts: nothing reads it now. */
export function deleteOldTexts(): void {
  try {
    indexedDB.deleteDatabase('kinglet search');
  } catch {
    // The browser refuses storage, so there is none.
  }
}
