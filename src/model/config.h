// The shape of a transformer, read from a file's metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "model/architecture.h"
#include "model/rope.h"

namespace kinglet {

// The angles by which a layer's queries and keys are rotated.
enum class Rotation : uint8_t {
  scaled,  // by RopeTable::scaled
  local,   // by RopeTable::local
  none,
};
constexpr size_t kRotationTables = 2;  // of scaled and local

// How an expert's logit becomes its weight.
enum class ExpertGating : uint8_t { softmax = 1, sigmoid = 2 };  // expert_gating_func

// With ALiBi, the slopes of the heads are 2^(-8 i / n_heads), i = 1 … n_heads, if n_heads is a
// power of two.
constexpr float kAlibiBias = 8.0f;

// n_heads and the fields after it describe attention; they are 0 in layers without it.
struct LayerConfig {
  uint32_t ffn_dim = 0;      // of a dense feed-forward network
  bool has_experts = false;  // in its place
  MixerKind mixer = MixerKind::attention;
  uint32_t n_heads = 0;
  uint32_t n_kv_heads = 0;  // n_heads is a multiple of it
  uint32_t head_dim = 0;
  float attention_scale = 0;  // multiplies scores
  // The number of positions that a token sees, including its own; in an encoder, positions at most
  // window / 2 away; 0: all.
  uint32_t window = 0;
  Rotation rotation = Rotation::none;
  uint32_t rows_layer = 0;  // the layer whose keys and values it reads: itself, or an earlier one

  bool has_attention() const { return kinglet::has_attention(mixer); }
};

// How a file names the tensors of its layers.
struct LayerNames {
  struct Other {
    std::string_view part;
    std::string_view in_file;
  };
  std::string_view prefix = "blk.";    // before the number of a layer
  std::span<const Other> others = {};  // the parts with other names than in text models
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  LayerNames names;
  uint32_t n_layers = 0;
  uint32_t n_skipped_layers = 0;  // after these: they predict further tokens and are not used
  uint32_t hidden_dim = 0;
  uint32_t layer_input_dim = 0;  // of the embeddings for each layer: see LayerInput; 0: none
  uint32_t vocab_size = 0;
  uint32_t n_deepstack_layers = 0;  // the first layers, after which parts of pictures are added
  uint32_t context_length = 0;      // positions the model was trained for
  uint32_t n_experts = 0;           // 0: one dense feed-forward network
  uint32_t n_experts_used = 0;      // for a token
  uint32_t expert_dim = 0;          // width of an expert
  uint32_t shared_dim = 0;          // width of the expert that all tokens use; 0: none
  ExpertGating expert_gating = ExpertGating::softmax;
  Activation activation = Activation::silu;
  float norm_epsilon = 0;
  uint32_t n_norm_groups = 1;   // parts of the stream that are normalized each by itself
  float embedding_scale = 1;    // multiplies embeddings
  float residual_scale = 1;     // multiplies what is added to the stream
  float logit_scale = 1;        // multiplies logits
  float attention_softcap = 0;  // bounds scores; 0: unbounded
  float logit_softcap = 0;
  // A query at position p is scaled by 1 + temperature_scale ln(1 + ⌊p / rope.original_context⌋).
  float temperature_scale = 0;
  RopeKind rope_kind = RopeKind::none;
  RopeConfig rope;
  std::vector<LayerConfig> layers;  // [n_layers]

  // The width of a token's embeddings for all layers.
  size_t layer_inputs_width() const { return size_t{n_layers} * layer_input_dim; }

  // The width of a picture's row: the embedding, and the parts added after the first layers.
  uint32_t image_width() const { return hidden_dim * (1 + n_deepstack_layers); }

  // The number of pairs of a head's elements that are rotated, by Rotation::scaled or local.
  size_t n_pairs(size_t rotation) const {
    return (rotation == static_cast<size_t>(Rotation::local) ? rope.local_dim : rope.dim) / 2;
  }

  std::optional<Pooling> pooling;  // how a text's states become one vector, if the file says so
  uint32_t n_labels = 1;           // scores of a reranker

  // Whether the model can generate text.
  bool makes_text() const {
    return !architecture->is_encoder() && pooling.value_or(Pooling::none) == Pooling::none;
  }
};

// ErrorCode::unsupported_feature if the model cannot generate text.
Status check_makes_text(const ModelConfig& config);

// ErrorCode::unsupported_architecture, missing_metadata, wrong_type, unsupported_feature, corrupt,
// each naming the key.
Result<ModelConfig> read_config(const GgufHeader& header);

}  // namespace kinglet
