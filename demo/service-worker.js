// Keeps the page for visits without a network: itself at once, of the engine the build that runs, and
// what reads pictures when a model does.
// The build puts the list of its files in place of FILES; their names change with their content.
const files = FILES;

const isEngine = (file) => /kinglet-(vision-)?(simd128|relaxed-simd)/.test(file);
const addressOf = (file) => new URL(file, self.registration.scope).href;
const cacheName = 'kinglet page';

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(keep(['./', ...files.filter((file) => !isEngine(file))]));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(forgetOld().then(() => self.clients.claim()));
});

// The page tells which build of the engine it runs, and whether the model reads pictures.
self.addEventListener('message', ({ data: { variant, isSeeing } }) => {
  const vision = isSeeing ? '(vision-)?' : '';
  const engine = new RegExp(`kinglet-${vision}${variant}-[\\w-]{8}\\.(js|wasm)$`);
  void keep(files.filter((file) => engine.test(file)));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET') return;
  if (request.mode === 'navigate') event.respondWith(newestPage(request));
  else if (files.some((file) => addressOf(file) === request.url)) {
    event.respondWith(kept(request));
  }
});

/** From the network where there is one, so that a new version is seen at the next visit. */
async function newestPage(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match(addressOf('./'))) ?? Response.error();
  }
}

async function kept(request) {
  return (await caches.match(request.url)) ?? fetch(request);
}

async function keep(wanted) {
  const cache = await caches.open(cacheName);
  for (const address of wanted.map(addressOf)) {
    // The page itself has the same address in every version.
    if (address === addressOf('./') || !(await cache.match(address))) await cache.add(address);
  }
}

async function forgetOld() {
  const current = new Set(['./', ...files].map(addressOf));
  const cache = await caches.open(cacheName);
  for (const request of await cache.keys()) {
    if (!current.has(request.url)) await cache.delete(request);
  }
}
