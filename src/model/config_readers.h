// The parts of read_config(), by subject. All errors name the key.
#pragma once

#include "model/config.h"
#include "model/keys.h"

namespace kinglet {

constexpr uint32_t kMaxLayers = 1024;
constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";

// Returns the first layer with attention and no window. If all layers with attention have a window,
// returns the first of them; null if no layer has attention.
const LayerConfig* first_attention(const ModelConfig& config);

// Reads the windows of the layers. Returns the size that the layers with a window have; 0: no size
// is given.
Result<uint32_t> read_windows(const Keys& keys, ModelConfig& config);

// Reads the heads of each layer. If no key gives their size, it is the hidden size divided by the
// number of heads of first_attention().
Status read_heads(const Keys& keys, ModelConfig& config);

// Reads the scale of scores.
Status read_scores(const Keys& keys, ModelConfig& config);

Status read_rope(const Keys& keys, ModelConfig& config);
Status read_rotations(const Keys& keys, bool has_windows, ModelConfig& config);

// Reads the width of each layer's feed-forward network. If all networks are experts, the file may
// lack the width of other networks.
Status read_ffn(const Keys& keys, ModelConfig& config);
Status read_experts(const Keys& keys, ModelConfig& config);

}  // namespace kinglet
