// A page that needs the network once. Its service worker keeps the page and the package's files; the
// package keeps the model, and the state after long beginnings of conversations.
await keepOffline();
// Only now, so that the service worker sees all the files that are fetched.
await import('./kinglet/element/index.js');
const element = document.createElement('kinglet-chat');
element.chat.setup = { load: { keepPrompts: { maxBytes: 200_000_000 } } };
element.setAttribute('model', 'model.gguf');
document.body.append(element);

/** Resolves when a service worker serves the page, or when there cannot be one. */
async function keepOffline() {
  const { serviceWorker, storage } = navigator;
  if (!serviceWorker) return; // the page is neither on https: nor on localhost
  void storage.persist(); // the browser then does not delete the model when it needs space
  try {
    const { active } = await serviceWorker.register('service-worker.js');
    // At the first visit the worker takes the page over as soon as it is active. If it is active
    // already, and the page not in its hands, the user has asked for a fresh page.
    if (serviceWorker.controller || active) return;
    await new Promise((resolve) => {
      serviceWorker.addEventListener('controllerchange', resolve, { once: true });
    });
  } catch (error) {
    console.warn('The page needs the network each time:', error);
  }
}
