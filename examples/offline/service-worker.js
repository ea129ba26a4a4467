// Keeps what the page has fetched from its own folder. From the network where there is one, so that a
// new version is seen at once; else as it was the last time. Models are not among it: the package has
// its own cache for them.
const cacheName = 'kinglet offline';

addEventListener('install', (event) => {
  const page = ['./', 'style.css', 'main.js', 'kinglet/isolate.js'];
  event.waitUntil(Promise.all(page.map(async (path) => keep(path, await fetch(path)))));
});

addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const isOwn = url.startsWith(registration.scope) && !new URL(url).pathname.endsWith('.gguf');
  if (isOwn && method === 'GET') event.respondWith(answer(event).then(isolated));
});

// The listener above comes first, so it answers. From here are isolated(), which adds the headers for
// threads, and what lets this worker begin at once.
importScripts('kinglet/isolate.js');

async function answer(event) {
  const { request } = event;
  try {
    const response = await fetch(request);
    event.waitUntil(keep(request, response.clone())); // the page does not wait for this
    return response;
  } catch (error) {
    const kept = await caches.match(request, { cacheName, ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

// Not parts of files (206), nor errors. What cannot be kept is not kept: storage may be full, and a
// response with `Vary: *` is refused.
async function keep(request, response) {
  if (response.status !== 200) return;
  try {
    const cache = await caches.open(cacheName);
    await cache.put(request, response);
  } catch (error) {
    console.warn(`${response.url} is not kept for visits without a network:`, error);
  }
}
