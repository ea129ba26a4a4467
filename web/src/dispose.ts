/// <reference lib="esnext.disposable" preserve="true" />
// The names of the methods that `using` and `await using` call. Browsers that lack these symbols
// get those that compilers use instead.

const known: { dispose?: symbol; asyncDispose?: symbol } = Symbol;

export const dispose: typeof Symbol.dispose = (known.dispose ??
  Symbol.for('Symbol.dispose')) as typeof Symbol.dispose;

export const asyncDispose: typeof Symbol.asyncDispose = (known.asyncDispose ??
  Symbol.for('Symbol.asyncDispose')) as typeof Symbol.asyncDispose;
