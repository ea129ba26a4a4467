// Starts the module that runs chat templates.
import type { EngineResult } from '#engine';
import type { ChatEngine, LayOutRequest } from './lay-out.ts';
import { compileFile, startError } from './open-engine.ts';
import { chatFile } from './variants.ts';

/** The module's exports: see wasm/chat.cpp. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize?(): void;
  reserve(nBytes: number): number;
  lay_out(
    nSource: number,
    nBos: number,
    nEos: number,
    year: number,
    month: number,
    day: number,
    hour: number,
    minute: number,
    second: number,
  ): number;
  answer(): number;
}

export async function openChatEngine(engineUrl: string | undefined): Promise<ChatEngine> {
  try {
    const module = await compileFile(chatFile(engineUrl));
    const { exports } = await WebAssembly.instantiate(module, importsOf(module));
    const engine = exports as unknown as Exports;
    engine._initialize?.();
    return { layOut: (request) => layOut(engine, request) };
  } catch (error) {
    throw startError(error);
  }
}

/** The module imports what C's library needs to print and to exit, but never calls it. */
function importsOf(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: Record<string, Record<string, () => number>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => 0;
  }
  return imports;
}

function layOut(engine: Exports, request: LayOutRequest): EngineResult<string[]> {
  const encoder = new TextEncoder();
  const { template, bos, eos, variables } = request;
  const parts = [template, bos, eos, variables].map((text) => encoder.encode(text));
  const [source, begin, end] = parts.map(({ length }) => length) as [number, number, number];
  const address = engine.reserve(parts.reduce((sum, { length }) => sum + length, 0));
  let at = address;
  for (const part of parts) {
    new Uint8Array(engine.memory.buffer).set(part, at);
    at += part.length;
  }
  const now = new Date();
  const size = engine.lay_out(
    source,
    begin,
    end,
    now.getFullYear(),
    now.getMonth() + 1,
    now.getDate(),
    now.getHours(),
    now.getMinutes(),
    now.getSeconds(),
  );
  const bytes = new Uint8Array(engine.memory.buffer, engine.answer(), size);
  return JSON.parse(new TextDecoder().decode(bytes)) as EngineResult<string[]>;
}
