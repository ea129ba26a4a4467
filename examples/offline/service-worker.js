// Keeps what the page has fetched from its own folder. From the network where there is one, so that a
// new version is seen at once; else as it was the last time. Models are not among it: the package has
// its own cache for them.
const cacheName = 'kinglet offline';

addEventListener('install', (event) => {
  const page = ['./', 'style.css', 'main.js', 'kinglet/isolate.js'];
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(page)));
});

addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const isOwn = url.startsWith(registration.scope) && !new URL(url).pathname.endsWith('.gguf');
  if (isOwn && method === 'GET') event.respondWith(answer(event.request).then(isolated));
});

// The listener above comes first, so it answers. From here are isolated(), which adds the headers for
// threads, and what lets this worker begin at once.
importScripts('kinglet/isolate.js');

async function answer(request) {
  const cache = await caches.open(cacheName);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}
