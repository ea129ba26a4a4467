// Finishes a linked module: finish-wasm.mjs LINKED.js OUTPUT_FOLDER [--names].
// Optimizes the wasm. Makes the glue pass texts unchanged, and makes the glue of old Emscriptens run
// as an ES module in Node and in module workers, including threads. With --names (for profiles),
// functions keep their names.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { optimizeWasm } from './wasm-opt.mjs';

// All Emscriptens make decoders with default options, which drop a U+FEFF at the beginning as a
// byte order mark. In a model's text it is a character. This class hides the global one from the
// glue.
const exactDecoder = `const TextDecoder = class extends globalThis.TextDecoder {
  constructor(encoding) {
    super(encoding, { ignoreBOM: true });
  }
};
`;

const [linked, folder] = process.argv.slice(2);
const withNames = process.argv.includes('--names');
const name = basename(linked, '.js');
mkdirSync(folder, { recursive: true });

optimizeWasm(
  linked.replace(/\.js$/, '.wasm'),
  join(folder, `${name}.wasm`),
  [
    ...['-Os', '--strip-producers', '--strip-target-features'],
    '--low-memory-unused', // Emscripten puts nothing below 1,024
    ...(withNames ? ['-g'] : []),
  ],
  { relaxedSimd: name.includes('relaxed') },
);

const workerScript = linked.replace(/\.js$/, '.worker.js');
const text = readFileSync(linked, 'utf8');
const glue = isOld(text) ? modernize(text) : bundleable(text);
writeFileSync(join(folder, `${name}.js`), exactDecoder + glue);

/** Whether the glue is that of Emscripten 3.1.6, which assumes that Node runs CommonJS. */
function isOld(text) {
  return /\brequire\("fs"\)/.test(text) && !/createRequire/.test(text);
}

/**
 * Gives the glue of Emscripten 3.1.6 what later versions have: Node's modules without require(),
 * and threads that start from the glue itself instead of from a second file in CommonJS. Uses no
 * top-level await: webpack copies the file, and its minimizer takes it for a script.
 */
function modernize(text) {
  const header = `let require;
const isNode = globalThis.process?.versions?.node !== undefined;
const loadRequire = async () => {
  require ??= (await import("node:module")).createRequire(import.meta.url);
};
const __filename = import.meta.url;
const __dirname = '.';
`;
  const main = replaceOnce(
    text,
    /export default createEngine;/,
    `export default async (options) => {
  if (isNode) await loadRequire();
  return createEngine(options);
};`,
  );
  if (!existsSync(workerScript)) return header + main;

  const startWorker = `new Worker(new URL(import.meta.url), {
    type: "module", name: "em-pthread", workerData: "em-pthread" })`;
  let glue = replaceOnce(
    main,
    /new Worker\(new URL\("[^"]*\.worker\.js", ?import\.meta\.url\)\)/,
    startWorker,
  );
  glue = replaceOnce(glue, /new Worker\(pthreadMainJs\)/, startWorker);
  // It waits for its workers, forever if there are none.
  glue = replaceOnce(
    glue,
    /(?<=var numWorkersToLoad ?= ?PThread\.unusedWorkers\.length;)/,
    ' if (numWorkersToLoad === 0) removeRunDependency("wasm-instantiate");',
  );
  const worker = replaceOnce(
    readFileSync(workerScript, 'utf8'),
    /\(e\.data\.urlOrBlob ?\? ?import\(e\.data\.urlOrBlob\) ?: ?import\("[^"]*"\)\)\.then\(\(?function\(exports\) ?\{ ?return exports\.default\(Module\);?\s*\}\)?\)/,
    'createEngine(Module)',
  );
  return `${header}${glue}
const runThread = () => {
${worker}
};
if (!isNode) {
  if (globalThis.name === "em-pthread") runThread();
} else {
  loadRequire().then(() => {
    if (require("worker_threads").workerData === "em-pthread") runThread();
  });
}
`;
}

/**
 * Makes newer glue with threads start them from its own file, whatever name a bundler gave it, and
 * makes it a script, because webpack's minimizer takes it for one: it must not await at its top.
 */
function bundleable(text) {
  if (!text.includes('em-pthread')) return text;
  const glue = replaceOnce(
    text,
    /new Worker\(new URL\("[^"]*\.js", ?import\.meta\.url\), ?/,
    'new Worker(new URL(import.meta.url), ',
  );
  return replaceOnce(
    glue,
    /var isPthread = globalThis\.self\?\.name[^]*$/,
    `(async () => {
  const isNode = globalThis.process?.versions?.node !== undefined;
  const name = isNode ? (await import("node:worker_threads")).workerData : globalThis.name;
  if (String(name).startsWith("em-pthread")) createEngine();
})();
`,
  );
}

function replaceOnce(text, pattern, replacement) {
  const parts = text.split(pattern);
  if (parts.length !== 2) {
    throw new Error(`${name}.js: ${parts.length - 1} places match ${pattern}, expected one`);
  }
  return parts.join(replacement);
}
