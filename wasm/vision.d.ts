// The interface of the module that reads pictures: what vision.cpp exports, as seen from the worker.
// It is synchronous, has a heap and threads of its own, and belongs to one worker.
import type { EngineHandle, EngineResult } from './engine.d.ts';

export interface VisionModule {
  /** Views of the heap are replaced when memory grows: read this anew after every call. */
  readonly HEAPU8: Uint8Array;
  /** As in EngineModule. */
  kernelSets(): string[];
  nPoolThreads(): number;
  cancelAddress(): number;
  /**
   * `fileBytes`: of the mmproj file, 0 where the source does not tell. `kernels`: a name from
   * kernelSets(), or "" for the fastest.
   */
  newLoader(fileBytes: number, kernels: string): EngineResult<VisionLoader>;
}

/** reserve → write into HEAPU8 → commit, until reserve gives 0 bytes; then finish. */
export interface VisionLoader extends EngineHandle {
  reserve(maxBytes: number): EngineResult<{ address: number; bytes: number }>;
  commit(bytes: number): EngineResult<null>;
  /** 0 until the header has been read. */
  fileBytes(): number;
  /** Ends the loader, whatever it answers; delete() is still due. */
  finish(): EngineResult<VisionReader>;
}

export interface VisionInfo {
  name: string;
  /** The file's clip.projector_type. */
  projector: string;
  /** Numbers of a row. */
  width: number;
  weightBytes: number;
  kernels: string;
}

/** reserve → write RGB into HEAPU8 → begin → advance, until it answers 0; then parts and rows. */
export interface VisionReader extends EngineHandle {
  info(): VisionInfo;
  /** wrong_shape where its rows are not as wide as the text model's. */
  checkFits(hiddenSize: number): EngineResult<null>;
  /** Memory that reading a picture of that size takes beside its pixels and its rows. */
  scratchBytes(width: number, height: number): EngineResult<number>;
  /** Where in the heap the pixels of the next picture go: [height][width][3], 8 bits each. */
  reserve(width: number, height: number): EngineResult<number>;
  /**
   * Takes these pixels, whose memory is given back. How many steps are to do. `id`: of the work,
   * which the word at cancelAddress() may name while it is done.
   */
  begin(id: number): EngineResult<number>;
  /** Does a step. How many are left. After an error there are no parts. */
  advance(): EngineResult<number>;
  /** Known from begin() on. */
  parts(): VisionPart[];
  /** A view of the heap, [nRows][width]: to be copied before the next call. Empty of a text. */
  rows(part: number): EngineResult<Float32Array>;
}

/** What the text model is to see: a text, or rows in place of tokens. */
export interface VisionPart {
  /** Its special tokens are to be read as such. Empty where there are rows. */
  text: string;
  nRows: number;
  width: number;
  /** Rows of the grid, for models that count positions in two directions; 0 for others. */
  gridWidth: number;
  gridHeight: number;
  /** 0 or 1: each row sees all others, not only those before it. */
  seesAll: number;
  /** 16 hexadecimal digits: of the pixels, their size, the part and the reader. */
  checksum: string;
}
