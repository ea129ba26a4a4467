// Picture readers (mmproj files) with random weights in the shapes of real ones, stored in
// build/bench/. Speed does not depend on the values of the weights.
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  bool,
  f32,
  list,
  normalNumbers,
  randomNumbers,
  text,
  u32,
  writeGguf,
} from '../scripts/gguf-fixture.mjs';
import { root } from '../scripts/tools.mjs';
import { folder } from './models.mjs';

/** The sizes of SigLIP's base tower, which both readers have. */
const hidden = 768;
const ffn = 3072;
const heads = 12;
const layers = 12;
const patch = 16;

/**
 * The readers by the names of their models, from the published configurations: `positions` is the
 * length of the tower's table, `scale` how many patches in a line become one row. The longest edge
 * of SmolVLM's files is left out, because pictures are enlarged to it: without it, a picture of 512
 * pixels is seen in one square and once more whole, not in 17 squares of the same cost.
 */
const readers = {
  'smolvlm-256m': {
    ...{ projector: 'idefics3', imageSize: 512, positions: 1024, scale: 4 },
    addProjector: ({ matrix }) => matrix('mm.model.fc', 16 * hidden, 576),
  },
  'lfm2-vl-450m': {
    ...{ projector: 'lfm2', imageSize: 256, positions: 256, scale: 2 },
    addProjector: ({ biased, norm }) => {
      norm('mm.input_norm', 4 * hidden);
      biased('mm.1', 4 * hidden, 2560);
      biased('mm.2', 2560, 1024);
    },
  },
};

/** Makes the file unless it exists. Returns its path in the project. */
export function preparePictureReader(shape) {
  mkdirSync(join(root, folder), { recursive: true });
  const file = `${folder}/mmproj-${shape}-Q8_0.gguf`;
  const path = join(root, file);
  if (!existsSync(path)) {
    console.error(`Making ${file} ...`);
    const reader = readers[shape];
    writeGguf(`${path}.part`, keysOf(shape, reader), tensorsOf(reader));
    renameSync(`${path}.part`, path);
  }
  return file;
}

function keysOf(shape, { projector, imageSize, scale }) {
  const halves = list(f32, [0.5, 0.5, 0.5]);
  const vision = {
    ...{ image_size: u32(imageSize), patch_size: u32(patch), 'projector.scale_factor': u32(scale) },
    ...{ embedding_length: u32(hidden), feed_forward_length: u32(ffn), block_count: u32(layers) },
    ...{ 'attention.head_count': u32(heads), 'attention.layer_norm_epsilon': f32(1e-6) },
    ...{ projection_dim: u32(hidden), image_mean: halves, image_std: halves },
  };
  return {
    'general.architecture': text('clip'),
    'general.name': text(`${shape} shape, random weights, Q8_0`),
    'clip.has_vision_encoder': bool(true),
    'clip.projector_type': text(projector),
    'clip.use_gelu': bool(true),
    ...Object.fromEntries(
      Object.entries(vision).map(([key, value]) => [`clip.vision.${key}`, value]),
    ),
  };
}

function tensorsOf({ positions, addProjector }) {
  const tensors = [];
  const add = (name, shape, gain, middle = 0, type = 'F32') => {
    // Made only when they are written, and not kept in memory.
    const values = () =>
      repeated(
        shape.reduce((a, b) => a * b),
        gain,
        middle,
      );
    tensors.push(Object.defineProperty({ name, shape, type }, 'values', { get: values }));
  };
  const vector = (name, n, middle = 0) => add(name, [n], 0.1, middle);
  const matrix = (name, nColumns, nRows) =>
    add(`${name}.weight`, [nColumns, nRows], 1 / Math.sqrt(nColumns), 0, 'Q8_0');
  const norm = (name, n) => {
    vector(`${name}.weight`, n, 1);
    vector(`${name}.bias`, n);
  };
  const biased = (name, nColumns, nRows) => {
    matrix(name, nColumns, nRows);
    vector(`${name}.bias`, nRows);
  };

  add('v.patch_embd.weight', [patch, patch, 3, hidden], 1 / Math.sqrt(3 * patch * patch));
  vector('v.patch_embd.bias', hidden);
  add('v.position_embd.weight', [hidden, positions], 0.1);
  for (let i = 0; i < layers; ++i) {
    const layer = `v.blk.${i}`;
    for (const part of ['ln1', 'ln2']) norm(`${layer}.${part}`, hidden);
    for (const part of ['q', 'k', 'v', 'out']) biased(`${layer}.attn_${part}`, hidden, hidden);
    biased(`${layer}.ffn_up`, hidden, ffn);
    biased(`${layer}.ffn_down`, ffn, hidden);
  }
  norm('v.post_ln', hidden);
  addProjector({ matrix, biased, norm });
  return tensors;
}

/** A prime number of normal numbers, so that no two rows near each other are equal. */
const numbers = normalNumbers(65521, 1, randomNumbers('picture reader'));

function repeated(n, gain, middle) {
  return Float32Array.from({ length: n }, (_, i) => middle + gain * numbers[i % numbers.length]);
}
