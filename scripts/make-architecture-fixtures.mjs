// Writes small GGUF files with random weights, one for each architecture or feature that the
// fixtures should cover. scripts/reference-answers.mjs then asks llama.cpp for the answers.
// Usage: node scripts/make-architecture-fixtures.mjs OUTPUT_FOLDER [NAME…]
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

const vocabSize = 288;
const hidden = 48;
const heads = 4;
const kvHeads = 2;
const headDim = hidden / heads;
const ffn = 64;
const expertFfn = 32;

/** The tensors of a layer. */
const norms = (bias) => ({ attn_norm: { norm: hidden, bias }, ffn_norm: { norm: hidden, bias } });
const postNorms = { post_attention_norm: { norm: hidden }, post_ffw_norm: { norm: hidden } };
const attention = (bias) => ({
  attn_q: { rows: hidden, columns: hidden, gain: 2, bias },
  attn_k: { rows: kvHeads * headDim, columns: hidden, gain: 2, bias },
  attn_v: { rows: kvHeads * headDim, columns: hidden, bias },
  attn_output: { rows: hidden, columns: hidden, bias },
});
const fusedAttention = {
  attn_qkv: { rows: hidden + 2 * kvHeads * headDim, columns: hidden, gain: 2 },
  attn_output: { rows: hidden, columns: hidden },
};
const headNorms = { attn_q_norm: { norm: headDim }, attn_k_norm: { norm: headDim } };
const wideHeadNorms = { attn_q_norm: { norm: hidden }, attn_k_norm: { norm: kvHeads * headDim } };
const gatedFfn = {
  ffn_gate: { rows: ffn, columns: hidden, gain: 2 },
  ffn_up: { rows: ffn, columns: hidden },
  ffn_down: { rows: hidden, columns: ffn },
};
const fusedFfn = {
  ffn_up: { rows: 2 * ffn, columns: hidden, gain: 2 },
  ffn_down: { rows: hidden, columns: ffn },
};
const plainFfn = {
  ffn_up: { rows: ffn, columns: hidden, gain: 2, bias: true },
  ffn_down: { rows: hidden, columns: ffn, bias: true },
};
const squaredFfn = {
  ffn_up: { rows: ffn, columns: hidden, gain: 1.5 },
  ffn_down: { rows: hidden, columns: ffn },
};
const experts = (n) => ({
  ffn_gate_inp: { rows: n, columns: hidden, gain: 2, type: 'F32' },
  ffn_gate_exps: { rows: expertFfn, columns: hidden, gain: 2, experts: n },
  ffn_up_exps: { rows: expertFfn, columns: hidden, experts: n },
  ffn_down_exps: { rows: hidden, columns: expertFfn, experts: n },
});
const expertsInOne = (n) => ({
  ffn_gate_inp: { rows: n, columns: hidden, gain: 2, type: 'F32' },
  ffn_gate_up_exps: { rows: 2 * expertFfn, columns: hidden, gain: 1.5, experts: n },
  ffn_down_exps: { rows: hidden, columns: expertFfn, experts: n },
});
const gatedSharedExpert = {
  ffn_gate_inp_shexp: { taps: [hidden] },
  ffn_gate_shexp: { rows: 40, columns: hidden, gain: 2 },
  ffn_up_shexp: { rows: 40, columns: hidden },
  ffn_down_shexp: { rows: hidden, columns: 40 },
};
/** The tensors of recurrent layers. A `vector` has a name without ".weight" at the end. */
const shortConvolution = (width) => ({
  'shortconv.in_proj': { rows: 3 * hidden, columns: hidden, gain: 2 },
  'shortconv.conv': { taps: [width, hidden] },
  'shortconv.out_proj': { rows: hidden, columns: hidden, gain: 2 },
});
const mamba2 = ({ inner, state, heads: n, groups, width, normed = true }) => {
  const channels = inner + 2 * groups * state;
  return {
    ssm_in: { rows: inner + channels + n, columns: hidden, gain: 2 },
    ssm_conv1d: { taps: [width, channels], bias: true },
    'ssm_dt.bias': { vector: [n] },
    ssm_a: { vector: [1, n], middle: -1 },
    ssm_d: { vector: [1, n], middle: 1 },
    ...(normed && { ssm_norm: { norm: inner, shape: [inner / groups, groups] } }),
    ssm_out: { rows: hidden, columns: inner },
  };
};
const mamba2Keys = ({ inner, state, heads: n, groups, width }) => ({
  'ssm.conv_kernel': u32(width),
  'ssm.inner_size': u32(inner),
  'ssm.state_size': u32(state),
  'ssm.time_step_rank': u32(n),
  'ssm.group_count': u32(groups),
});
const deltaNet = ({ state, keyHeads, valueHeads, width }) => {
  const inner = valueHeads * state;
  const channels = 2 * keyHeads * state + inner;
  return {
    attn_qkv: { rows: channels, columns: hidden, gain: 2 },
    attn_gate: { rows: inner, columns: hidden },
    ssm_conv1d: { taps: [width, channels] },
    'ssm_dt.bias': { vector: [valueHeads] },
    ssm_a: { vector: [valueHeads], middle: -1 },
    ssm_beta: { rows: valueHeads, columns: hidden, gain: 2 },
    ssm_alpha: { rows: valueHeads, columns: hidden },
    ssm_norm: { norm: state },
    ssm_out: { rows: hidden, columns: inner },
  };
};
const gatedAttention = {
  ...attention(),
  attn_q: { rows: 2 * hidden, columns: hidden, gain: 2 },
  ...headNorms,
};
const keysAndValues = (n) => ({
  attn_k: { rows: n * headDim, columns: hidden, gain: 2 },
  attn_v: { rows: n * headDim, columns: hidden },
});
const expertKeys = (n, used) => ({ expert_count: u32(n), expert_used_count: u32(used) });

