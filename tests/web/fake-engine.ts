// An engine without wasm: its "model" is a text file whose characters are the tokens it generates.
import type {
  EngineError,
  EngineLoader,
  EngineModel,
  EngineModule,
  EngineResult,
  EngineSession,
} from '#engine';

const codePoint = (character: string) => character.codePointAt(0) ?? 0;

const fail = (code: string, message: string): { error: EngineError } => ({
  error: { code, message },
});

export class FakeEngine implements EngineModule {
  HEAPU8: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** Called before each step: tests count steps, cancel, or throw here. */
  onStep: () => void = () => undefined;
  /** What was asked of the sessions, in order. */
  readonly calls: string[] = [];
  /** Handles that were made and not yet deleted. */
  nHandles = 0;

  kernelSets(): string[] {
    return ['fast', 'scalar'];
  }

  nPoolThreads(): number {
    return 1;
  }

  newLoader(fileBytes: number): EngineLoader {
    const file: number[] = [];
    let address = 0;
    return {
      ...this.#handle(),
      // Gives little room at a time, and moves the heap every time, as growing memory does.
      reserve: (maxBytes) => {
        address += 3;
        this.HEAPU8 = new Uint8Array(address + 5);
        const room = fileBytes > 0 ? fileBytes - file.length : maxBytes;
        return { value: { address, bytes: Math.min(maxBytes, 5, room) } };
      },
      commit: (bytes) => {
        file.push(...this.HEAPU8.subarray(address, address + bytes));
        return { value: null };
      },
      fileBytes: () => fileBytes,
      nextPart: (bytes) => {
        fileBytes = bytes;
        return { value: null };
      },
      finish: ({ kernels }) => {
        const text = new TextDecoder().decode(new Uint8Array(file));
        if (text === '') return fail('truncated', 'the file is empty');
        return { value: this.#model(text, kernels || 'fast') };
      },
    };
  }

  #model(text: string, kernels: string): EngineModel {
    return {
      ...this.#handle(),
      info: () => ({
        name: text,
        architecture: 'fake',
        nParameters: text.length,
        nLayers: 1,
        nTokens: 256,
        contextLength: 100_000,
        weightBytes: text.length,
        kernels,
        chatTemplate: "{% for m in messages %}{{ bos_token + m['content'] }}{% endfor %}",
        bosToken: '^',
        eosToken: '$',
      }),
      encode: (prompt, addBos) =>
        Int32Array.from([...(addBos ? [1] : []), ...Array.from(prompt, codePoint)]),
      decode: (ids) => ({ value: String.fromCodePoint(...ids) }),
      newSession: ({ nCtx }) => ({ value: this.#session(text, nCtx) }),
    };
  }

  #session(text: string, nCtx: number): EngineSession {
    let nPositions = 0;
    let nPrompt = 0;
    let left: string[] = [];
    return {
      ...this.#handle(),
      start: (prompt, { maxTokens }): EngineResult<null> => {
        this.calls.push(`start ${String(prompt.length)}`);
        if (prompt.length > nCtx) return fail('prompt_too_long', 'the prompt is too long');
        nPrompt = prompt.length;
        left = Array.from(text).slice(0, maxTokens);
        return { value: null };
      },
      step: () => {
        this.onStep();
        const step = { nPromptDone: nPrompt, token: -1, text: '', finishReason: 'none' as const };
        if (nPositions < nPrompt) {
          nPositions = nPrompt;
          return { value: step };
        }
        const next = left.shift();
        if (next === undefined) return { value: { ...step, finishReason: 'stop' } };
        nPositions += 1;
        return { value: { ...step, token: codePoint(next), text: next } };
      },
      truncate: (n) => {
        this.calls.push(`truncate ${String(n)}`);
        nPositions = n;
        return { value: null };
      },
      nPositions: () => nPositions,
      nCtx: () => nCtx,
      kvBytes: () => 0,
      scratchBytes: () => 0,
    };
  }

  #handle() {
    this.nHandles += 1;
    return {
      delete: () => {
        this.nHandles -= 1;
      },
    };
  }
}
