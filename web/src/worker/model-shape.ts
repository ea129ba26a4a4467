// Reads from the header of a GGUF file what its model's memory depends on, and whether the model has
// other files. The engine reads the header, too, and checks it; this is for what must be known before
// the engine runs.
//
// Source of the layout: the GGUF specification (ggml's docs/gguf.md), versions 2 and 3.
import { Cursor, magic, TooShort, valueType } from '../gguf-cursor.ts';
import {
  attentionIntervals,
  encoders,
  tensorBlocks,
  valueBytes,
  windowsByArchitecture,
} from '../type-tables.generated.ts';

/** The size of an embedding table. */
export interface Table {
  bytes: number;
  rowBytes: number;
}

export interface FileHeader {
  /** Whether the file is one of several into which a model is split, whatever its name is. */
  isPart: boolean;
  /** Undefined if the header does not tell, as in all parts but the first. */
  shape: ModelShape | undefined;
}

/** The sizes of a model's parts, counted in elements. */
export interface ModelShape {
  contextLength: number;
  /** False for models that only make embeddings or scores. */
  makesText: boolean;
  /**
   * Heads whose keys and values are kept: of all layers together, or in an encoder of one layer.
   */
  nKeptHeads: number;
  /** How many of these heads see only a window, and the positions in that window. */
  nWindowHeads: number;
  window: number;
  /** The inputs that each token has for all layers together, in addition to its embedding. */
  layerInputDim: number;
  /** The state of all recurrent layers together, which does not grow with the text. */
  nRecurrent: number;
  /** The width of the widest recurrent layer's input; 0 if there are none. */
  recurrentDim: number;
  hiddenDim: number;
  ffnDim: number;
  /** This and `nKvHeads` are those of the layer that has most. */
  nHeads: number;
  nKvHeads: number;
  keyDim: number;
  valueDim: number;
  /** The same for layers with a window. */
  windowKeyDim: number;
  windowValueDim: number;
  vocabSize: number;
  /** This file's tables of which only rows are read: see src/model/embedding_table.cpp. */
  tables: Table[];
}

/** The longest headers are those of large vocabularies, a few MB. */
export const maxHeaderBytes = 2 ** 25;

/**
 * Reads the header from the first bytes of a file. Returns "more" if the bytes end too early, and
 * undefined if they are not a header.
 */
export function readHeader(bytes: Uint8Array): FileHeader | 'more' | undefined {
  try {
    const cursor = new Cursor(bytes);
    const numbers = readNumbers(cursor);
    if (!numbers) return undefined;
    const isPart = (numbers.get('split.count') ?? 0) > 1;
    const shape = shapeOf(numbers);
    if (!shape) return { isPart, shape };
    const tables = readTables(cursor, numbers.get('tensors') ?? 0, shape);
    return { isPart, shape: { ...shape, tables } };
  } catch (error) {
    if (error instanceof TooShort) return 'more';
    throw error;
  }
}

/**
 * The metadata that are numbers, the lengths of arrays, and some figures of the arrays that are
 * read.
 */
type Numbers = Map<string, number>;

function readNumbers(cursor: Cursor): Numbers | undefined {
  if (cursor.uint(4) !== magic || ![2, 3].includes(cursor.uint(4))) return undefined;
  const numbers: Numbers = new Map();
  numbers.set('tensors', cursor.uint(8));
  for (let n = cursor.uint(8); n > 0; --n) {
    const key = cursor.text();
    const type = cursor.uint(4);
    if (type === valueType.array) {
      if (!readArray(cursor, key, numbers)) return undefined;
    } else if (type === valueType.string) {
      if (key === 'general.architecture') numbers.set(`architecture ${cursor.text()}`, 1);
      else cursor.skipText();
    } else {
      const size = valueBytes[type];
      if (size === undefined) return undefined;
      numbers.set(key, cursor.uint(size));
    }
  }
  return numbers;
}

/** The engine refuses models with more layers. */
const mostLayers = 1024;