const rms = { 'attention.layer_norm_rms_epsilon': f32(1e-5) };
const meanAndVariance = { 'attention.layer_norm_epsilon': f32(1e-5) };
const rope = { 'rope.dimension_count': u32(headDim), 'rope.freq_base': f32(10000) };
const yarn = {
  'rope.scaling.type': text('yarn'),
  'rope.scaling.factor': f32(4),
  'rope.scaling.original_context_length': u32(64),
};
const longRope = (originalContext) => ({
  'rope.dimension_count': u32(8),
  'rope.freq_base': f32(10000),
  'rope.scaling.original_context_length': u32(originalContext),
  'rope.scaling.attn_factor': f32(1.19),
});
const graniteScales = {
  'attention.scale': f32(0.4),
  embedding_scale: f32(3),
  residual_scale: f32(0.5),
  logit_scale: f32(0.7),
};

const fixtures = {
  // Scaled rotary embeddings.
  'llama-linear': {
    architecture: 'llama',
    keys: { ...rms, ...rope, 'rope.scaling.type': text('linear'), 'rope.scaling.factor': f32(4) },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  'llama-yarn': {
    architecture: 'llama',
    keys: { ...rms, ...rope, ...yarn },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  'qwen2-yarn': {
    architecture: 'qwen2',
    keys: { ...rms, ...rope, ...yarn },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    qkvBiases: true,
  },
  // Logit caps so low that they have an effect.
  'gemma2-caps': {
    architecture: 'gemma2',
    keys: {
      ...rms,
      ...rope,
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      'attention.sliding_window': u32(12),
      attn_logit_softcapping: f32(1.5),
      final_logit_softcapping: f32(3),
    },
    layer: { ...norms(), ...postNorms, ...attention(), ...gatedFfn },
    tied: true,
  },
  'gemma3-linear': {
    architecture: 'gemma3',
    layers: 6,
    keys: {
      ...rms,
      ...rope,
      'rope.freq_base': f32(1000000),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': f32(8),
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      'attention.sliding_window': u32(12),
      final_logit_softcapping: f32(20),
    },
    layer: { ...norms(), ...postNorms, ...attention(), ...headNorms, ...gatedFfn },
    tied: true,
  },
  // LongRoPE: the context is within the original one, or longer. Only a part of a head is rotated.
  'phi3-short': {
    architecture: 'phi3',
    keys: { ...rms, ...longRope(512) },
    layer: { ...norms(), ...fusedAttention, ...fusedFfn },
    ropeFactors: 4,
    tied: true,
  },
  'phi3-long': {
    architecture: 'phi3',
    keys: { ...rms, ...longRope(32) },
    layer: { ...norms(), ...fusedAttention, ...fusedFfn },
    ropeFactors: 4,
  },
  granite: {
    architecture: 'granite',
    keys: { ...rms, ...rope, ...graniteScales },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  'granite-unrotated': {
    architecture: 'granite',
    keys: { ...rms, ...rope, ...graniteScales, 'rope.scaling.finetuned': bool(false) },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  smollm3: {
    architecture: 'smollm3',
    layers: 5,
    keys: { ...rms, ...rope },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    tied: true,
  },
  olmo2: {
    architecture: 'olmo2',
    keys: { ...rms, ...rope },
    layer: { ...postNorms, ...attention(), ...wideHeadNorms, ...gatedFfn },
  },
  'olmo2-window': {
    architecture: 'olmo2',
    layers: 5,
    keys: { ...rms, ...rope, ...yarn, 'attention.sliding_window': u32(12) },
    layer: { ...postNorms, ...attention(), ...wideHeadNorms, ...gatedFfn },
  },
  stablelm: {
    architecture: 'stablelm',
    keys: { ...meanAndVariance, 'rope.dimension_count': u32(4), 'rope.freq_base': f32(10000) },
    layer: { ...norms(true), ...attention(), ...gatedFfn },
    qkvBiases: true,
    outputNormBias: true,
  },
  'stablelm-parallel': {
    architecture: 'stablelm',
    keys: { ...meanAndVariance, 'rope.dimension_count': u32(4), 'rope.freq_base': f32(10000) },
    layer: {
      attn_norm: { norm: hidden, bias: true },
      ...attention(),
      attn_q_norm: { norm: hidden, shape: [headDim, heads] },
      attn_k_norm: { norm: kvHeads * headDim, shape: [headDim, kvHeads] },
      ...gatedFfn,
    },
    outputNormBias: true,
  },
  starcoder2: {
    architecture: 'starcoder2',
    keys: { ...meanAndVariance, ...rope },
    layer: { ...norms(true), ...attention(true), ...plainFfn },
    outputNormBias: true,
    tied: true,
  },
  // Llama's block and similar ones.
  ernie4_5: {
    architecture: 'ernie4_5',
    keys: { ...rms, ...rope },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  internlm2: {
    architecture: 'internlm2',
    keys: { ...rms, ...rope },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    qkvBiases: true,
  },
  mistral3: {
    architecture: 'mistral3',
    keys: {
      ...rms,
      ...rope,
      ...yarn,
      'rope.scaling.original_context_length': u32(12),
      'rope.scaling.yarn_log_multiplier': f32(0.6),
      'attention.temperature_scale': f32(0.5),
    },
    layer: { ...norms(), ...attention(), ...gatedFfn },
  },
  'mistral3-moe': {
    architecture: 'mistral3',
    keys: { ...rms, ...rope, ...expertKeys(4, 2), feed_forward_length: u32(expertFfn) },
    layer: { ...norms(), ...attention(), ...experts(4) },
  },
  maincoder: {
    architecture: 'maincoder',
    keys: { ...rms, ...rope },
    layer: { ...norms(), ...attention(), ...headNorms, ...gatedFfn },
    tied: true,
  },
  'hunyuan-dense': {
    architecture: 'hunyuan-dense',
    keys: { ...rms, ...rope, 'rope.scaling.alpha': f32(40), expert_count: u32(1) },
    layer: { ...norms(), ...attention(), ...headNorms, ...gatedFfn },
    tied: true,
  },
  arcee: {
    architecture: 'arcee',
    keys: { ...rms, ...rope },
    layer: { ...norms(), ...attention(), ...squaredFfn },
    ropeFreqs: [1, 1, 1.5, 3, 8, 8],
  },
  minicpm: {
    architecture: 'minicpm',
    keys: {
      ...rms,
      ...rope,
      embedding_scale: f32(3),
      residual_scale: f32(0.5),
      logit_scale: f32(0.7),
    },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    tied: true,
  },
  'minicpm-long': {
    architecture: 'minicpm',
    keys: {
      ...rms,
      ...longRope(32),
      'rope.dimension_count': u32(headDim),
      'rope.scaling.type': text('longrope'),
      embedding_scale: f32(2),
      residual_scale: f32(0.8),
      logit_scale: f32(1.5),
    },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    ropeFactors: 6,
    tied: true,
  },
  apertus: {
    architecture: 'apertus',
    keys: { ...rms, ...rope },
    globals: {
      'xielu.alpha_p': list(f32, [0.6, -0.5]),
      'xielu.alpha_n': list(f32, [0.9, -0.3]),
      'xielu.beta': f32(0.5),
      'xielu.eps': f32(-0.01),
    },
    layer: { ...norms(), ...attention(), ...headNorms, ...squaredFfn },
    ropeFreqs: [1, 1, 1.5, 3, 8, 8],
  },
  seed_oss: {
    architecture: 'seed_oss',
    keys: { ...rms, ...rope },
    layer: {
      attn_norm: { norm: hidden },
      post_attention_norm: { norm: hidden },
      ...attention(),
      ...gatedFfn,
    },
    qkvBiases: true,
    tied: true,
  },
  exaone4: {
    architecture: 'exaone4',
    keys: { ...rms, ...rope },
    layer: { ...postNorms, ...attention(), ...headNorms, ...gatedFfn },
    ropeFreqs: [1, 1.2, 1.5, 3, 8, 8],
    tied: true,
  },
  // Only a part of a head is rotated, in pairs of neighbours.
  glm4: {
    architecture: 'glm4',
    keys: { ...rms, ...rope, 'rope.dimension_count': u32(6) },
    layer: { ...norms(), ...postNorms, ...attention(), ...fusedFfn },
    qkvBiases: true,
    tied: true,
  },
  // Sections are for images; with sections, the pairs are halves of the rotated part.
  'glm4-sections': {
    architecture: 'glm4',
    keys: { ...rms, ...rope, 'rope.dimension_sections': list(i32, [2, 2, 2, 0]) },
    layer: { ...norms(), ...postNorms, ...attention(), ...fusedFfn },
  },
  nemotron: {
    architecture: 'nemotron',
    keys: { ...meanAndVariance, ...rope, 'rope.dimension_count': u32(6) },
    layer: { ...norms(true), ...attention(), ...squaredFfn },
    outputNormBias: true,
  },
  cohere2: {
    architecture: 'cohere2',
    layers: 5,
    keys: {
      ...meanAndVariance,
      ...rope,
      'attention.sliding_window': u32(12),
      logit_scale: f32(0.4),
    },
    layer: { attn_norm: { norm: hidden }, ...attention(), ...gatedFfn },
    tied: true,
  },
  // Mixtures of experts.
  mixtral: {
    architecture: 'llama',
    keys: { ...rms, ...rope, ...expertKeys(4, 2), feed_forward_length: u32(expertFfn) },
    layer: { ...norms(), ...attention(), ...experts(4) },
  },
  granitemoe: {
    architecture: 'granitemoe',
    keys: {
      ...rms,
      ...rope,
      ...graniteScales,
      ...expertKeys(8, 3),
      feed_forward_length: u32(expertFfn),
    },
    layer: { ...norms(), ...attention(), ...experts(8) },
  },
  qwen3moe: {
    architecture: 'qwen3moe',
    keys: {
      ...rms,
      ...rope,
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      ...expertKeys(8, 3),
      expert_feed_forward_length: u32(expertFfn),
    },
    layer: { ...norms(), ...attention(), ...headNorms, ...experts(8) },
  },
  qwen2vl: {
    architecture: 'qwen2vl',
    keys: { ...rms, ...rope, 'rope.dimension_sections': list(i32, [2, 3, 1, 0]) },
    layer: { ...norms(), ...attention(), ...gatedFfn },
    qkvBiases: true,
  },
  // A picture also adds to the stream after the first layers.
  qwen3vl: {
    architecture: 'qwen3vl',
    layers: 3,
    keys: {
      ...rms,
      ...rope,
      'rope.dimension_sections': list(i32, [2, 2, 2, 0]),
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      n_deepstack_layers: u32(2),
    },
    layer: { ...norms(), ...attention(), ...headNorms, ...gatedFfn },
    tied: true,
  },
  olmoe: {
    architecture: 'olmoe',
    // OLMoE has as many KV heads as heads.
    keys: {
      ...rms,
      ...rope,
      ...expertKeys(8, 3),
      'attention.head_count_kv': u32(heads),
      feed_forward_length: u32(expertFfn),
    },
    layer: {
      ...norms(),
      ...attention(),
      attn_k: { rows: hidden, columns: hidden, gain: 2 },
      attn_v: { rows: hidden, columns: hidden },
      attn_q_norm: { norm: hidden },
      attn_k_norm: { norm: hidden },
      ...experts(8),
    },
  },
  // Recurrent layers of unusual sizes: a short or a wide convolution, several groups, three value
  // heads for a key head, or different numbers of KV heads per layer.
  'lfm2-heads': {
    architecture: 'lfm2',
    layers: 5,
    keys: {
      ...rms,
      ...rope,
      'attention.head_count_kv': list(i32, [0, 2, 0, 4, 1]),
      'shortconv.l_cache': u32(5),
    },
    layer: (i) => ({
      ...norms(),
      ...([1, 3, 4].includes(i)
        ? { ...attention(), ...keysAndValues([0, 2, 0, 4, 1][i]), ...headNorms }
        : shortConvolution(5)),
      ...gatedFfn,
    }),
    outputNorm: 'token_embd_norm',
    tied: true,
  },
  'qwen35-heads': {
    architecture: 'qwen35',
    layers: 5,
    keys: {
      ...rms,
      ...rope,
      'rope.dimension_sections': list(i32, [3, 2, 1, 0]),
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      full_attention_interval: u32(3),
      'ssm.conv_kernel': u32(3),
      'ssm.state_size': u32(20),
      'ssm.group_count': u32(2),
      'ssm.time_step_rank': u32(6),
      'ssm.inner_size': u32(120),
    },
    layer: (i) => ({
      attn_norm: { norm: hidden },
      post_attention_norm: { norm: hidden },
      ...(i % 3 === 2
        ? gatedAttention
        : deltaNet({ state: 20, keyHeads: 2, valueHeads: 6, width: 3 })),
      ...gatedFfn,
    }),
  },
  qwen35moe: {
    architecture: 'qwen35moe',
    layers: 3,
    keys: {
      ...rms,
      ...rope,
      'rope.dimension_sections': list(i32, [2, 2, 2, 0]),
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      full_attention_interval: u32(2),
      ...expertKeys(6, 2),
      expert_feed_forward_length: u32(expertFfn),
      expert_shared_feed_forward_length: u32(40),
      'ssm.conv_kernel': u32(3),
      'ssm.state_size': u32(12),
      'ssm.group_count': u32(2),
      'ssm.time_step_rank': u32(4),
      'ssm.inner_size': u32(48),
    },
    layer: (i) => ({
      attn_norm: { norm: hidden },
      post_attention_norm: { norm: hidden },
      ...(i % 2 === 1
        ? gatedAttention
        : deltaNet({ state: 12, keyHeads: 2, valueHeads: 4, width: 3 })),
      ...(i === 2 ? expertsInOne(6) : experts(6)),
      ...gatedSharedExpert,
    }),
    tied: true,
  },
  'mamba2-groups': {
    architecture: 'mamba2',
    layers: 3,
    keys: {
      ...rms,
      feed_forward_length: u32(0),
      'attention.head_count': u32(0),
      ...mamba2Keys({ inner: 108, state: 12, heads: 9, groups: 3, width: 3 }),
    },
    layer: {
      attn_norm: { norm: hidden },
      ...mamba2({ inner: 108, state: 12, heads: 9, groups: 3, width: 3 }),
    },
    tied: true,
  },
  'granitehybrid-groups': {
    architecture: 'granitehybrid',
    layers: 4,
    keys: {
      ...rms,
      ...rope,
      ...graniteScales,
      'attention.head_count_kv': list(i32, [0, 4, 0, 2]),
      ...mamba2Keys({ inner: 96, state: 20, heads: 6, groups: 2, width: 4 }),
    },
    layer: (i) => ({
      ...norms(),
      ...(i % 2 === 1
        ? { ...attention(), ...keysAndValues([0, 4, 0, 2][i]) }
        : mamba2({ inner: 96, state: 20, heads: 6, groups: 2, width: 4 })),
      ...gatedFfn,
    }),
  },
  'falcon-h1-groups': {
    architecture: 'falcon-h1',
    layers: 3,
    keys: {
      ...rms,
      ...rope,
      'attention.key_length': u32(headDim),
      'attention.value_length': u32(headDim),
      ...mamba2Keys({ inner: 72, state: 16, heads: 6, groups: 2, width: 4 }),
    },
    layer: {
      attn_norm: { norm: hidden },
      ...attention(),
      ...mamba2({ inner: 72, state: 16, heads: 6, groups: 2, width: 4 }),
      ffn_norm: { vector: [hidden], middle: 1 },
      ...gatedFfn,
    },
  },
};

function tensorsOf(fixture) {
  const tensors = [];
  const random = randomNumbers(fixture.name);
  const add = (name, shape, values, type = 'F32') => tensors.push({ name, shape, values, type });
  const vector = (name, shape, middle, scale) => {
    const n = shape.reduce((a, b) => a * b);
    add(
      name,
      shape,
      normalNumbers(n, scale, random).map((x) => x + middle),
    );
  };
  const matrix = (name, part) => {
    const n = part.rows * part.columns * (part.experts ?? 1);
    const values = normalNumbers(n, (part.gain ?? 1) / Math.sqrt(part.columns), random);
    const shape = [part.columns, part.rows, ...(part.experts ? [part.experts] : [])];
    add(name, shape, values, part.type ?? 'F16');
  };
  const addPart = (name, part) => {
    if (part.vector) vector(name, part.vector, part.middle ?? 0, 0.3);
    else if (part.taps) vector(`${name}.weight`, part.taps, 0, 0.5);
    else if (part.norm) vector(`${name}.weight`, part.shape ?? [part.norm], 1, 0.3);
    else matrix(`${name}.weight`, part);
    if (part.bias) vector(`${name}.bias`, [part.rows ?? part.norm ?? part.taps[1]], 0, 0.3);
  };

  addPart('token_embd', { rows: vocabSize, columns: hidden, gain: fixture.tied ? 2 : 4 });
  for (let i = 0; i < fixture.layers; ++i) {
    const parts = typeof fixture.layer === 'function' ? fixture.layer(i) : fixture.layer;
    for (const [name, part] of Object.entries(parts)) {
      const biased = fixture.qkvBiases && /^attn_[qkv]$/.test(name);
      addPart(`blk.${i}.${name}`, biased ? { ...part, bias: true } : part);
    }
  }
  const outputNorm = fixture.outputNorm ?? 'output_norm';
  addPart(outputNorm, { norm: hidden, bias: fixture.outputNormBias });
  if (!fixture.tied) addPart('output', { rows: vocabSize, columns: hidden, gain: 1.5 });
  if (fixture.ropeFreqs) {
    const { ropeFreqs } = fixture;
    add('rope_freqs.weight', [ropeFreqs.length], Float32Array.from(ropeFreqs));
  }
  if (fixture.ropeFactors) {
    vector('rope_factors_short.weight', [fixture.ropeFactors], 1.5, 0.2);
    vector('rope_factors_long.weight', [fixture.ropeFactors], 4, 1);
  }
  return tensors;
}

/** A vocabulary that every engine loads: special tokens, the 256 bytes, and made-up words. */
function vocabularyKeys() {
  const tokens = ['<unk>', '<s>', '</s>'];
  const types = [2, 3, 3];
  for (let byte = 0; byte < 256; ++byte) {
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
    types.push(6);
  }
  tokens.push('<|endoftext|>');
  types.push(3);
  while (tokens.length < vocabSize) {
    tokens.push(`\u2581w${tokens.length}`);
    types.push(1);
  }
  return {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': list(text, tokens),
    'tokenizer.ggml.scores': list(
      f32,
      tokens.map((_, id) => -id),
    ),
    'tokenizer.ggml.token_type': list(i32, types),
    'tokenizer.ggml.bos_token_id': u32(1),
    'tokenizer.ggml.eos_token_id': u32(2),
    'tokenizer.ggml.unknown_token_id': u32(0),
    'tokenizer.ggml.add_bos_token': bool(true),
  };
}

function metadataOf(fixture) {
  const keys = {
    context_length: u32(512),
    embedding_length: u32(hidden),
    block_count: u32(fixture.layers),
    feed_forward_length: u32(ffn),
    'attention.head_count': u32(heads),
    'attention.head_count_kv': u32(kvHeads),
    vocab_size: u32(vocabSize),
    ...fixture.keys,
  };
  const { architecture } = fixture;
  return {
    'general.architecture': text(architecture),
    'general.name': text(`fixture-${fixture.name}`),
    ...Object.fromEntries(
      Object.entries(keys).map(([key, value]) => [`${architecture}.${key}`, value]),
    ),
    ...fixture.globals,
    ...vocabularyKeys(),
  };
}

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) {
  console.error('usage: make-architecture-fixtures.mjs OUTPUT_FOLDER [NAME…]');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
for (const [name, fixture] of Object.entries(fixtures)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const whole = { name, layers: 2, ...fixture };
  writeGguf(join(folder, `${name}.gguf`), metadataOf(whole), tensorsOf(whole));
  console.log(`${name}.gguf: written`);
}
