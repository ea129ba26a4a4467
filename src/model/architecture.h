// The differences between architectures, as data: one row for each value of general.architecture.
// The forward pass reads these traits; no code compares names.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

class Keys;
struct ModelConfig;

enum class NormKind : uint8_t {
  rms,    // root mean square, weight
  layer,  // mean and variance, weight and bias
};

// Which elements of a head are rotated together.
enum class RopeKind : uint8_t {
  none,
  interleaved,  // neighbours: (x[0], x[1]), (x[2], x[3]), …
  halves,       // (x[0], x[n / 2]), (x[1], x[n / 2 + 1]), … of the n rotated elements (GPT-NeoX)
};

// The meaning of rope.dimension_sections: see RopeConfig.
enum class Sections : uint8_t { none, in_order, interleaved };

// The part of a layer in which tokens see each other.
enum class MixerKind : uint8_t {
  attention,
  bidirectional_attention,  // over whole texts, in encoders
  short_convolution,
  delta_net,
  mamba2,
  attention_beside_mamba2,  // both have the same input, and their outputs are added
  feed_forward,             // in its place: tokens do not see each other in this layer
};

constexpr bool has_attention(MixerKind mixer) {
  return mixer == MixerKind::attention || mixer == MixerKind::bidirectional_attention ||
         mixer == MixerKind::attention_beside_mamba2;
}

enum class Activation : uint8_t {
  silu,
  gelu,
  relu_squared,  // max(x, 0)²
  xielu,         // see Xielu
  quick_gelu,    // x / (1 + e^(-1.702 x)) (Hendrycks and Gimpel, 2016)
};

// The feed-forward network: down(activation(gate) * up), or down(activation(up)).
enum class Gate : uint8_t {
  none,
  separate,  // ffn_gate, ffn_up
  fused,     // both in ffn_up, the gate's rows first
  as_given,  // any of these, according to the file's tensors
};

// How queries and keys are normalized.
enum class HeadNorm : uint8_t {
  none,
  shared,              // each head, all with the same weight [head_dim]
  own_or_none,         // each head with its own weight [n_heads][head_dim], if the file has one
  full_width,          // all heads together, with a weight [n_heads * head_dim]
  full_width_or_none,  // the same, if the file has one
};

// What multiplies the output of attention's heads, computed from the layer's input.
enum class OutputGate : uint8_t {
  none,
  in_queries,        // the sigmoid of each element; "attn_q" has, for each head, its query and gate
  of_heads,          // the sigmoid of one number for each head, "attn_gate" [n_heads]
  softplus_or_none,  // log2(1 + 2^x) of each element, "attn_gate" [n_heads * head_dim], if there
};

// Whether tensors are absent, may be there, or must be there.
enum class Presence : uint8_t { no, optional, required };

// How the hidden states of a text become one vector; the values of pooling_type in files.
enum class Pooling : uint8_t {
  none,  // a vector for each token
  mean,
  cls,   // the first token's
  last,  // the last token's
  rank,  // scores
};

// How a reranker turns a vector into scores. All rerankers use the same tensor names.
struct Ranking {
  Pooling pooling = Pooling::cls;  // makes the vector
  bool gelu = false;               // after "cls", instead of tanh
  bool softmax = false;            // over the scores
};

struct MixerTraits {
  MixerKind main = MixerKind::attention;
  // The mixer of the other layers: those without KV heads (attention.head_count_kv is 0), or those
  // that full_attention_interval leaves out.
  MixerKind other = MixerKind::attention;
  uint32_t interval =
      0;  // one in so many layers has attention, if the file has no key; 0: see above
};

struct NormTraits {
  std::string_view ffn_name = "ffn_norm";        // tensor name in the file
  std::string_view output_name = "output_norm";  // the same; "": none
  NormKind kind = NormKind::rms;
  bool before = true;                    // attention and the feed-forward network
  Presence after = Presence::no;         // each, before its output is added to the stream
  bool of_sums = false;                  // of the stream itself, after each addition (BERT)
  bool may_lack_first = false;           // the one before the first layer's attention
  Presence biases = Presence::required;  // of layer norms of the stream
  bool embedding = false;                // of the stream, before the first layer
};

