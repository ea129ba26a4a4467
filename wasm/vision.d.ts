// The part of the wasm module that reads pictures: the classes of vision.cpp, as the worker sees them.
import type { EngineHandle, EngineResult } from './result.d.ts';

export interface VisionInfo {
  name: string;
  /** The file's clip.projector_type. */
  projector: string;
  /** The width of a row. */
  width: number;
  weightBytes: number;
  kernels: string;
}

/** reserve → write RGB into HEAPU8 → begin → advance, until it returns 0; then parts and rows. */
export interface VisionReader extends EngineHandle {
  info(): VisionInfo;
  /** Fails with wrong_shape if the reader's rows are not as wide as the text model's. */
  checkFits(hiddenSize: number): EngineResult<null>;
  /** The memory that a picture of that size needs in addition to its pixels and rows. */
  scratchBytes(width: number, height: number): EngineResult<number>;
  /** The address in the heap for the next picture's pixels: [height][width][3], 8 bits each. */
  reserve(width: number, height: number): EngineResult<number>;
  /**
   * Begins to read these pixels, and frees their memory. Returns the number of steps. The work is
   * cancelled when `id` is among the cancelledIds().
   */
  begin(id: number): EngineResult<number>;
  /** Does a step. Returns the number of steps that are left. After an error there are no parts. */
  advance(): EngineResult<number>;
  /** The parts, known after begin(). */
  parts(): VisionPart[];
  /** A view of the heap, [nRows][width]: copy it before the next call. Empty for a text. */
  rows(part: number): EngineResult<Float32Array>;
}

/** A part of the text model's input: a text, or rows instead of tokens. */
export interface VisionPart {
  /** A text whose special tokens must be parsed. Empty if the part has rows. */
  text: string;
  nRows: number;
  width: number;
  /** The grid of the rows, for models that count positions in two directions; 0 for others. */
  gridWidth: number;
  gridHeight: number;
  /** 0 or 1: whether each row sees all others, not only those before it. */
  seesAll: number;
  /** 16 hexadecimal digits: a hash of the pixels, their size, the part and the reader. */
  checksum: string;
}
