import { isText } from 'kinglet/search';
import { rememberedModel, useFiles, useModel } from './actions.ts';
import { clearAlert } from './alert.ts';
import { cameraPanel } from './camera/camera-panel.ts';
import { comparePanel } from './compare/compare-panel.ts';
import { showHeader } from './header.ts';
import { inspectPanel } from './inspect/inspect-panel.ts';
import { keepForOffline } from './offline.ts';
import { modelsPanel } from './panels/models.ts';
import { openPanel, showPanels } from './panels/panels.ts';
import { settingsPanel } from './panels/settings-panel.ts';
import { showAddMenu } from './pictures/add-menu.ts';
import { addPictures } from './pictures/draft.ts';
import { showDraft } from './pictures/draft-view.ts';
import { isPicture } from './pictures/picture.ts';
import { followPlace, lastPlaceWasServer, useServer } from './server/place.ts';
import { showPlaceSwitch } from './server/place-switch.ts';
import { isFromServer } from './server/server.ts';
import { showComposer } from './talk/composer.ts';
import { showContextMeter } from './talk/context-meter.ts';
import { addFiles, deleteOldTexts } from './search/desk.ts';
import { searchPanel } from './search/search-panel.ts';
import { exchanges, sendSample } from './talk/conversation.ts';
import { openConversations } from './talk/conversation-list.ts';
import { historyPanel } from './talk/history-panel.ts';
import { offerAgain } from './talk/offer.ts';
import { showTranscript } from './talk/transcript.ts';
import { acceptDrops } from './ui/drop.ts';
import { embedded } from './workspace.ts';

followPlace();
showHeader();
showComposer();
showAddMenu();
showDraft();
showContextMeter();
showTranscript();
showPanels({
  ...{ models: modelsPanel, history: historyPanel, search: searchPanel },
  ...{ inspect: inspectPanel, compare: comparePanel, settings: settingsPanel, camera: cameraPanel },
});
acceptDrops((files) => void useDropped(files));
deleteOldTexts();

const restoring = openConversations();
const isServed = isFromServer().then((isSo) => {
  if (isSo) showPlaceSwitch(beginInPage);
  return isSo;
});
if (lastPlaceWasServer() && (await isServed) && (await useServer())) await restoring;
else await beginInPage();
await keepForOffline();

/** Shows what the page begins with if no model has been open in it yet. */
async function beginInPage(): Promise<void> {
  const last = rememberedModel.value;
  if (last) {
    // A model that the visitor chose may be large, so the page asks before it loads it.
    await restoring;
    await offerAgain(last);
  } else if (await useModel(embedded)) {
    clearAlert();
    await restoring;
    // Shows a new visitor at once what the page does.
    if (exchanges.value.length === 0) await sendSample('Once upon a time');
  }
}

/** Opens what was dropped. What is neither a picture nor a text, the engine names in its refusal. */
async function useDropped(files: readonly File[]): Promise<void> {
  const pictures = files.filter(isPicture);
  const texts: File[] = [];
  const others: File[] = [];
  for (const file of files.filter((each) => !isPicture(each))) {
    const isForSearch = !isNamedAsModel(file) && (await isText(file));
    (isForSearch ? texts : others).push(file);
  }
  void useFiles(others);
  void addPictures(pictures);
  if (texts.length === 0) return;
  openPanel('search');
  void addFiles(texts);
}

/** Some files of models are texts, such as pointers of Git LFS, but nobody searches in them. */
function isNamedAsModel({ name }: File): boolean {
  return /\.(gguf|ggml|safetensors|bin|pth?|ckpt|onnx|tflite|h5)$/i.test(name);
}