/** Returns false for an array of arrays. No key that matters has one. */
function readArray(cursor: Cursor, key: string, numbers: Numbers): boolean {
  const type = cursor.uint(4);
  const length = cursor.uint(8);
  numbers.set(`${key} length`, length);
  const size = valueBytes[type];
  const isOneALayer =
    /\.(head_count|head_count_kv|feed_forward_length|sliding_window_pattern)$/.test(key);
  if (!size || !isOneALayer) return cursor.skipValues(type, length);
  const ofLayers = { largest: 0, first: 0, sum: 0, zeros: 0 }; // first: the first that is not 0
  for (let i = 0; i < length; ++i) {
    const number = cursor.uint(size);
    ofLayers.largest = Math.max(ofLayers.largest, number);
    ofLayers.first ||= number;
    ofLayers.sum += number;
    if (number === 0) ofLayers.zeros += 1; // a layer without attention
    if (i < mostLayers) numbers.set(`${key} ${String(i)}`, number);
  }
  numbers.set(key, ofLayers.largest);
  for (const [name, number] of Object.entries(ofLayers)) numbers.set(`${key} ${name}`, number);
  return true;
}

/** Reads the list of tensors, which follows the metadata. */
function readTables(
  cursor: Cursor,
  nTensors: number,
  { makesText, layerInputDim }: Omit<ModelShape, 'tables'>,
): Table[] {
  const found = new Map<string, Table>();
  for (let n = nTensors; n > 0; --n) {
    const name = cursor.text();
    const nDims = cursor.uint(4);
    if (nDims > 4) return []; // not a tensor
    const [width = 0, ...others] = Array.from({ length: nDims }, () => cursor.uint(8));
    const [size, bytes] = tensorBlocks[cursor.uint(4)] ?? [1, 0];
    cursor.skip(8);
    const rowBytes = (width / size) * bytes;
    const table = { rowBytes, bytes: others.reduce((product, dim) => product * dim, rowBytes) };
    if (/^(output|token_embd|per_layer_token_embd)\.weight$/.test(name)) found.set(name, table);
  }
  const isTied = makesText && !found.has('output.weight');
  return [
    isTied ? undefined : found.get('token_embd.weight'),
    layerInputDim > 0 ? found.get('per_layer_token_embd.weight') : undefined,
  ].filter((table) => table !== undefined);
}

function shapeOf(numbers: Numbers): Omit<ModelShape, 'tables'> | undefined {
  const mark = 'architecture ';
  const architecture = [...numbers.keys()].find((key) => key.startsWith(mark))?.slice(mark.length);
  const get = (key: string) => numbers.get(`${architecture ?? ''}.${key}`);
  const contextLength = get('context_length');
  const nLayers = get('block_count');
  const hiddenDim = get('embedding_length');
  const nHeads = get('attention.head_count');
  if (!contextLength || !nLayers || !hiddenDim || nHeads === undefined) return undefined;
  const headDim =
    nHeads === 0 ? 0 : Math.ceil(hiddenDim / (get('attention.head_count first') ?? nHeads));
  // In a split model, the first file may have no tensors.
  const hasWeights = numbers.get('tensors') !== 0 || numbers.has('split.count');
  const isEncoder = encoders.includes(architecture ?? '');
  const nKvHeads = get('attention.head_count_kv') ?? nHeads;
  const ofEncoder = { ...noLayers, nKeptHeads: nKvHeads };
  const layers = isEncoder ? ofEncoder : layersOf(architecture, get);
  const keyDim = get('attention.key_length') ?? headDim;
  const valueDim = get('attention.value_length') ?? headDim;
  return {
    ...{ contextLength, hiddenDim, nHeads, nKvHeads, keyDim, valueDim },
    makesText: !isEncoder && (get('pooling_type') ?? 0) === 0,
    ...(hasWeights ? layers : noLayers), // a vocabulary needs no cache
    ffnDim: get('feed_forward_length') ?? 4 * hiddenDim,
    windowKeyDim: get('attention.key_length_swa') ?? keyDim,
    windowValueDim: get('attention.value_length_swa') ?? valueDim,
    layerInputDim: nLayers * (get('embedding_length_per_layer_input') ?? 0),
    vocabSize: numbers.get('tokenizer.ggml.tokens length') ?? 0,
  };
}

