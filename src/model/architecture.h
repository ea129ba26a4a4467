// What makes one transformer different from another, as data: one row for each architecture that
// general.architecture can name. The forward pass reads these traits; nothing asks for names.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

enum class NormKind : uint8_t {
  rms,    // root mean square, weight
  layer,  // mean and variance, weight and bias
};

// Which elements of a head are rotated together.
enum class RopeKind : uint8_t {
  none,
  interleaved,  // neighbours: (x[0], x[1]), (x[2], x[3]), …
  halves,       // (x[0], x[n / 2]), (x[1], x[n / 2 + 1]), … of the n that are rotated (GPT-NeoX)
};

// What rope.dimension_sections tells: see RopeConfig.
enum class Sections : uint8_t { none, in_order, woven };

// How the tokens of a layer learn of those before them, or of all.
enum class MixerKind : uint8_t {
  attention,
  bidirectional_attention,  // of encoders: over whole texts
  short_convolution,
  delta_net,
  mamba2,
  attention_beside_mamba2,  // both read the same, and what they make is added
};

enum class Activation : uint8_t {
  silu,
  gelu,
  relu_squared,  // max(x, 0)²
  xielu,         // see Xielu
};

// The feed-forward network: down(activation(gate) * up), or down(activation(up)).
enum class Gate : uint8_t {
  none,
  separate,  // ffn_gate, ffn_up
  fused,     // both in ffn_up, the gate's rows first
  as_given,  // whichever of these the file's tensors are
};

// What queries and keys are normalized by.
enum class HeadNorm : uint8_t {
  none,
  shared,              // each head, all by the same weight [head_dim]
  own_or_none,         // each head by its own weight [n_heads][head_dim], where the file has one
  full_width,          // all heads together, by a weight [n_heads * head_dim]
  full_width_or_none,  // the same, where the file has one
};

// Whether tensors must, may or must not be there.
enum class Presence : uint8_t { no, optional, required };

// What makes one vector of a text's states, as POOLING_TYPE in files.
enum class Pooling : uint8_t {
  none,  // one for each token
  mean,
  cls,   // the first token's
  last,  // the last token's
  rank,  // scores
};

// How a reranker makes scores of a text: the names of its tensors are the same everywhere.
struct Ranking {
  Pooling pooling = Pooling::cls;  // of the vector that is scored
  bool gelu = false;               // after "cls", in place of tanh
  bool softmax = false;            // over the scores
};

// The scales of files that have no keys for them.
struct ScaleDefaults {
  float embedding = 1;
  float depth = 0;          // residuals are multiplied by depth / sqrt(n_layers); 0: they are not
  uint32_t base_width = 0;  // logits are divided by hidden_dim / base_width; 0: they are not
};

struct Architecture {
  std::string_view name;  // general.architecture

  MixerKind mixer = MixerKind::attention;
  // Of layers without KV heads (attention.head_count_kv is 0), or those that
  // full_attention_interval leaves out.
  MixerKind recurrent_mixer = MixerKind::attention;
  uint32_t full_attention_interval = 0;  // every so many layers, one has attention; 0: see above
  bool gated_attention = false;  // queries and gates of the output are in one matrix, by heads
  bool has_ffn = true;
  std::string_view ffn_norm = "ffn_norm";        // its name in a file
  std::string_view output_norm = "output_norm";  // the same; "": there is none

  NormKind norm = NormKind::rms;
  bool pre_norms = true;             // in front of attention and of the feed-forward network
  bool post_norms = false;           // after each, before it is added to the stream
  bool sum_norms = false;            // of the stream itself, after each was added (BERT)
  bool may_lack_first_norm = false;  // in front of the first layer's attention
  Presence norm_biases = Presence::required;  // of layer norms of the stream
  HeadNorm head_norm = HeadNorm::none;
  bool rotates_first = false;      // heads are rotated before they are normalized
  bool normalizes_values = false;  // each head, by no weight

  // attention.key_length_swa is the size of heads in layers with a window. The file lists which
  // those are, and has factors of the others' rotation.
  bool two_head_sizes = false;
  bool keys_may_be_values = false;  // of layers without "attn_v": the keys before their norm
  bool shares_rows = false;  // of the last attention.shared_kv_layers layers: see LayerConfig

  // Attention and feed-forward network read the same norm of the layer's input. Optional: in files
  // where the latter has no norm of its own.
  Presence parallel = Presence::no;

  Activation activation = Activation::silu;
  bool may_name_activation = false;  // in hidden_activation
  Gate gate = Gate::separate;
  Presence experts = Presence::no;
  bool normalizes_experts = true;    // the chosen experts' weights sum to 1
  bool may_gate_by_sigmoid = false;  // expert_gating_func may be 2
  bool gates_shared_expert = false;  // there is one, and each token has a gate for it

  Presence qkv_biases = Presence::optional;
  Presence other_biases = Presence::optional;  // of the other matrices of a layer

  bool scales_embedding = false;   // by sqrt(hidden_dim)
  bool scales_by_file = false;     // embeddings, residuals and logits
  ScaleDefaults scales = {};       // of these, where the file does not say
  float attention_scale = 0;       // of scores, whatever the file says; 0: by the heads' size
  bool scales_scores = false;      // attention.scale does
  bool warms_scores = false;       // attention.temperature_scale: they grow with the position
  bool multiplies_logits = false;  // by logit_scale, which must be there; others divide by it
  float attention_softcap = 0;     // of scores, where the file does not say; 0: none
  float logit_softcap = 0;
  bool may_cap_logits = false;  // where the file says so
  // The size of this many layers, and it alone, scales queries by sqrt(hidden_dim / n_heads), not
  // by sqrt(head_dim): no key tells.
  uint32_t n_layers_of_wide_scale = 0;

  bool layer_inputs = false;       // see LayerInput
  bool deepstack = false;          // n_deepstack_layers: see ModelConfig
  bool scales_layers = false;      // the stream after each, where the file has "layer_output_scale"
  bool embedding_norm = false;     // of the stream, before the first layer
  bool token_types = false;        // the vector of the first is added, where there are any
  bool learned_positions = false;  // vectors, added to the embedding
  bool alibi = false;              // scores fall with the distance
  RopeKind rope = RopeKind::halves;
  Sections sections = Sections::none;
  bool sections_are_halves = false;    // where rope.dimension_sections is there, rope is halves
  bool rope_alpha = false;             // rope.scaling.alpha scales the base
  bool yarn_log_multiplier = false;    // rope.scaling.yarn_log_multiplier scales magnitudes
  bool rope_switch = false;            // rope.scaling.finetuned = false: no layer is rotated
  uint32_t unrotated_period = 0;       // every so many layers, one is not rotated; 0: none
  uint32_t window = 0;                 // of attention, where the file does not say; 0: none
  uint32_t n_layers_of_window = 0;     // of the one size that has it then; 0: all have
  uint32_t window_period = 0;          // every so many layers, one has no window; 0: none
  bool full_layer_first = false;       // that one is the first of them, not the last
  bool rotates_windows_alone = false;  // where layers have windows, those without are not rotated
  bool plain_local_rope = false;       // layers with a window are rotated without scaling,
  float local_rope_theta = 0;          // and by this base, where the file does not say; 0: the same

  Ranking ranking = {};

  // Whether it makes vectors of whole texts, whose tokens see each other, and no text.
  bool is_encoder() const { return mixer == MixerKind::bidirectional_attention; }
};

// All that are supported.
std::span<const Architecture> architectures();

// ErrorCode::unsupported_architecture names what was found and what is supported.
Result<const Architecture*> find_architecture(const GgufHeader& header);

}  // namespace kinglet
