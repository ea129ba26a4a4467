import { opened } from './workspace.ts';

/**
 * Has the service worker keep the page for visits without a network. Called when the page has
 * nothing more urgent to download.
 */
export async function keepForOffline(): Promise<void> {
  // Not in development, where there is no list of files.
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
    // Denied, as in private windows: the page works as long as there is a network.
  }
}
