#!/usr/bin/env node
// npx kinglet new FOLDER: begins a page, as a copy of one of the examples that come with the package.
// npx kinglet prepare: see prepare.mjs.
import {
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('..', import.meta.url));
const { version } = readJson(join(here, 'package.json'));

const hub = 'https://huggingface.co';
const chatModel = `${hub}/HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/resolve/main/smollm2-360m-instruct-q8_0.gguf`;
const toolModel = `${hub}/LiquidAI/LFM2.5-350M-GGUF/resolve/main/LFM2.5-350M-Q4_K_M.gguf`;
const embedder = `${hub}/nomic-ai/nomic-embed-text-v1.5-GGUF/resolve/main/nomic-embed-text-v1.5.Q8_0.gguf`;

/** The examples that can be copied, and small models that suit them, by the names in the example. */
const templates = {
  chat: {
    about: 'a chat that streams, stops and keeps its conversation',
    models: { 'model.gguf': chatModel },
  },
  react: {
    about: 'a chat in React, built by Vite',
    models: { 'public/model.gguf': chatModel },
  },
  element: {
    about: 'the element <kinglet-chat>, in one HTML file',
    models: { 'model.gguf': chatModel },
  },
  rag: {
    about: 'a chat that answers questions about dropped text files',
    models: { 'model.gguf': chatModel, 'embedder.gguf': embedder },
  },
  tools: {
    about: 'a model that calls functions of the page',
    models: { 'model.gguf': toolModel },
  },
  offline: {
    about: 'a chat that works without a network after one visit',
    models: { 'model.gguf': chatModel },
  },
  extension: {
    about: 'a browser extension that answers questions about the open page',
    // It downloads its model itself.
    steps: [
      'Chrome, Edge  chrome://extensions, Developer mode, Load unpacked',
      'Firefox       about:debugging#/runtime/this-firefox, Load Temporary Add-on',
    ],
  },
};
const listed = Object.entries(templates)
  .map(([name, { about }]) => `  ${name.padEnd(10)}${about}`)
  .join('\n');

/** What the program can do, which has the same name and is no part of the package. */
const programCommands =
  'chat generate serve pull list rm inspect quantize embed rerank perplexity logprobs prompt tokenize detokenize';

const options = {
  template: { type: 'string', short: 't' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
};
const help = `Usage: kinglet new FOLDER [--template NAME]
       kinglet prepare -m MODEL -o NAME.kprompt [options]

new copies a page to start from into a new or empty folder. prepare stores the state after a
conversation's beginning: see kinglet prepare --help.

Options:
  -t, --template NAME  which page (default: chat)
  -h, --help           print this
  --version            print the version

Templates:
${listed}

The program that runs models without a browser is built from source: docs/program.md.`;

const given = process.argv.slice(2);
if (given[0] === 'prepare') {
  const { prepare } = await import('./prepare.mjs');
  await prepare(given.slice(1)).catch(({ message }) => refuse(message));
} else {
  main(given);
}

function main(given) {
  // Not strict, because its errors suggest nothing.
  const { values, positionals, tokens } = parseArgs({
    ...{ args: given, options, allowPositionals: true, strict: false, tokens: true },
  });
  const [command, folder, ...others] = positionals;
  if (programCommands.split(' ').includes(command)) {
    refuse(
      `${command} is a command of the program, which is built from a clone of the repository: ` +
        'docs/program.md. This package is for web pages: kinglet new FOLDER makes one',
    );
  }
  for (const { kind, name, rawName } of tokens) {
    if (kind !== 'option' || Object.hasOwn(options, name)) continue;
    const spellings = Object.keys(options).map((option) => `--${option}`);
    refuse(
      `kinglet has no option "${rawName}"; ${didYouMean(rawName, spellings, 'kinglet --help lists them')}`,
    );
  }
  if (values.version) return void console.log(`kinglet ${version}`);
  if (values.help || given.length === 0) return void console.log(help);
  if (command !== 'new') {
    const meant = didYouMean(command ?? '', ['prepare'], 'kinglet new FOLDER makes a page');
    refuse(`kinglet has no command "${command ?? ''}"; ${meant}`);
  }
  if (folder === undefined) refuse('a folder is missing: kinglet new FOLDER');
  if (others.length > 0) refuse(`expected one folder, found "${others[0]}" after it`);
  const { template = 'chat' } = values;
  if (typeof template !== 'string') refuse('a name is missing: --template NAME');
  if (!Object.hasOwn(templates, template)) {
    const names = Object.keys(templates);
    const meant = didYouMean(template, names, 'these are the templates:');
    refuse(`unknown template "${template}"; ${meant}\n${listed}`);
  }
  try {
    makePage(resolve(folder), template);
  } catch (error) {
    refuse(`the page cannot be written: ${error.message}`);
  }
}

function makePage(target, template) {
  if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() && !existsSync(target)) {
    refuse(`${target} is a link to a folder that does not exist: name another folder`);
  }
  if (existsSync(target)) {
    let names;
    try {
      names = readdirSync(target);
    } catch (error) {
      refuse(`${target} cannot be used as a folder: ${error.message}`);
    }
    if (names.length > 0) refuse(`${target} is not empty: name another folder`);
  }
  copyPage(existsSync(target) ? realpathSync(target) : target, template);
}

