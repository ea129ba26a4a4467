// Estimates a model's memory before the engine runs.
import { KingletError } from '../errors.ts';
import type { KvKinds, PostedLoadOptions } from '../protocol.ts';
import {
  batchSizes,
  keptWindows,
  kvRows,
  largeTableBytes,
  recurrentStates,
} from '../type-tables.generated.ts';
import type { KvKind } from '../types.ts';
import type { ModelShape, Table } from './model-shape.ts';

/** The most memory in 32-bit WebAssembly. */
const maxMemoryBytes = 2 ** 32;
/** Leaves room for a KV cache, a vocabulary and the engine. */
const maxModelBytes = 3.5 * 2 ** 30;

/** For the engine, its stacks, its tokenizer's tables, and the losses of the allocator. */
const overheadBytes = 64 * 2 ** 20;
const { session: nBatch, logitRows: nLogitRows, encoder: encoderBatch } = batchSizes;
/** The tokens of the longest text for which an encoder's memory is planned. */
const maxEncoded = 8192;

/** Enough for a conversation. The KV cache for the whole context of some models would not fit. */
const defaultMaxCtx = 4096;

/** Returns the tokens of context if the caller does not choose them. */
export function defaultNCtx(contextLength: number): number {
  return Math.min(contextLength, defaultMaxCtx);
}

export interface MemoryPlan {
  /**
   * Bytes of memory to reserve if that must be done in advance: the first that the browser grants.
   */
  maxima: number[];
  /** Bytes of the model that stay in its file. */
  storedBytes: number;
}

/** Returns the least bytes of a table that may stay in the file. */
export function leastStored({ embeddingTables }: PostedLoadOptions): number {
  return { auto: largeTableBytes, memory: Infinity, file: 0 }[embeddingTables];
}

/**
 * Only multiples of this stay in the file, so that the bytes after a table keep their alignment.
 */
const alignment = 64;

/**
 * `fileBytes` and `shape` are undefined if they are not known. `isStored`: the file can be read
 * again while the model is used.
 *
 * @throws KingletError: too_large if the model cannot fit.
 */
export function planMemory(
  fileBytes: number | undefined,
  shape: ModelShape | undefined,
  options: PostedLoadOptions,
  isStored = false,
): MemoryPlan {
  const { nCtx, kv, spareMemory } = options;
  const mayStay = (shape?.tables ?? []).filter(({ bytes }) => bytes >= leastStored(options));
  const bytesOf = (tables: Table[]) =>
    tables.reduce((sum, { bytes }) => sum + Math.floor(bytes / alignment) * alignment, 0);
  const tables = isStored && fileBytes !== undefined ? mayStay : [];
  const storedBytes = bytesOf(tables);
  if (fileBytes !== undefined) {
    checkModelBytes(fileBytes - storedBytes, isStored ? 0 : bytesOf(mayStay));
  }
  if (fileBytes === undefined || !shape) {
    return { maxima: [4, 2, 1, 0.5].map((gibibytes) => gibibytes * 2 ** 30), storedBytes };
  }
  const rowsBytes = tables.reduce((sum, { rowBytes }) => sum + nBatch * rowBytes, 0);
  const modelBytes = fileBytes - storedBytes + rowsBytes;
  return { maxima: maximaFor(modelBytes, shape, { nCtx, kv, spareMemory }), storedBytes };
}

function maximaFor(
  modelBytes: number,
  shape: ModelShape,
  { nCtx, kv, spareMemory }: Pick<PostedLoadOptions, 'nCtx' | 'kv' | 'spareMemory'>,
): number[] {
  if (!shape.makesText) return planFor(modelBytes + encoderBytes(shape), spareMemory);
  const nPositions = nCtx ?? defaultNCtx(shape.contextLength);
  const kvBytes = kvCacheBytes(shape, nPositions, kv) + recurrentStateBytes(shape);
  if (modelBytes + kvBytes > maxMemoryBytes) {
    throw new KingletError(
      'too_large',
      `the model's ${inGigabytes(modelBytes)} and ${inGigabytes(kvBytes)} of KV cache for ` +
        `${String(nPositions)} tokens do not fit the ${inGigabytes(maxMemoryBytes)} of WebAssembly ` +
        'memory: take fewer (nCtx), or a smaller kind of cache (kv)',
    );
  }
  return planFor(modelBytes + kvBytes + scratchBytes(shape, nBatch, nLogitRows), spareMemory);
}

