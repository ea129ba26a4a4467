// Writes small mmproj files with random weights, one for each projector or feature that the
// fixtures should cover. scripts/vision-answers.cpp then asks llama.cpp's libmtmd for the answers.
// Usage: node scripts/make-vision-fixtures.mjs OUTPUT_FOLDER [NAME…] [--for-answers]
// --for-answers writes every tensor as floats, with the values that its type would keep, and next
// to each file NAME-text.gguf, a text model of the same width that knows the special tokens.
// The same name always gives the same bytes.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  bool,
  f32,
  i32,
  list,
  normalNumbers,
  randomNumbers,
  text,
  u32,
  writeGguf,
} from './gguf-fixture.mjs';

const hidden = 64;
const heads = 4;
const layers = 2;
const rowWidth = 48;

const idefics3 = {
  projector: 'idefics3',
  imageSize: 160,
  patch: 16,
  keys: { 'projector.scale_factor': u32(2), preproc_image_size: u32(320) },
  positions: 100,
  output: { 'mm.model.fc': { rows: rowWidth, columns: 4 * hidden } },
};
const gemma3 = {
  projector: 'gemma3',
  imageSize: 192,
  patch: 16,
  ffn: 108, // not whole blocks, as in SigLIP so400m
  positions: 144,
  output: {
    'mm.soft_emb_norm': { norm: hidden, unbiased: true },
    'mm.input_projection': { rows: hidden, columns: rowWidth, type: 'F16' },
  },
};
const lfm2 = {
  projector: 'lfm2',
  imageSize: 256,
  patch: 16,
  keys: { 'projector.scale_factor': u32(2) },
  positions: 256,
  output: {
    'mm.input_norm': { norm: 4 * hidden },
    'mm.1': { rows: 96, columns: 4 * hidden, bias: true },
    'mm.2': { rows: rowWidth, columns: 96, bias: true },
  },
};
const merger = (rows) => ({
  'mm.0': { rows: 4 * hidden, columns: 4 * hidden, bias: true },
  'mm.2': { rows, columns: 4 * hidden, bias: true },
});
const qwen3vl = {
  projector: 'qwen3vl_merger',
  imageSize: 768,
  patch: 16,
  keys: { spatial_merge_size: u32(2) },
  positions: 64,
  secondFilter: true,
  fused: true,
  output: merger(rowWidth),
};
const qwen2vl = {
  projector: 'qwen2vl_merger',
  imageSize: 560,
  patch: 16,
  keys: { spatial_merge_size: u32(2) },
  secondFilter: true,
  unbiasedFilters: true,
  activation: undefined,
  output: merger(rowWidth),
};
// Windows of 3 x 3 rows in the first layer.
const qwen25vl = {
  ...qwen2vl,
  projector: 'qwen2.5vl_merger',
  keys: { n_wa_pattern: u32(2) },
  activation: 'use_silu',
  rms: true,
  gated: true,
};
const gemma4v = {
  projector: 'gemma4v',
  imageSize: 224, // not used
  patch: 4,
  ffn: 32,
  positions: 52, // for columns, and as many for lines
  ofAxes: true,
  unbiasedFilters: true,
  rms: true,
  gated: true,
  unbiased: true,
  headNorms: true,
  normsAfter: true,
  activation: undefined,
  output: { 'mm.input_projection': { rows: rowWidth, columns: hidden } },
};

const fixtures = {
  idefics3,
  'idefics3-Q8_0': { ...idefics3, type: 'Q8_0' },
  // As in old files: without the longest edge, and with the names of ffn_up and ffn_down swapped.
  'idefics3-old': {
    ...idefics3,
    imageSize: 64,
    positions: 16,
    keys: { 'projector.scale_factor': u32(4) },
    output: { 'mm.model.fc': { rows: rowWidth, columns: 16 * hidden } },
    swapped: true,
    activation: undefined,
  },
  gemma3,
  // Patches of 588 numbers; on some machines, llama.cpp adds up their products in half floats.
  'gemma3-Q4_0': { ...gemma3, imageSize: 168, patch: 14, ffn: 96, type: 'Q4_0' },
  lfm2,
  'lfm2-unnormed': {
    ...lfm2,
    positions: 64,
    output: { 'mm.1': lfm2.output['mm.1'], 'mm.2': lfm2.output['mm.2'] },
  },
  gemma4v: {
    ...gemma4v,
    standard: true,
    scaledLayers: true,
    // All bounds of these, and one or two of others.
    bounds: {
      'v.blk.0.attn_q': [-1.1, 0.9, -1.6, 1.5],
      'v.blk.0.attn_k': [-0.8, 1.2, -1.4, 1.7],
      'v.blk.0.ffn_gate': [-1.3, 1.4, -2, 2.1],
      'v.blk.0.ffn_down': [-0.6, 0.7, -0.5, 0.6],
      'v.blk.1.attn_v': [-1, undefined, undefined, 0.9],
      'v.blk.1.attn_out': [undefined, undefined, -0.7, 0.8],
      'v.blk.1.ffn_up': [-0.9, 1],
      'mm.input_projection': [-1.2, 1.3, -1.8, 1.9],
    },
  },
  'gemma4v-Q8_0': {
    ...gemma4v,
    layers: 1,
    keys: { 'projector.scale_factor': u32(2) },
    positions: 70,
    type: 'Q8_0',
  },
  qwen2vl,
  'qwen2vl-old': { ...qwen2vl, swapped: true, type: 'Q8_0' },
  qwen25vl,
  'qwen25vl-whole': { ...qwen25vl, keys: { n_wa_pattern: u32(0) } },
  qwen3vl,
  'qwen3vl-deepstack': {
    ...qwen3vl,
    type: 'Q8_0',
    output: {
      ...merger(rowWidth),
      'v.deepstack.0.norm': { norm: 4 * hidden },
      'v.deepstack.0.fc1': { rows: 96, columns: 4 * hidden, bias: true },
      'v.deepstack.0.fc2': { rows: rowWidth, columns: 96, bias: true },
    },
    width: 2 * rowWidth,
  },
};

