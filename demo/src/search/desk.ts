// What the parts of the panel share: the library of texts, the model that embeds them, and the last
// error.
import { Observable } from '../ui/observable.ts';
import type { Message } from '../ui/closable.ts';
import { errorText, tryAgain } from '../ui/format.ts';
import type { ModelChoice } from '../workspace.ts';
import { Library } from './library.ts';
import { readText } from './read-text.ts';
import { loadSearchModel, rememberedChoice, searchModel } from './search-model.ts';
import type { OpenSearchModel } from './search-model.ts';
import { openStore } from './store.ts';

/** What went wrong last; undefined if nothing did. */
export const trouble = new Observable<Message | undefined>(undefined);

let opening: Promise<Library> | undefined;

/** Returns the page's only library. The first call reads it from storage. */
export function openLibrary(): Promise<Library> {
  return (opening ??= openStore().then((store) => Library.open(store)));
}

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

/** Unloads the model, and forgets the choice. The model's vectors are kept. */
export async function dropModel(): Promise<void> {
  rememberedChoice.forget();
  await replaceModel(undefined);
}

async function replaceModel(model: OpenSearchModel | undefined): Promise<void> {
  const library = await openLibrary();
  const before = searchModel.value;
  await library.use(model);
  searchModel.value = model;
  before?.kinglet.dispose();
}

export async function embedTexts(): Promise<void> {
  const library = await openLibrary();
  try {
    await library.embed();
  } catch (error) {
    trouble.value = { text: `The texts could not be embedded: ${errorText(error)}.` };
  }
}

/** Adds the files that are texts, and embeds them if a model is loaded. */
export async function addFiles(files: readonly File[]): Promise<void> {
  trouble.value = undefined;
  const library = await openLibrary();
  const wrong: string[] = [];
  for (const file of files) {
    try {
      await library.add(file.name, await readText(file));
    } catch (error) {
      wrong.push(`${file.name} could not be added: ${errorText(error)}.`);
    }
  }
  await embedTexts();
  if (wrong.length > 0) trouble.value = { text: wrong.join(' ') };
}

/** Adds a text. Its first words become its name. */
export async function addPasted(text: string): Promise<void> {
  const title = text.trim().replace(/\s+/g, ' ').slice(0, 40).trim();
  await addFiles([new File([text], title === text.trim() ? title : `${title} …`)]);
}
