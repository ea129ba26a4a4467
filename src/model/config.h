// What a file's metadata says about the shape of its transformer.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// Which elements of a head are rotated together.
enum class RopeKind : uint8_t {
  interleaved,  // neighbours: (x[0], x[1]), (x[2], x[3]), …
};

// One row of the table of architectures: what the forward pass does differently for each.
struct Architecture {
  std::string_view name;  // general.architecture
  RopeKind rope;
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  uint32_t n_layers = 0;
  uint32_t hidden_dim = 0;
  uint32_t ffn_dim = 0;
  uint32_t n_heads = 0;
  uint32_t n_kv_heads = 0;  // n_heads is a multiple of it
  uint32_t head_dim = 0;
  uint32_t vocab_size = 0;
  uint32_t context_length = 0;  // positions the model was trained for
  float norm_epsilon = 0;
  uint32_t rope_dim = 0;    // leading elements of a head that are rotated; even
  float rope_theta = 0;     // base of the rotation's frequencies
  float rope_scale = 1.0f;  // multiplies positions (linear scaling)

  uint32_t q_dim() const { return n_heads * head_dim; }
  uint32_t kv_dim() const { return n_kv_heads * head_dim; }
};

// ErrorCode::unsupported_architecture, missing_metadata, wrong_type, unsupported_feature, corrupt,
// each naming the key.
Result<ModelConfig> read_config(const GgufHeader& header);

}  // namespace kinglet
