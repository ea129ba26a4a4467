import { clearAlert, useModel } from './actions.ts';
import { comparePanel } from './compare/compare-panel.ts';
import { showHeader } from './header.ts';
import { lookPanel } from './look/look-panel.ts';
import { keepForOffline } from './offline.ts';
import { modelsPanel } from './panels/models.ts';
import { showPanels } from './panels/panels.ts';
import { settingsPanel } from './panels/settings-panel.ts';
import { showComposer } from './talk/composer.ts';
import { send } from './talk/conversation.ts';
import { showTranscript } from './talk/transcript.ts';
import { acceptDrops } from './ui/drop.ts';
import { embedded } from './workspace.ts';

showHeader();
showComposer();
showTranscript();
showPanels({ models: modelsPanel, look: lookPanel, compare: comparePanel, settings: settingsPanel });
acceptDrops((file) => void useModel({ name: file.name, source: file }));

// A visitor sees at once what the page does.
if (await useModel(embedded)) {
  clearAlert();
  await send('write', 'Once upon a time');
}
await keepForOffline();
