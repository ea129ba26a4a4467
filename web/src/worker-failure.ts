// Explains why a worker does not start. Browsers say little about that, and nothing about a script
// that cannot be loaded: to find out more, the script is requested again.
import { messageOf } from './errors.ts';

/** The script that a worker should run. */
export interface WorkerScript {
  /** Undefined if only the page or its bundler knows the address. */
  address: string | undefined;
  /** Whether a blob of the page imports the script. */
  isImported: boolean;
}

const recipes = 'see "Bundlers" and "Other origins" in docs/guide.md of the package';
const adviceOnPolicy = `A Content-Security-Policy must allow it (worker-src); ${recipes}`;
const adviceOnPath =
  "Where a bundler leaves the worker out, copy the package's folder dist beside the page, and pass " +
  `workerUrl: 'FOLDER/worker/worker.js'; ${recipes}`;
const adviceOnVite =
  'Vite has bundled the package in advance, without its worker: its configuration needs ' +
  "optimizeDeps: { exclude: ['kinglet'] }";

/** Returns the message for a worker that could not be made. */
export function whyForbidden(script: WorkerScript, reason: string): string {
  const advice = adviceOnOrigin(script) ?? adviceOnPolicy;
  return `${notStarted(script)}: ${reason.replace(/[.\s]*$/, '')}. ${advice}`;
}

/** Returns the message for a script that could not be loaded, or did not run. */
export async function whyNoScript(script: WorkerScript): Promise<string> {
  const { found, advice } =
    script.address === undefined
      ? { found: 'it was not loaded, or did not run', advice: adviceOnPolicy }
      : await fetchAgain(script.address);
  return `${notStarted(script)}: ${found}. ${adviceOnOrigin(script) ?? advice}`;
}

function notStarted({ address }: WorkerScript): string {
  return `the worker could not be started${address === undefined ? '' : ` from ${address}`}`;
}

/** Requests the address again, and describes the answer. */
async function fetchAgain(address: string): Promise<{ found: string; advice: string }> {
  const advice = address.includes('/deps/worker/worker.js') ? adviceOnVite : adviceOnPath;
  try {
    const response = await fetch(address);
    void response.body?.cancel();
    const { status, statusText, headers } = response;
    if (!response.ok) {
      return { found: `the server answered ${String(status)} (${statusText})`, advice };
    }
    const type = headers.get('Content-Type') ?? 'no type';
    if (!/javascript|ecmascript/.test(type)) {
      return { found: `the server answered ${type}, not a script`, advice };
    }
  } catch (error) {
    return {
      found: `the server did not answer, or does not allow this page to read the file (${messageOf(error)})`,
      advice,
    };
  }
  const found = 'it exists, but is forbidden, or a module that it imports is missing';
  return {
    found,
    advice: globalThis.crossOriginIsolated
      ? `It needs the header Cross-Origin-Embedder-Policy, as this page has it. ${adviceOnPolicy}`
      : adviceOnPolicy,
  };
}

/** Returns undefined if a worker may be started from the script's address. */
function adviceOnOrigin({ address, isImported }: WorkerScript): string | undefined {
  if (isImported) return undefined;
  if (globalThis.origin === 'null') {
    return (
      'A page without an origin, such as a sandboxed frame, cannot start a worker from an address: ' +
      'set allow-same-origin, or blobWorker: true and a server that allows any origin (CORS)'
    );
  }
  if (address === undefined || new URL(address).origin === globalThis.origin) return undefined;
  return (
    `Browsers do not start workers from an origin other than the page's (${globalThis.origin}): serve ` +
    'the package from there, or pass blobWorker: true'
  );
}
