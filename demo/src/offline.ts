import { opened } from './workspace.ts';

/**
 * Makes the service worker store the page for visits without a network. Called when the page has
 * nothing more urgent to download.
 */
export async function keepForOffline(): Promise<void> {
  // Not in development, where the list of files does not exist.
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  try {
    await navigator.serviceWorker.register('./service-worker.js');
    const { active } = await navigator.serviceWorker.ready;
    opened.subscribe((model) => {
      if (!model) return;
      const { images, runtime } = model.kinglet.info;
      active?.postMessage({ variant: runtime.variant, isSeeing: images !== undefined });
    });
  } catch {
    // The browser may refuse it, as in private windows. Then the page needs a network.
  }
}