function planFor(modelAndBuffers: number, spareMemory: number): number[] {
  const needed = modelAndBuffers + overheadBytes;
  const maxima = [needed + spareMemory, needed + spareMemory / 4, needed];
  return maxima.map((bytes) => Math.min(bytes, maxMemoryBytes));
}

/**
 * `tableBytes`: how many of the bytes could stay in a file.
 *
 * @throws KingletError: too_large.
 */
export function checkModelBytes(modelBytes: number, tableBytes = 0): void {
  if (modelBytes <= maxModelBytes) return;
  const otherWay =
    tableBytes > 0
      ? `; ${inGigabytes(tableBytes)} of it need no memory where the model is loaded from a file ` +
        'or can be kept in the cache'
      : '';
  throw new KingletError(
    'too_large',
    `the model has ${inGigabytes(modelBytes)}, WebAssembly memory takes ` +
      `${inGigabytes(maxModelBytes)} at most: use a smaller quantization${otherWay}`,
  );
}

function rowBytes(kind: KvKind, nElements: number): number {
  const { bytes, blockSize, blockBytes } = kvRows[kind];
  return bytes + blockBytes * Math.ceil(nElements / blockSize);
}

/** Returns the KV cache's bytes in a session without shared pages, not counting alignment. */
export function kvCacheBytes(shape: ModelShape, nPositions: number, kv: KvKinds): number {
  const { nKeptHeads, nWindowHeads, window } = shape;
  const ofHead = rowBytes(kv.k, shape.keyDim) + rowBytes(kv.v, shape.valueDim);
  const inWindow =
    nWindowHeads * (rowBytes(kv.k, shape.windowKeyDim) + rowBytes(kv.v, shape.windowValueDim));
  const nKept = windowPositions(window, inWindow, nPositions);
  return (nKeptHeads - nWindowHeads) * ofHead * nPositions + inWindow * nKept;
}

/** Returns how many positions layers with a window hold: see src/kv/kv_plan.cpp. */
function windowPositions(window: number, bytesPerPosition: number, nPositions: number): number {
  if (window === 0) return nPositions;
  const { pagePositions, nSpare, budget, fewest, most } = keptWindows;
  const pagesTouched = (n: number) => (n < 2 ? n : Math.floor((n - 2) / pagePositions) + 2);
  const nKept = window - 1 + nSpare;
  const ofPlace = pagesTouched(nKept);
  const ofBudget = Math.floor(budget / Math.max(1, bytesPerPosition * pagePositions));
  const nPages =
    pagesTouched(nKept + Math.min(nBatch, nPositions)) +
    Math.min(Math.max(ofBudget, fewest * ofPlace), most * ofPlace);
  return Math.min(nPages * pagePositions, nPositions);
}

function recurrentStateBytes({ nRecurrent }: ModelShape): number {
  if (nRecurrent === 0) return 0;
  const { checkpointBudget, fewestCheckpoints, mostCheckpoints, nWorkingStates } = recurrentStates;
  const ofState = 4 * nRecurrent;
  const n = Math.floor(checkpointBudget / ofState);
  return (nWorkingStates + Math.min(Math.max(n, fewestCheckpoints), mostCheckpoints)) * ofState;
}

/** Returns the memory for computing the longest text, of at most `maxEncoded` tokens. */
function encoderBytes(shape: ModelShape): number {
  const nTokens = Math.min(shape.contextLength, maxEncoded);
  const rows = 4 * nTokens * (shape.hiddenDim + shape.keyDim);
  const keysAndValues = kvCacheBytes(shape, nTokens, { k: 'f32', v: 'f32' });
  return rows + keysAndValues + recurrentStateBytes(shape) + scratchBytes(shape, encoderBatch, 1);
}

/**
 * Returns the memory for a batch's activations and for rows of logits. Some activations also have a
 * quantized copy and, for weights of one or two bits, tables of 8 bytes each.
 */
function scratchBytes(
  { hiddenDim, ffnDim, nHeads, nKvHeads, ...shape }: ModelShape,
  nTokens: number,
  nRowsOfLogits: number,
): number {
  const { vocabSize, recurrentDim } = shape;
  const keyDim = Math.max(shape.keyDim, shape.windowKeyDim);
  const valueDim = Math.max(shape.valueDim, shape.windowValueDim);
  const heads = (3 * nHeads + 2 * nKvHeads) * (keyDim + valueDim);
  const tables = 2 * Math.max(hiddenDim, ffnDim);
  const rows =
    6 * hiddenDim + 3 * ffnDim + heads + 4 * recurrentDim + 2 * shape.layerInputDim + tables;
  return 4 * (nTokens * rows + nRowsOfLogits * vocabSize);
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