function tensorsOf(fixture) {
  const tensors = [];
  const random = randomNumbers(fixture.name);
  const ffn = fixture.ffn ?? 96;
  const vector = (name, n, middle) => {
    const values = normalNumbers(n, 0.2, random).map((x) => x + middle);
    tensors.push({ name, shape: [n], values, type: 'F32' });
  };
  const matrix = (name, shape, gain, type) => {
    const n = shape.reduce((a, b) => a * b);
    const columns = name.startsWith('v.patch') ? n / hidden : shape[0];
    const values = normalNumbers(n, gain / Math.sqrt(columns), random);
    tensors.push({ name, shape, values, type });
  };
  const add = (name, part) => {
    if (part.norm) vector(`${name}.weight`, part.norm, 1);
    else {
      const type = part.type ?? fixture.type ?? 'F16';
      matrix(`${name}.weight`, [part.columns, part.rows], part.gain ?? 1, type);
    }
    if (part.bias || (part.norm && !part.unbiased))
      vector(`${name}.bias`, part.rows ?? part.norm, 0);
  };
  const norm = { norm: hidden, unbiased: fixture.rms };
  const bias = !fixture.unbiased;
  const square = (gain) => ({ rows: hidden, columns: hidden, gain, bias });

  const filters = [fixture.patch, fixture.patch, 3, hidden];
  matrix('v.patch_embd.weight', filters, 2, 'F16');
  if (fixture.secondFilter) matrix('v.patch_embd.weight.1', filters, 2, 'F16');
  if (!fixture.unbiasedFilters) vector('v.patch_embd.bias', hidden, 0);
  if (fixture.ofAxes) {
    matrix('v.position_embd.weight', [hidden, fixture.positions, 2], 4, 'Q8_0');
  } else if (fixture.positions) {
    matrix('v.position_embd.weight', [hidden, fixture.positions], 4, 'F32');
  }
  for (let i = 0; i < (fixture.layers ?? layers); ++i) {
    const layer = `v.blk.${i}`;
    add(`${layer}.ln1`, norm);
    if (fixture.fused) {
      add(`${layer}.attn_qkv`, { rows: 3 * hidden, columns: hidden, gain: 2, bias: true });
    } else {
      add(`${layer}.attn_q`, square(2));
      add(`${layer}.attn_k`, square(2));
      add(`${layer}.attn_v`, square(1));
    }
    add(`${layer}.attn_out`, square(1));
    if (fixture.headNorms) {
      for (const part of ['q', 'k'])
        add(`${layer}.attn_${part}_norm`, { norm: hidden / heads, unbiased: true });
    }
    if (fixture.normsAfter) add(`${layer}.attn_post_norm`, norm);
    add(`${layer}.ln2`, norm);
    const [up, down] = fixture.swapped ? ['ffn_down', 'ffn_up'] : ['ffn_up', 'ffn_down'];
    if (fixture.gated) add(`${layer}.ffn_gate`, { rows: ffn, columns: hidden, gain: 1.5, bias });
    add(`${layer}.${up}`, { rows: ffn, columns: hidden, gain: 1.5, bias });
    add(`${layer}.${down}`, { rows: hidden, columns: ffn, bias });
    if (fixture.normsAfter) add(`${layer}.ffn_post_norm`, norm);
    if (fixture.scaledLayers) vector(`${layer}.out_scale.weight`, 1, 0.8);
  }
  if (!fixture.ofAxes) add('v.post_ln', norm);
  if (fixture.standard) {
    vector('v.std_bias', hidden, 0);
    vector('v.std_scale', hidden, 1);
  }
  for (const [name, part] of Object.entries(fixture.output)) add(name, part);
  for (const [name, numbers] of Object.entries(fixture.bounds ?? {})) {
    for (const [i, end] of ['input_min', 'input_max', 'output_min', 'output_max'].entries()) {
      if (numbers[i] === undefined) continue;
      const values = Float32Array.of(numbers[i]);
      tensors.push({ name: `${name}.${end}`, shape: [1], values, type: 'F32' });
    }
  }
  return tensors;
}

