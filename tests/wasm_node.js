// Old Emscriptens fetch their wasm wherever there is a fetch; Node's cannot read files.
globalThis.fetch = undefined;
