// The extension's interface: Firefox calls it browser.
export const api = globalThis.browser ?? globalThis.chrome;
