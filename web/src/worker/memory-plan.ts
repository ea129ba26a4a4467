// How much memory a model takes, estimated before there is an engine to tell.
import { KingletError } from '../errors.ts';
import type { KvKinds, PostedLoadOptions } from '../protocol.ts';
import { keptWindows, kvRows, recurrentStates } from '../type-tables.generated.ts';
import type { KvKind } from '../types.ts';
import type { ModelShape } from './model-shape.ts';

/** 32-bit WebAssembly has no more. */
const maxMemoryBytes = 2 ** 32;
/** What leaves room for a cache, a vocabulary and the engine. */
const maxModelBytes = 3.5 * 2 ** 30;

/** The engine, its stacks, the tables of its tokenizer, and what the allocator loses. */
const overheadBytes = 64 * 2 ** 20;
/** Tokens that are computed together, and those of them whose logits are. */
const nBatch = 64;
const nLogitRows = 8;

/** The same of encoders, and the longest text that they have room for from the start. */
const encoderBatch = 256;
const maxEncoded = 8192;

/** Enough for a conversation; the KV cache of a long-context model would not fit otherwise. */
const defaultMaxCtx = 4096;

/** Tokens of context where none are asked for. */
export function defaultNCtx(contextLength: number): number {
  return Math.min(contextLength, defaultMaxCtx);
}

export interface MemoryPlan {
  /** Bytes of memory to reserve where that must be done in advance; the first that is granted. */
  maxima: number[];
}

/**
 * `modelBytes` and `shape` are undefined where they are not known.
 *
 * @throws KingletError too_large: the model cannot fit.
 */
export function planMemory(
  modelBytes: number | undefined,
  shape: ModelShape | undefined,
  { nCtx, kv, spareMemory }: PostedLoadOptions,
): MemoryPlan {
  if (modelBytes !== undefined) checkModelBytes(modelBytes);
  if (modelBytes === undefined || !shape) {
    return { maxima: [4, 2, 1, 0.5].map((gibibytes) => gibibytes * 2 ** 30) };
  }
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

function planFor(modelAndBuffers: number, spareMemory: number): MemoryPlan {
  const needed = modelAndBuffers + overheadBytes;
  const maxima = [needed + spareMemory, needed + spareMemory / 4, needed];
  return { maxima: maxima.map((bytes) => Math.min(bytes, maxMemoryBytes)) };
}

/** @throws KingletError too_large. */
export function checkModelBytes(modelBytes: number): void {
  if (modelBytes <= maxModelBytes) return;
  throw new KingletError(
    'too_large',
    `the model has ${inGigabytes(modelBytes)}, WebAssembly memory takes ` +
      `${inGigabytes(maxModelBytes)} at most: take a smaller quantization of it`,
  );
}

function rowBytes(kind: KvKind, nElements: number): number {
  const { bytes, blockSize, blockBytes } = kvRows[kind];
  return bytes + blockBytes * Math.ceil(nElements / blockSize);
}

/** Of a session that shares no pages, but for what aligns them. */
export function kvCacheBytes(shape: ModelShape, nPositions: number, kv: KvKinds): number {
  const { nKeptHeads, nWindowHeads, window } = shape;
  const ofHead = rowBytes(kv.k, shape.keyDim) + rowBytes(kv.v, shape.valueDim);
  const inWindow =
    nWindowHeads * (rowBytes(kv.k, shape.windowKeyDim) + rowBytes(kv.v, shape.windowValueDim));
  const nKept = windowPositions(window, inWindow, nPositions);
  return (nKeptHeads - nWindowHeads) * ofHead * nPositions + inWindow * nKept;
}

/** Positions that layers with a window hold: see src/kv/kv_plan.cpp. */
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

/** What computing the longest text takes, of models for texts as long as most are. */
function encoderBytes(shape: ModelShape): number {
  const nTokens = Math.min(shape.contextLength, maxEncoded);
  const rows = 4 * nTokens * (shape.hiddenDim + shape.keyDim);
  const keysAndValues = kvCacheBytes(shape, nTokens, { k: 'f32', v: 'f32' });
  return rows + keysAndValues + recurrentStateBytes(shape) + scratchBytes(shape, encoderBatch, 1);
}

/**
 * Activations of a batch, some of them quantized once more and, for weights of one or two bits,
 * tabulated in 8 bytes each, and rows of logits.
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
  const rows = 6 * hiddenDim + 3 * ffnDim + heads + 4 * recurrentDim + shape.layerInputDim + tables;
  return 4 * (nTokens * rows + nRowsOfLogits * vocabSize);
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
