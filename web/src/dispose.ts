/// <reference lib="esnext.disposable" preserve="true" />
// What `using` and `await using` call. Browsers that do not know them yet lack the symbols as well:
// there, those that compilers take.

const known: { dispose?: symbol; asyncDispose?: symbol } = Symbol;

export const dispose: typeof Symbol.dispose = (known.dispose ??
  Symbol.for('Symbol.dispose')) as typeof Symbol.dispose;

export const asyncDispose: typeof Symbol.asyncDispose = (known.asyncDispose ??
  Symbol.for('Symbol.asyncDispose')) as typeof Symbol.asyncDispose;
