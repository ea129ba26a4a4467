#include "model/architecture.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/format.h"
#include "base/quoted.h"

namespace kinglet {
namespace {

// Every row is checked against another implementation: tests/model/parity_test.cpp.
constexpr Architecture kArchitectures[] = {
    {.name = "llama", .experts = Presence::optional, .rope = RopeKind::interleaved},
    {.name = "granite", .scales_by_file = true, .rope = RopeKind::interleaved, .rope_switch = true},
    {.name = "granitemoe",
     .experts = Presence::required,
     .scales_by_file = true,
     .rope = RopeKind::interleaved,
     .rope_switch = true},
    {.name = "smollm3", .rope = RopeKind::interleaved, .unrotated_period = 4},
    {.name = "qwen2", .qkv_biases = Presence::required},
    {.name = "qwen3", .head_norm = HeadNorm::shared},
    {.name = "qwen3moe", .head_norm = HeadNorm::shared, .experts = Presence::required},
    {.name = "olmo2",
     .pre_norms = false,
     .post_norms = true,
     .head_norm = HeadNorm::full_width,
     .window_period = 4,
     .plain_local_rope = true},
    {.name = "olmoe",
     .head_norm = HeadNorm::full_width,
     .experts = Presence::required,
     .normalizes_experts = false},
    {.name = "gemma", .activation = Activation::gelu, .scales_embedding = true},
    {.name = "gemma2",
     .post_norms = true,
     .activation = Activation::gelu,
     .scales_embedding = true,
     .attention_softcap = 50.0f,
     .logit_softcap = 30.0f,
     .may_cap_logits = true,
     .n_layers_of_wide_scale = 46,
     .window = 4096,
     .window_period = 2},
    {.name = "gemma3",
     .post_norms = true,
     .head_norm = HeadNorm::shared,
     .activation = Activation::gelu,
     .scales_embedding = true,
     .may_cap_logits = true,
     .n_layers_of_wide_scale = 62,
     .window_period = 6,
     .plain_local_rope = true,
     .local_rope_theta = 10000.0f},
    {.name = "phi2",
     .norm = NormKind::layer,
     .parallel = Presence::required,
     .activation = Activation::gelu,
     .gate = Gate::none,
     .qkv_biases = Presence::required,
     .other_biases = Presence::required},
    {.name = "phi3", .gate = Gate::fused},
    {.name = "gpt2",
     .norm = NormKind::layer,
     .activation = Activation::gelu,
     .gate = Gate::none,
     .qkv_biases = Presence::required,
     .other_biases = Presence::required,
     .learned_positions = true,
     .rope = RopeKind::none},
    {.name = "starcoder2",
     .norm = NormKind::layer,
     .activation = Activation::gelu,
     .gate = Gate::none,
     .qkv_biases = Presence::required,
     .other_biases = Presence::required},
    {.name = "lfm2",
     .recurrent_mixer = MixerKind::short_convolution,
     .output_norm = "token_embd_norm",
     .head_norm = HeadNorm::shared},
    {.name = "lfm2moe",
     .recurrent_mixer = MixerKind::short_convolution,
     .output_norm = "token_embd_norm",
     .head_norm = HeadNorm::shared,
     .experts = Presence::required,
     .may_gate_by_sigmoid = true},
    {.name = "qwen35",
     .recurrent_mixer = MixerKind::delta_net,
     .full_attention_interval = 4,
     .gated_attention = true,
     .ffn_norm = "post_attention_norm",
     .head_norm = HeadNorm::shared},
    {.name = "mamba2", .mixer = MixerKind::mamba2, .has_ffn = false, .rope = RopeKind::none},
    {.name = "granitehybrid",
     .recurrent_mixer = MixerKind::mamba2,
     .experts = Presence::optional,
     .scales_by_file = true,
     .rope = RopeKind::interleaved,
     .rope_switch = true},
    {.name = "falcon-h1", .mixer = MixerKind::attention_beside_mamba2},
    {.name = "stablelm",
     .norm = NormKind::layer,
     .head_norm = HeadNorm::own_or_none,
     .parallel = Presence::optional},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Result<const Architecture*> find_architecture(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view name, header.require_string("general.architecture"));
  const auto* row = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                 [name](const Architecture& known) { return known.name == name; });
  if (row != std::end(kArchitectures)) return row;
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    known += cat(known.empty() ? "" : ", ", architecture.name);
  }
  return Error{ErrorCode::unsupported_architecture,
               cat("architecture ", quoted(name), " is not supported (supported: ", known, ")")};
}

}  // namespace kinglet