type Heads = Pick<ModelShape, 'nKeptHeads' | 'nWindowHeads' | 'window'>;
type Layers = Heads & Pick<ModelShape, 'nRecurrent' | 'recurrentDim'>;
const noLayers: Layers = {
  ...{ nKeptHeads: 0, nWindowHeads: 0, window: 0 },
  ...{ nRecurrent: 0, recurrentDim: 0 },
};

/** Does the same as src/model/config.cpp and the blocks in src/model/blocks. */
function layersOf(
  architecture: string | undefined,
  get: (key: string) => number | undefined,
): Layers {
  const nBlocks = (get('block_count') ?? 0) - (get('nextn_predict_layers') ?? 0);
  const width = get('shortconv.l_cache') ?? get('ssm.conv_kernel');
  const heads = keptHeads(architecture, nBlocks, get);
  if (width === undefined) return { ...noLayers, ...heads };

  const inner = get('ssm.inner_size') ?? get('embedding_length') ?? 0;
  const nStates = get('ssm.state_size') ?? 0; // for each channel; a short convolution has none
  const nChannels = inner + 2 * (get('ssm.group_count') ?? 0) * nStates;
  const ofLayer = (width - 1) * nChannels + inner * nStates;

  const withoutAttention = get('attention.head_count_kv zeros');
  let nRecurrentLayers = nBlocks; // every block has both kinds
  if (get('attention.head_count') !== 0) {
    if (withoutAttention !== undefined) nRecurrentLayers = withoutAttention;
    else nRecurrentLayers -= Math.floor(nBlocks / interval(architecture, get));
  }
  return {
    ...heads,
    nRecurrent: nRecurrentLayers * ofLayer,
    recurrentDim: Math.max(inner, nChannels),
  };
}

/** Returns n if every n-th layer has attention; infinity if the file says this in another way. */
function interval(
  architecture: string | undefined,
  get: (key: string) => number | undefined,
): number {
  const usual = attentionIntervals[architecture ?? ''];
  return usual === undefined ? Infinity : (get('full_attention_interval') ?? usual);
}

/** All layers have the same number of heads, or each its own. The last layers may keep none. */
function keptHeads(
  architecture: string | undefined,
  nLayers: number,
  get: (key: string) => number | undefined,
): Heads {
  const key = get('attention.head_count_kv') === undefined ? 'head_count' : 'head_count_kv';
  const ofAll = get('attention.head_count') === 0 ? 0 : (get(`attention.${key}`) ?? 0);
  const ofEach = get(`attention.${key} length`) !== undefined;
  const ofSome = interval(architecture, get);
  const skipped = Number.isFinite(ofSome) && !ofEach ? ofSome : 1;
  const usual = windowsByArchitecture[architecture ?? ''];
  const window = get('attention.sliding_window') ?? usual?.window ?? 0;
  const pattern = 'attention.sliding_window_pattern';
  const isListed = get(`${pattern} length`) !== undefined;
  const period = get(pattern) ?? usual?.period ?? 0;

  const heads = { nKeptHeads: 0, nWindowHeads: 0, window };
  const nOwn = nLayers - (get('attention.shared_kv_layers') ?? 0);
  for (let i = 0; i < Math.min(nOwn, mostLayers); ++i) {
    const isSkipped = i % skipped !== skipped - 1;
    const n = ofEach ? (get(`attention.${key} ${String(i)}`) ?? 0) : isSkipped ? 0 : ofAll;
    const seesAll = isListed
      ? get(`${pattern} ${String(i)}`) === 0
      : period > 0 && i % period === period - 1;
    heads.nKeptHeads += n;
    if (window > 0 && !seesAll) heads.nWindowHeads += n;
  }
  return heads;
}
