// What the page and the worker say to each other. One worker holds one model; a worker is ended by
// terminating it, which needs no message.
import type { KingletErrorCode } from './errors.ts';
import type { GenerationResult, LoadProgress, ModelInfo, Piece } from './types.ts';

/** A source in a form that can be posted; a stream is transferred, a blob goes by reference. */
export type PostedSource =
  | { kind: 'url'; url: string }
  | { kind: 'blob'; blob: Blob }
  | { kind: 'stream'; stream: ReadableStream<Uint8Array> };

/** All files of a model. */
export type PostedSources = [PostedSource, ...PostedSource[]];

export interface PostedLoadOptions {
  nThreads: number | undefined;
  kernels: string | undefined;
  nCtx: number | undefined;
  headers: Record<string, string>;
  stallTimeout: number;
}

export interface PostedGenerateOptions {
  maxTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repeatPenalty: number;
  repeatLastN: number;
  seed: number;
}

/** How a text becomes tokens. */
export interface PostedEncoding {
  addBos: boolean;
  parseSpecial: boolean;
}

/** `id` joins a request with its answers. */
export type ClientMessage =
  | { type: 'load'; id: number; sources: PostedSources; options: PostedLoadOptions }
  | {
      type: 'generate';
      id: number;
      prompt: string | Int32Array;
      encoding: PostedEncoding;
      options: PostedGenerateOptions;
    }
  | { type: 'tokenize'; id: number; text: string; addBos: boolean; parseSpecial: boolean }
  | { type: 'detokenize'; id: number; tokens: Int32Array; special: boolean }
  /** Ends the generation `target` at its next step; unknown ids are ignored. */
  | { type: 'cancel'; target: number };

export type WorkerMessage =
  | { type: 'progress'; id: number; progress: LoadProgress }
  | { type: 'loaded'; id: number; info: ModelInfo }
  | { type: 'piece'; id: number; piece: Piece }
  | { type: 'generated'; id: number; result: GenerationResult }
  | { type: 'tokenized'; id: number; tokens: Int32Array }
  | { type: 'detokenized'; id: number; text: string }
  | { type: 'failed'; id: number; code: KingletErrorCode; message: string }
  /** The engine trapped: its state is unknown and the worker must be ended. */
  | { type: 'crashed'; message: string };
