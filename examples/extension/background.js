// Opens the panel, and gives the model a place to stay. In Chrome the background is a service worker,
// which ends after 30 idle seconds and has no threads: the model is in an offscreen document, which
// stays. In Firefox the background is a document itself.
import { api } from './api.js';

// A click also gives the permission to read the page.
api.action.onClicked.addListener(({ windowId }) => {
  if (api.sidePanel) void api.sidePanel.open({ windowId });
  else void api.sidebarAction.open();
});

let opening;
api.runtime.onMessage.addListener((message, sender, answer) => {
  if (message !== 'open the model') return false;
  opening ??= openModel().finally(() => (opening = undefined));
  opening.then(
    () => answer({}),
    (error) => answer({ error: error.message }),
  );
  return true; // the answer comes later
});

// A service worker may not import code later, a document may.
async function openModel() {
  if (!api.offscreen) return void (await import('./model.js'));
  if (await api.offscreen.hasDocument()) return;
  await api.offscreen.createDocument({
    url: 'model.html',
    reasons: ['WORKERS'],
    justification: 'A language model runs in the workers of this document.',
  });
}
