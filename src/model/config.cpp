#include "model/config.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/format.h"
#include "gguf/quoted.h"

namespace kinglet {
namespace {

constexpr std::array kArchitectures = {
    Architecture{"llama", RopeKind::interleaved},
};

// Larger numbers than any real model's, small enough that products of two of them fit 64 bits and
// buffers of their size can be refused in words.
constexpr uint32_t kMaxDim = 1 << 20;
constexpr uint32_t kMaxLayers = 1024;

Result<const Architecture*> find_architecture(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view name, header.require_string("general.architecture"));
  const auto row = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                [name](const Architecture& known) { return known.name == name; });
  if (row != kArchitectures.end()) return row;
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    known += cat(known.empty() ? "" : ", ", architecture.name);
  }
  return Error{ErrorCode::unsupported_architecture,
               cat("architecture ", quoted(name), " is not supported (supported: ", known, ")")};
}

// Reads keys that begin with the architecture's name.
class Reader {
 public:
  Reader(const GgufHeader& header, std::string_view architecture)
      : header_(header), prefix_(cat(architecture, ".")) {}

  Result<uint32_t> size(std::string_view key, uint32_t limit) const {
    KINGLET_ASSIGN(const uint32_t value, header_.require_uint(prefix_ + std::string(key)));
    return check(key, value, limit);
  }
  Result<uint32_t> size(std::string_view key, uint32_t limit, uint32_t fallback) const {
    KINGLET_ASSIGN(const uint32_t value, header_.get_uint(prefix_ + std::string(key), fallback));
    return check(key, value, limit);
  }
  Result<float> number(std::string_view key) const {
    return header_.require_float(prefix_ + std::string(key));
  }
  Result<float> number(std::string_view key, float fallback) const {
    return header_.get_float(prefix_ + std::string(key), fallback);
  }
  Result<std::string_view> text(std::string_view key, std::string_view fallback) const {
    return header_.get_string(prefix_ + std::string(key), fallback);
  }
  Error error(ErrorCode code, std::string_view key, std::string_view what) const {
    return {code, cat(prefix_, key, " ", what)};
  }

 private:
  Result<uint32_t> check(std::string_view key, uint32_t value, uint32_t limit) const {
    if (value >= 1 && value <= limit) return value;
    return error(ErrorCode::corrupt, key, cat("is ", value, ", expected 1 to ", limit));
  }

  const GgufHeader& header_;
  std::string prefix_;
};

Status read_heads(const Reader& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.n_heads, keys.size("attention.head_count", kMaxDim));
  KINGLET_ASSIGN(config.n_kv_heads, keys.size("attention.head_count_kv", kMaxDim, config.n_heads));
  if (config.n_heads % config.n_kv_heads != 0) {
    return keys.error(ErrorCode::corrupt, "attention.head_count",
                      cat("is ", config.n_heads, ", expected a multiple of the ", config.n_kv_heads,
                          " KV heads"));
  }
  const uint32_t even_share = config.hidden_dim / config.n_heads;
  KINGLET_ASSIGN(config.head_dim,
                 keys.size("attention.key_length", kMaxDim, std::max(even_share, 1u)));
  KINGLET_ASSIGN(const uint32_t value_length,
                 keys.size("attention.value_length", kMaxDim, config.head_dim));
  if (value_length != config.head_dim) {
    return keys.error(ErrorCode::unsupported_feature, "attention.value_length",
                      cat("is ", value_length, ", which differs from the key length ",
                          config.head_dim, ": not supported"));
  }
  if (uint64_t{config.n_heads} * config.head_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, "attention.head_count",
                      cat("times the head size ", config.head_dim, " exceeds ", kMaxDim));
  }
  return {};
}

Status read_rope(const Reader& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.rope_dim,
                 keys.size("rope.dimension_count", config.head_dim, config.head_dim));
  if (config.rope_dim % 2 != 0) {
    return keys.error(ErrorCode::corrupt, "rope.dimension_count",
                      cat("is ", config.rope_dim, ", expected an even number"));
  }
  KINGLET_ASSIGN(config.rope_theta, keys.number("rope.freq_base", 10000.0f));
  if (!(config.rope_theta > 0)) {
    return keys.error(ErrorCode::corrupt, "rope.freq_base", "is not positive");
  }
  KINGLET_ASSIGN(const std::string_view scaling, keys.text("rope.scaling.type", "none"));
  if (scaling == "linear") {
    KINGLET_ASSIGN(const float factor, keys.number("rope.scaling.factor"));
    if (!(factor > 0)) {
      return keys.error(ErrorCode::corrupt, "rope.scaling.factor", "is not positive");
    }
    config.rope_scale = 1.0f / factor;
  } else if (scaling != "none") {
    return keys.error(ErrorCode::unsupported_feature, "rope.scaling.type",
                      cat("is ", quoted(scaling), ": not supported (supported: none, linear)"));
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(const GgufHeader& header) {
  ModelConfig config;
  KINGLET_ASSIGN(config.architecture, find_architecture(header));
  const Reader keys(header, config.architecture->name);
  KINGLET_ASSIGN(config.n_layers, keys.size("block_count", kMaxLayers));
  KINGLET_ASSIGN(config.hidden_dim, keys.size("embedding_length", kMaxDim));
  KINGLET_ASSIGN(config.ffn_dim, keys.size("feed_forward_length", kMaxDim));
  KINGLET_ASSIGN(config.context_length, keys.size("context_length", UINT32_MAX));
  KINGLET_ASSIGN(config.norm_epsilon, keys.number("attention.layer_norm_rms_epsilon"));
  KINGLET_TRY(read_heads(keys, config));
  KINGLET_TRY(read_rope(keys, config));
  if (header.find(cat(config.architecture->name, ".expert_count")) != nullptr) {
    return keys.error(ErrorCode::unsupported_feature, "expert_count",
                      "names a mixture of experts: not supported");
  }
  return config;
}

}  // namespace kinglet
