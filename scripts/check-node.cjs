// Ends the program with a message if this Node.js is too old for the build, whose tools need a newer
// one than the package does: see devEngines in package.json. Every old Node.js can read this file.
// `npm start` and `npm test` load it before all else, scripts/setup runs it, and scripts/tools.mjs
// imports it.
'use strict';

const path = require('path');

const { version: range } = require('../package.json').devEngines.runtime;
const alternatives = range.split('||').map(function (text) {
  const [, sign, numbers] = /^\s*(\^|>=)([\d.]+)\s*$/.exec(text);
  return { isOneMajor: sign === '^', lowest: numbers.split('.').map(Number) };
});
const found = process.versions.node.split('.').map(Number);

const fits = alternatives.some(function ({ isOneMajor, lowest }) {
  return isAtLeast(found, lowest) && (!isOneMajor || found[0] === lowest[0]);
});
if (!fits) {
  const needed = alternatives.map(({ lowest }) => `${lowest.slice(0, 2).join('.')}+`).join(' or ');
  console.error(
    `Needed: Node.js ${needed}. Found: ${process.version} (${process.execPath}).\n` +
      `Put a newer one on PATH, before ${path.dirname(process.execPath)}.`,
  );
  process.exit(1);
}

function isAtLeast(version, lowest) {
  for (let i = 0; i < 3; ++i) {
    if (version[i] !== lowest[i]) return version[i] > lowest[i];
  }
  return true;
}
