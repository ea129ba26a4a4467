// Runs tell() in a place, ?place=NAME, and shows the result; or lets a test call probe().
import { probe } from './probe.js';
import { tell } from './tell.js';

const { search } = location;

/** Posts a message with a port and returns the answer. */
function ask(post) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data);
    post(search, [port2]);
  });
}

async function askService(script) {
  await navigator.serviceWorker.register(script, { type: 'module' });
  const { active } = await navigator.serviceWorker.ready;
  return ask((data, ports) => active.postMessage(data, ports));
}

const places = {
  page: () => tell(search),
  probe: () => probe(JSON.parse(new URLSearchParams(search).get('load'))),
  test: () => Object.assign(globalThis, { probe }) && {},
  factory: () =>
    tell(search, {
      worker: () => new Worker('kinglet/worker/worker.js', { type: 'module', name: 'kinglet' }),
    }),
  'broken factory': () =>
    tell(search, {
      worker: () => {
        throw new Error('no such thing');
      },
    }),
  'wrong factories': async () => {
    const worker = new Worker('kinglet/worker/worker.js', { type: 'module' });
    const wrong = [() => null, () => ({}), async () => worker, () => worker, () => worker];
    const told = [];
    for (const make of wrong) told.push((await tell(search, { worker: make })).message ?? null);
    return told;
  },
  'trusted types': () => {
    const policy = globalThis.trustedTypes.createPolicy('kinglet', {
      createScriptURL: (url) => url,
    });
    const script = policy.createScriptURL('kinglet/worker/worker.js');
    return tell(search, { worker: () => new Worker(script, { type: 'module', name: 'kinglet' }) });
  },
  dedicated: () => {
    const worker = new Worker('in-worker.js', { type: 'module' });
    return ask((data, ports) => worker.postMessage(data, ports));
  },
  shared: () => {
    const { port } = new SharedWorker('in-worker.js', { type: 'module' });
    return ask((data, ports) => port.postMessage(data, ports));
  },
  service: () => askService('in-service-worker.js'),
  'service without the engine': () => askService('in-worker.js'),
  'sandboxed frame': () =>
    new Promise((resolve) => {
      addEventListener('message', ({ data }) => resolve(data));
      const frame = document.createElement('iframe');
      frame.sandbox = 'allow-scripts';
      const query = new URLSearchParams(search);
      query.set('place', 'page');
      frame.src = `index.html?${query}`;
      document.body.append(frame);
    }),
};

const told = await places[new URLSearchParams(search).get('place') ?? 'page']();
document.querySelector('output').textContent = JSON.stringify(told);
if (parent !== window) parent.postMessage(told, '*');
new globalThis.BroadcastChannel('places').postMessage({ address: location.href, told });