function copyPage(target, template) {
  const examples = join(here, 'examples');
  cpSync(join(examples, template), target, { recursive: true });
  cpSync(join(examples, 'style.css'), join(target, 'style.css'));
  const manifestPath = join(target, 'package.json');
  const isBuilt = existsSync(manifestPath);
  if (isBuilt) {
    const manifest = readJson(manifestPath);
    manifest.name = nameOf(target);
    manifest.dependencies.kinglet = `^${version}`;
    writeFileSync(manifestPath, `${JSON.stringify(manifest, undefined, 2)}\n`);
  } else {
    // Without a build, the page loads the package from the folder next to it.
    cpSync(join(here, 'dist'), join(target, 'kinglet'), { recursive: true });
  }
  // The page begins with this script, unless it has a service worker or an extension's manifest.
  if (!['service-worker.js', 'manifest.json'].some((name) => existsSync(join(target, name)))) {
    cpSync(join(here, 'dist/isolate.js'), join(target, isBuilt ? 'public' : '', 'isolate.js'));
  }
  tell(target, template, isBuilt);
}

/** Prints what to do next. */
function tell(target, template, isBuilt) {
  const way = (relative('.', target) || '.').replace(/^-/, './-'); // else an option of cd
  const { about, models, steps } = templates[template];
  if (steps) {
    const lines = [`${way} has ${about}. To load it:`, '', ...steps.map((step) => `  ${step}`)];
    return void console.log(lines.join('\n'));
  }
  const downloads = Object.entries(models).map(
    ([name, address]) => `  curl -L --create-dirs -o ${name} ${address}`,
  );
  const start = isBuilt ? ['  npm install', '  npm run dev'] : ['  npx http-server -c-1'];
  console.log(
    [
      `${way} has ${about}. It needs a model, for example:`,
      ...['', ...(way === '.' ? [] : [`  cd ${/\s/.test(way) ? JSON.stringify(way) : way}`])],
      ...downloads,
      ...start,
      ...['', 'Other models: docs/models.md in the package'],
      ...(isBuilt
        ? [`Until kinglet is published: npm install PATH/kinglet-${version}.tgz (see README.md)`]
        : []),
    ].join('\n'),
  );
}

/** Returns a name that npm allows. */
function nameOf(target) {
  const name = basename(target)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name || 'my-page';
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Returns a question whether another name was meant; without one, where the names are. */
function didYouMean(word, known, lists) {
  const meant = meantBy(word, known);
  return meant === undefined ? lists : `did you mean ${meant}?`;
}

/**
 * Returns the known name, of at least four letters, that differs in one letter that was added, left
 * out, replaced or swapped with its neighbour, or in two if both names are longer than five: the rule
 * of the program (src/base/misspelling.cpp).
 */
function meantBy(word, known) {
  let meant;
  let least = 3;
  for (const candidate of known) {
    if (candidate.length < 4) continue;
    const n = editDistance(word.toLowerCase(), candidate);
    if (n >= least || n > (Math.min(candidate.length, word.length) > 5 ? 2 : 1)) continue;
    least = n;
    meant = candidate;
  }
  return meant;
}

/** Returns how many letters were added, left out, replaced or swapped. */
function editDistance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, rows[i - 1][j] + 1, row[j - 1] + 1);
      const areSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (areSwapped) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}

function refuse(reason) {
  console.error(`kinglet: ${reason}`);
  process.exit(1);
}
