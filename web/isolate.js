// Makes a page cross-origin isolated where the host sets no headers, so that threads work. Copy this
// file next to the page and begin the page with <script src="isolate.js"></script>. It registers
// itself as a service worker, which adds the headers, and reloads the page once. A page that has a
// service worker of its own names it, <script src="isolate.js" data-worker="service-worker.js">; that
// worker imports this file after its own listeners, and gives what it answers to isolated(). With
// data-embedder="credentialless", a page may show pictures of other sites; Safari then has no threads.
if (typeof document === 'undefined') {
  addEventListener('install', () => skipWaiting());
  addEventListener('activate', (event) => event.waitUntil(clients.claim()));

  // Pages and workers need the headers, but not what they fetch: models do not pass through here.
  addEventListener('fetch', (event) => {
    const { destination, url } = event.request;
    const isOwn = new URL(url).origin === location.origin;
    if (isOwn && ['document', 'iframe', 'worker', 'sharedworker'].includes(destination)) {
      event.respondWith(fetch(event.request).then(isolated));
    }
  });
} else if (!crossOriginIsolated && isSecureContext && 'serviceWorker' in navigator) {
  const { serviceWorker } = navigator;
  const { src, dataset } = document.currentScript;
  const reload = () => {
    // Once only: the browser may not isolate the page all the same.
    const key = 'kinglet isolate';
    if (sessionStorage.getItem(key) !== null) return;
    sessionStorage.setItem(key, '');
    location.reload();
  };
  serviceWorker.addEventListener('controllerchange', reload);
  // A hard reload (Shift) passes by a service worker that is there already.
  serviceWorker
    .register((dataset.worker ?? src) + (dataset.embedder ? `?embedder=${dataset.embedder}` : ''))
    .then(({ active }) => active && reload())
    .catch((error) => console.warn('This page runs without threads:', error));
} else if (crossOriginIsolated) {
  sessionStorage.removeItem('kinglet isolate');
}

function isolated(response) {
  // A redirect is followed by the browser, which then asks for the page it leads to.
  if (response.type === 'opaqueredirect' || response.status === 0) return response;
  // A worker whose file was redirected imports relative to the address to which it was, and a new
  // response has none.
  if (response.redirected) return Response.redirect(response.url);
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  const embedder = 'Cross-Origin-Embedder-Policy';
  const wanted = new URL(location.href).searchParams.get('embedder') ?? 'require-corp';
  if (!headers.get(embedder)?.startsWith('credentialless')) headers.set(embedder, wanted);
  const hasNoBody = [101, 204, 205, 304].includes(status);
  return new Response(hasNoBody ? null : response.body, { status, statusText, headers });
}
