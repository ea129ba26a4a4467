/* global ENV */
// Old versions of Emscripten load their wasm with fetch() if it exists; Node's cannot read files.
globalThis.fetch = undefined;
// This file precedes Emscripten's program, which takes its settings from `Module`: GoogleTest reads
// from the environment which shard of the tests to run.
// eslint-disable-next-line no-unused-vars
var Module = { preRun: [() => Object.assign(ENV, process.env)] };