function keysOf(fixture) {
  const keys = {
    projection_dim: u32(rowWidth),
    image_size: u32(fixture.imageSize),
    patch_size: u32(fixture.patch),
    embedding_length: u32(hidden),
    feed_forward_length: u32(fixture.ffn ?? 96),
    block_count: u32(fixture.layers ?? layers),
    'attention.head_count': u32(heads),
    'attention.layer_norm_epsilon': f32(1e-6),
    // With these values, normalized pixels are exact half floats; llama.cpp rounds them to such.
    image_mean: list(
      f32,
      [127, 115, 102].map((code) => code / 255),
    ),
    image_std: list(
      f32,
      [128, 64, 64].map((code) => code / 255),
    ),
    ...fixture.keys,
  };
  const activation = 'activation' in fixture ? fixture.activation : 'use_gelu';
  return {
    'general.architecture': text('clip'),
    'general.name': text(`fixture-${fixture.name}`),
    'clip.has_vision_encoder': bool(true),
    'clip.projector_type': text(fixture.projector),
    ...(activation && { [`clip.${activation}`]: bool(true) }),
    ...Object.fromEntries(
      Object.entries(keys).map(([key, value]) => [`clip.vision.${key}`, value]),
    ),
  };
}

const specialTokens = [
  '<fake_token_around_image>',
  '<global-img>',
  '<start_of_image>',
  '<end_of_image>',
  '<|image_start|>',
  '<|image_end|>',
  '<|img_thumbnail|>',
  '<|vision_start|>',
  '<|vision_end|>',
  '<|image>',
  '<image|>',
];
for (let row = 1; row <= 10; ++row) {
  for (let column = 1; column <= 10; ++column) {
    specialTokens.push(`<row_${row}_col_${column}>`, `<|img_row_${row}_col_${column}|>`);
  }
}

/** Writes a Llama model of one layer. Only its row width and its tokens are used. */
function writeTextModel(path, width) {
  const tokens = ['<unk>', '<s>', '</s>', '\n', '\n\n', '\u2581', ...specialTokens];
  const typeOf = (token, id) => (id < 3 || specialTokens.includes(token) ? 3 : 1);
  const random = randomNumbers('text');
  const keys = {
    'general.architecture': text('llama'),
    'llama.context_length': u32(512),
    'llama.embedding_length': u32(width),
    'llama.block_count': u32(1),
    'llama.feed_forward_length': u32(width),
    'llama.attention.head_count': u32(4),
    'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': list(text, tokens),
    'tokenizer.ggml.scores': list(
      f32,
      tokens.map((_, id) => -id),
    ),
    'tokenizer.ggml.token_type': list(i32, tokens.map(typeOf)),
    'tokenizer.ggml.bos_token_id': u32(1),
    'tokenizer.ggml.eos_token_id': u32(2),
    'tokenizer.ggml.unknown_token_id': u32(0),
    'tokenizer.ggml.add_bos_token': bool(false),
    'tokenizer.ggml.add_space_prefix': bool(false),
  };
  const square = [width, width];
  const shapes = {
    token_embd: [width, tokens.length],
    output_norm: [width],
    'blk.0.attn_norm': [width],
    'blk.0.ffn_norm': [width],
    ...Object.fromEntries(
      ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map(
        (name) => [`blk.0.${name}`, square],
      ),
    ),
  };
  const tensors = Object.entries(shapes).map(([name, shape]) => {
    const n = shape.reduce((a, b) => a * b);
    return { name: `${name}.weight`, shape, values: normalNumbers(n, 0.1, random), type: 'F32' };
  });
  writeGguf(path, keys, tensors);
}

const forAnswers = process.argv.includes('--for-answers');
const [folder, ...wanted] = process.argv.slice(2).filter((word) => word !== '--for-answers');
if (!folder) {
  console.error('usage: make-vision-fixtures.mjs OUTPUT_FOLDER [NAME…] [--for-answers]');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
for (const [name, fixture] of Object.entries(fixtures)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const whole = { name, ...fixture };
  writeGguf(join(folder, `${name}.gguf`), keysOf(whole), tensorsOf(whole), { wide: forAnswers });
  if (forAnswers) writeTextModel(join(folder, `${name}-text.gguf`), fixture.width ?? rowWidth);
  console.log(`${name}.gguf: written`);
}
