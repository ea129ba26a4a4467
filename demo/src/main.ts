import { clearAlert, useModel } from './actions.ts';
import { comparePanel } from './compare/compare-panel.ts';
import { showHeader } from './header.ts';
import { lookPanel } from './look/look-panel.ts';
import { keepForOffline } from './offline.ts';
import { modelsPanel } from './panels/models.ts';
import { openPanel, showPanels } from './panels/panels.ts';
import { settingsPanel } from './panels/settings-panel.ts';
import { showComposer } from './talk/composer.ts';
import { addFiles } from './search/desk.ts';
import { searchPanel } from './search/search-panel.ts';
import { send } from './talk/conversation.ts';
import { showTranscript } from './talk/transcript.ts';
import { acceptDrops } from './ui/drop.ts';
import { embedded } from './workspace.ts';

showHeader();
showComposer();
showTranscript();
showPanels({
  ...{ models: modelsPanel, search: searchPanel, look: lookPanel },
  ...{ compare: comparePanel, settings: settingsPanel },
});
acceptDrops((files) => {
  const [model] = files.filter(isModel);
  if (model) void useModel({ name: model.name, source: model });
  const texts = files.filter((file) => !isModel(file));
  if (texts.length === 0) return;
  openPanel('search');
  void addFiles(texts);
});

// A visitor sees at once what the page does.
if (await useModel(embedded)) {
  clearAlert();
  await send('write', 'Once upon a time');
}
await keepForOffline();

function isModel({ name }: File): boolean {
  return /\.gguf$/i.test(name);
}
