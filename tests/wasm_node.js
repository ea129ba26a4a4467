/* global ENV */
// Old Emscriptens fetch their wasm wherever there is a fetch; Node's cannot read files.
globalThis.fetch = undefined;
// Emscripten's program, which this stands in front of, takes its settings from here: GoogleTest
// learns from the environment which share of the tests is its own.
// eslint-disable-next-line no-unused-vars
var Module = { preRun: [() => Object.assign(ENV, process.env)] };