struct AttentionTraits {
  OutputGate gate = OutputGate::none;
  HeadNorm head_norm = HeadNorm::none;
  bool rotates_first = false;            // heads are rotated before they are normalized
  bool normalizes_values = false;        // each head, without a weight
  bool two_head_sizes = false;           // attention.key_length_swa is that of layers with a window
  bool keys_may_be_values = false;       // without "attn_v", values are the keys before their norm
  Presence biases = Presence::optional;  // of queries, keys and values
  float scale = 0;                       // of scores, whatever the file says; 0: from head_dim
  bool scales_by_file = false;           // attention.scale is the scale of scores
  // Models with this many layers scale queries by sqrt(hidden_dim / n_heads) instead of
  // sqrt(head_dim). No key says so (Gemma 2 and 3, 27 B).
  uint32_t n_layers_of_wide_scale = 0;
  bool alibi = false;  // scores decrease with the distance
};

// Layers in which a token sees only the positions near it.
struct WindowTraits {
  uint32_t size = 0;              // if the file has no key; 0: none
  uint32_t n_layers = 0;          // only models with so many layers have windows; 0: all have
  uint32_t period = 0;            // one in so many layers has no window; 0: none
  bool full_layer_first = false;  // it is the first of them, not the last
  bool required = false;          // the file must have a size,
  bool listed = false;            // and a list of the layers
};

// A base that has no default: the file must have its key.
constexpr float kBaseOfFile = -1;

struct RopeTraits {
  RopeKind kind = RopeKind::halves;
  float theta = 10000;  // the base, if the file has no key
  Sections sections = Sections::none;
  bool yarn_log_multiplier = false;  // rope.scaling.yarn_log_multiplier scales magnitudes
  bool may_be_off = false;           // rope.scaling.finetuned = false: no layer is rotated
  bool windows_alone = false;        // in models with windows, layers without are not rotated
  // Divisors of frequencies, "rope_freqs"; required: if a layer has no window.
  Presence factors = Presence::optional;
  bool plain_local = false;  // layers with a window are rotated without scaling and factors,
  float local_theta = 0;     // and with this base if the file has no key; 0: the same
};

struct FeedForwardTraits {
  bool exists = true;  // after each layer's mixer
  // Attention and the feed-forward network read the same norm of the layer's input. Optional: only
  // in files where the feed-forward network has no norm of its own.
  Presence parallel = Presence::no;
  Activation activation = Activation::silu;
  Gate gate = Gate::separate;
  Presence experts = Presence::no;
  bool normalizes_experts = true;    // the weights of the chosen experts sum to 1
  bool may_gate_by_sigmoid = false;  // expert_gating_func may be 2
  bool gates_shared_expert = false;  // there is a shared expert, with a gate for each token
};

// Of embeddings, of the stream and of logits.
struct ScaleTraits {
  bool embedding_by_width = false;  // by sqrt(hidden_dim)
  bool by_file = false;             // the file scales embeddings, residuals and logits
  float logit_softcap = 0;
  bool may_cap_logits = false;     // if the file has the key
  Presence layers = Presence::no;  // the stream after each layer, "layer_output_scale"
};

// What the inputs of layers are made of: see LayerInput.
enum class LayerInputs : uint8_t {
  none,
  projection,            // of a token's embedding
  projection_and_table,  // and the token's row of a table of its own
};

// What is added to the stream in addition to the tokens' embeddings.
struct EmbeddingTraits {
  bool token_types = false;        // if the file has them, the vector of type 0
  bool learned_positions = false;  // a vector for each position
  LayerInputs layer_inputs = LayerInputs::none;
};

struct Architecture {
  std::string_view name;  // general.architecture

  MixerTraits mixers = {};
  NormTraits norms = {};
  AttentionTraits attention = {};
  WindowTraits window = {};
  RopeTraits rope = {};
  FeedForwardTraits ffn = {};
  ScaleTraits scales = {};
  EmbeddingTraits embedding = {};
  Presence other_biases = Presence::optional;  // of a layer's matrices but queries, keys and values
  Ranking ranking = {};
  bool projects_states = false;  // "output" makes embeddings, embedding_length_out wide, of states
  // Reads what only files of this architecture say, after everything else is read; may be null.
  Status (*read_own)(const Keys& keys, ModelConfig& config) = nullptr;

  // Whether it turns whole texts into vectors and generates no text.
  bool is_encoder() const { return mixers.main == MixerKind::bidirectional_attention; }
};

// ErrorCode::unsupported_architecture names what was found and what is supported.
Result<const Architecture*> find_architecture(const GgufHeader& header);

}  // namespace kinglet
