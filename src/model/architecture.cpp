#include "model/architecture.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr NormTraits kBertNorms = {.output_name = "",
                                   .kind = NormKind::layer,
                                   .before = false,
                                   .of_sums = true,
                                   .embedding = true};

// ---- What only one architecture's files say: functions of its row

// Scores grow with the position.
Status read_mistral3(const Keys& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.temperature_scale, keys.number("attention.temperature_scale", 0.0f));
  return {};
}

// These files may lack scales.
Status read_minicpm(const Keys& keys, ModelConfig& config) {
  const float by_depth = 1.4f / std::sqrt(static_cast<float>(config.n_layers));
  const float by_width = static_cast<float>(config.hidden_dim) / 256.0f;
  KINGLET_ASSIGN(config.embedding_scale, keys.positive("embedding_scale", 12.0f));
  KINGLET_ASSIGN(config.residual_scale, keys.positive("residual_scale", by_depth));
  KINGLET_ASSIGN(const float logit_divisor, keys.positive("logit_scale", by_width));
  config.logit_scale = 1.0f / logit_divisor;
  return {};
}

// One in four layers is not rotated.
Status read_smollm3(const Keys&, ModelConfig& config) {
  for (uint32_t i = 3; i < config.n_layers; i += 4) config.layers[i].rotation = Rotation::none;
  return {};
}

Status read_qwen3vl(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "n_deepstack_layers";
  KINGLET_ASSIGN(config.n_deepstack_layers, keys.number(kKey, uint32_t{0}));
  if (config.n_deepstack_layers <= config.n_layers) return {};
  return keys.error(ErrorCode::corrupt, kKey,
                    cat("is ", config.n_deepstack_layers, " of ", config.n_layers, " layers"));
}

// Multiplies the base by alpha^(d / (d - 2)): the fastest pair then rotates as before, and the
// slowest one alpha times slower.
Status read_hunyuan_dense(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "rope.scaling.alpha";
  KINGLET_ASSIGN(const float alpha, keys.number(kKey, 0.0f));
  if (alpha <= 0) return {};
  const uint32_t head_dim = first_attention(config)->head_dim;
  if (head_dim <= 2) {
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("cannot scale the base of heads of ", head_dim));
  }
  const auto size = static_cast<float>(head_dim);
  config.rope.theta *= std::pow(alpha, size / (size - 2));
  return {};
}

// With sections, pairs are halves.
Status read_glm4(const Keys&, ModelConfig& config) {
  if (config.rope.sections[0] > 0) config.rope_kind = RopeKind::halves;
  return {};
}

Status read_gemma2(const Keys& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.attention_softcap, keys.number("attn_logit_softcapping", 50.0f));
  return {};
}

// The last layers keep no keys and values. They read those of the last layer that keeps them, or,
// if they have a window, those of the layer before it.
Status read_gemma4(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "attention.shared_kv_layers";
  KINGLET_ASSIGN(const uint32_t n_shared, keys.number(kKey, uint32_t{0}));
  if (n_shared == 0) return {};
  if (config.n_layers < 2 || n_shared > config.n_layers - 2) {
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("is ", n_shared, " of ", config.n_layers,
                          " layers, expected at least two that have keys of their own"));
  }
  const uint32_t n_own = config.n_layers - n_shared;
  for (uint32_t i = n_own; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    layer.rows_layer = n_own - (layer.window > 0 ? 2 : 1);
    const LayerConfig& other = config.layers[layer.rows_layer];
    if (layer.window == other.window && layer.n_kv_heads == other.n_kv_heads) continue;
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("is ", n_shared, ": layer ", i, " would use the keys of layer ",
                          layer.rows_layer, ", which has another window or other heads"));
  }
  return {};
}

// Multiplies logits by the scale; others divide by it.
Status read_cohere2(const Keys& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.logit_scale, keys.number("logit_scale"));
  KINGLET_ASSIGN(config.logit_scale, keys.positive("logit_scale", config.logit_scale));
  return {};
}

// Reads the number of equal parts of the stream that are normalized each by itself.
Status read_k2_horizon(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kGroups = "attention.group_norm_groups";
  KINGLET_ASSIGN(config.n_norm_groups, keys.size(kGroups, config.hidden_dim, 1));
  if (config.hidden_dim % config.n_norm_groups == 0) return {};
  return keys.error(
      ErrorCode::corrupt, kGroups,
      cat("is ", config.n_norm_groups, ", expected a divisor of the width ", config.hidden_dim));
}

// Only the second of every so many layers has experts.
Status read_nomic_bert_moe(const Keys& keys, ModelConfig& config) {
  KINGLET_ASSIGN(const uint32_t period, keys.number("moe_every_n_layers", uint32_t{0}));
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    if (period == 0 || i % period != 1) config.layers[i].has_experts = false;
  }
  return {};
}

// The file may name SiLU in place of GELU.
Status read_modern_bert(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "hidden_activation";
  if (keys.find(kKey) == nullptr) return {};
  KINGLET_ASSIGN(const std::string_view name, keys.text(kKey, ""));
  const bool is_silu = name == "silu" || name == "swish" || name == "swiglu";
  if (is_silu) config.activation = Activation::silu;
  if (is_silu || name == "gelu" || name == "geglu") return {};
  return keys.error(ErrorCode::unsupported_feature, kKey,
                    cat("is ", in_quotes(name), ": not supported (supported: gelu, silu)"));
}

// A layer with a feed-forward network has nothing else.
Status read_nemotron_h(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kWidth = "feed_forward_length";
  KINGLET_ASSIGN(const auto widths,
                 keys.by_layer(kWidth, config.n_layers + config.n_skipped_layers));
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    if (widths[i] == 0) continue;
    KINGLET_ASSIGN(const uint32_t width, keys.check(kWidth, widths[i], kMaxDim));
    config.layers[i] = {.ffn_dim = width, .mixer = MixerKind::feed_forward};
  }
  return {};
}

// Every row is checked against another implementation: tests/model/parity_test.cpp.
constexpr Architecture kArchitectures[] = {
    {.name = "llama",
     .rope = {.kind = RopeKind::interleaved},
     .ffn = {.experts = Presence::optional}},
    {.name = "granite",
     .attention = {.scales_by_file = true},
     .rope = {.kind = RopeKind::interleaved, .may_be_off = true},
     .scales = {.by_file = true}},
    {.name = "granitemoe",
     .attention = {.scales_by_file = true},
     .rope = {.kind = RopeKind::interleaved, .may_be_off = true},
     .ffn = {.experts = Presence::required},
     .scales = {.by_file = true}},
    {.name = "ernie4_5", .rope = {.kind = RopeKind::interleaved}},
    {.name = "internlm2", .rope = {.kind = RopeKind::interleaved}},
    {.name = "mistral3",
     .rope = {.kind = RopeKind::interleaved, .yarn_log_multiplier = true},
     .ffn = {.experts = Presence::optional},
     .read_own = read_mistral3},
    {.name = "maincoder",
     .attention = {.head_norm = HeadNorm::shared, .rotates_first = true},
     .rope = {.kind = RopeKind::interleaved}},
    {.name = "arcee",
     .rope = {.kind = RopeKind::interleaved},
     .ffn = {.activation = Activation::relu_squared, .gate = Gate::none}},
    {.name = "minicpm",
     .rope = {.kind = RopeKind::interleaved},
     .ffn = {.experts = Presence::optional},
     .read_own = read_minicpm},
    {.name = "smollm3", .rope = {.kind = RopeKind::interleaved}, .read_own = read_smollm3},
    {.name = "qwen2", .attention = {.biases = Presence::required}},
    {.name = "qwen3",
     .attention = {.head_norm = HeadNorm::shared},
     .ranking = {.pooling = Pooling::last, .softmax = true}},
    {.name = "qwen2vl",
     .attention = {.biases = Presence::required},
     .rope = {.sections = Sections::in_order}},
    {.name = "qwen3vl",
     .attention = {.head_norm = HeadNorm::shared},
     .rope = {.sections = Sections::interleaved},
     .read_own = read_qwen3vl},
    {.name = "qwen3moe",
     .attention = {.head_norm = HeadNorm::shared},
     .ffn = {.experts = Presence::required}},
    {.name = "seed_oss", .norms = {.ffn_name = "post_attention_norm"}},
    {.name = "hunyuan-dense",
     .attention = {.head_norm = HeadNorm::shared, .rotates_first = true},
     .read_own = read_hunyuan_dense},
    {.name = "apertus",
     .attention = {.head_norm = HeadNorm::shared},
     .ffn = {.activation = Activation::xielu, .gate = Gate::none}},
    {.name = "exaone"},
    {.name = "exaone4",
     .norms = {.before = false, .after = Presence::required},
     .attention = {.head_norm = HeadNorm::shared},
     .window = {.size = 4096, .n_layers = 64, .period = 4},
     .rope = {.windows_alone = true}},
    {.name = "glm4",
     .norms = {.after = Presence::required},
     .rope = {.kind = RopeKind::interleaved, .sections = Sections::in_order},
     .ffn = {.gate = Gate::fused},
     .read_own = read_glm4},
    {.name = "olmo2",
     .norms = {.before = false, .after = Presence::required},
     .attention = {.head_norm = HeadNorm::full_width},
     .window = {.period = 4},
     .rope = {.plain_local = true}},
    {.name = "olmoe",
     .attention = {.head_norm = HeadNorm::full_width},
     .ffn = {.experts = Presence::required, .normalizes_experts = false}},
    {.name = "gemma",
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true}},
    {.name = "gemma2",
     .norms = {.after = Presence::required},
     .attention = {.n_layers_of_wide_scale = 46},
     .window = {.size = 4096, .period = 2},
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true, .logit_softcap = 30.0f, .may_cap_logits = true},
     .read_own = read_gemma2},
    {.name = "gemma3",
     .norms = {.after = Presence::required},
     .attention = {.head_norm = HeadNorm::shared, .n_layers_of_wide_scale = 62},
     .window = {.period = 6},
     .rope = {.plain_local = true, .local_theta = 10000.0f},
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true, .may_cap_logits = true}},
    {.name = "gemma4",
     .norms = {.after = Presence::required},
     .attention = {.head_norm = HeadNorm::shared,
                   .normalizes_values = true,
                   .two_head_sizes = true,
                   .keys_may_be_values = true,
                   .scale = 1.0f},
     .window = {.required = true, .listed = true},
     .rope = {.factors = Presence::required, .plain_local = true, .local_theta = 10000.0f},
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true,
                .logit_softcap = 30.0f,
                .may_cap_logits = true,
                .layers = Presence::optional},
     .embedding = {.layer_inputs = LayerInputs::projection_and_table},
     .read_own = read_gemma4},
    {.name = "phi2",
     .norms = {.kind = NormKind::layer},
     .attention = {.biases = Presence::required},
     .ffn = {.parallel = Presence::required, .activation = Activation::gelu, .gate = Gate::none},
     .other_biases = Presence::required},
    {.name = "phi3", .ffn = {.gate = Gate::fused}},
    {.name = "nemotron",
     .norms = {.kind = NormKind::layer},
     .ffn = {.activation = Activation::relu_squared, .gate = Gate::none}},
    {.name = "cohere2",
     .norms = {.kind = NormKind::layer, .biases = Presence::no},
     .window = {.period = 4},
     .rope = {.kind = RopeKind::interleaved, .windows_alone = true},
     .ffn = {.parallel = Presence::required},
     .read_own = read_cohere2},
    {.name = "gpt2",
     .norms = {.kind = NormKind::layer},
     .attention = {.biases = Presence::required},
     .rope = {.kind = RopeKind::none},
     .ffn = {.activation = Activation::gelu, .gate = Gate::none},
     .embedding = {.learned_positions = true},
     .other_biases = Presence::required},
    {.name = "starcoder2",
     .norms = {.kind = NormKind::layer},
     .attention = {.biases = Presence::required},
     .ffn = {.activation = Activation::gelu, .gate = Gate::none},
     .other_biases = Presence::required},
    {.name = "lfm2",
     .mixers = {.other = MixerKind::short_convolution},
     .norms = {.output_name = "token_embd_norm"},
     .attention = {.head_norm = HeadNorm::shared}},
    {.name = "lfm2moe",
     .mixers = {.other = MixerKind::short_convolution},
     .norms = {.output_name = "token_embd_norm"},
     .attention = {.head_norm = HeadNorm::shared},
     .ffn = {.experts = Presence::required, .may_gate_by_sigmoid = true}},
    {.name = "lfm3",
     .mixers = {.other = MixerKind::short_convolution},
     .norms = {.after = Presence::optional},
     .attention = {.gate = OutputGate::of_heads, .head_norm = HeadNorm::shared},
     .window = {.required = true, .listed = true},
     .rope = {.factors = Presence::required, .plain_local = true, .local_theta = kBaseOfFile}},
    {.name = "qwen35",
     .mixers = {.other = MixerKind::delta_net, .interval = 4},
     .norms = {.ffn_name = "post_attention_norm"},
     .attention = {.gate = OutputGate::in_queries, .head_norm = HeadNorm::shared},
     .rope = {.sections = Sections::interleaved}},
    {.name = "qwen35moe",
     .mixers = {.other = MixerKind::delta_net, .interval = 4},
     .norms = {.ffn_name = "post_attention_norm"},
     .attention = {.gate = OutputGate::in_queries, .head_norm = HeadNorm::shared},
     .rope = {.sections = Sections::interleaved},
     .ffn = {.experts = Presence::required, .gates_shared_expert = true}},
    {.name = "mamba2",
     .mixers = {.main = MixerKind::mamba2},
     .rope = {.kind = RopeKind::none},
     .ffn = {.exists = false}},
    {.name = "granitehybrid",
     .mixers = {.other = MixerKind::mamba2},
     .attention = {.scales_by_file = true},
     .rope = {.kind = RopeKind::interleaved, .may_be_off = true},
     .ffn = {.experts = Presence::optional},
     .scales = {.by_file = true}},
    {.name = "nemotron_h",
     .mixers = {.other = MixerKind::mamba2},
     .attention = {.scales_by_file = true},
     .rope = {.kind = RopeKind::none},
     .ffn = {.exists = false, .activation = Activation::relu_squared, .gate = Gate::none},
     .read_own = read_nemotron_h},
    {.name = "falcon-h1", .mixers = {.main = MixerKind::attention_beside_mamba2}},
    {.name = "k2-horizon",
     .attention = {.gate = OutputGate::softplus_or_none, .head_norm = HeadNorm::own_or_none},
     .read_own = read_k2_horizon},
    {.name = "stablelm",
     .norms = {.kind = NormKind::layer},
     .attention = {.head_norm = HeadNorm::own_or_none},
     .ffn = {.parallel = Presence::optional}},
    {.name = "bert",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = kBertNorms,
     .rope = {.kind = RopeKind::none},
     .ffn = {.activation = Activation::gelu, .gate = Gate::none},
     .embedding = {.token_types = true, .learned_positions = true}},
    {.name = "nomic-bert",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = kBertNorms,
     .embedding = {.token_types = true}},
    {.name = "nomic-bert-moe",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = kBertNorms,
     .ffn = {.activation = Activation::gelu,
             .gate = Gate::none,
             .experts = Presence::required,
             .normalizes_experts = false},
     .embedding = {.token_types = true},
     .read_own = read_nomic_bert_moe},
    {.name = "jina-bert-v2",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = kBertNorms,
     .attention = {.head_norm = HeadNorm::full_width_or_none, .alibi = true},
     .rope = {.kind = RopeKind::none},
     .ffn = {.activation = Activation::gelu, .gate = Gate::as_given},
     .embedding = {.token_types = true}},
    {.name = "jina-bert-v3",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = kBertNorms,
     .ffn = {.activation = Activation::gelu, .gate = Gate::none},
     .embedding = {.token_types = true}},
    {.name = "modern-bert",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = {.kind = NormKind::layer,
               .may_lack_first = true,
               .biases = Presence::no,
               .embedding = true},
     .window = {.period = 3, .full_layer_first = true},
     .rope = {.plain_local = true, .local_theta = 10000.0f},
     .ffn = {.activation = Activation::gelu, .gate = Gate::fused},
     .ranking = {.pooling = Pooling::mean, .gelu = true},
     .read_own = read_modern_bert},
    {.name = "eurobert", .mixers = {.main = MixerKind::bidirectional_attention}},
    {.name = "neo-bert",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = {.output_name = "enc.output_norm"},
     .rope = {.kind = RopeKind::interleaved},
     .ffn = {.gate = Gate::fused}},
    {.name = "gemma-embedding",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = {.after = Presence::required},
     .attention = {.head_norm = HeadNorm::shared},
     .window = {.period = 6},
     .rope = {.plain_local = true, .local_theta = 10000.0f},
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true}},
    {.name = "gemma-embedding2",
     .mixers = {.main = MixerKind::bidirectional_attention},
     .norms = {.after = Presence::required},
     .attention = {.head_norm = HeadNorm::shared,
                   .normalizes_values = true,
                   .two_head_sizes = true,
                   .scale = 1.0f},
     .window = {.period = 6, .required = true},
     .rope = {.factors = Presence::no, .plain_local = true, .local_theta = 10000.0f},
     .ffn = {.activation = Activation::gelu},
     .scales = {.embedding_by_width = true, .layers = Presence::required},
     .embedding = {.layer_inputs = LayerInputs::projection},
     .projects_states = true},
};

}  // namespace

Result<const Architecture*> find_architecture(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view name, header.require_string("general.architecture"));
  const auto* row = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                 [name](const Architecture& known) { return known.name == name; });
  if (row != std::end(kArchitectures)) return row;
  if (name == "clip") {
    return Error{
        ErrorCode::unsupported_architecture,
        "the file is a picture reader (mmproj), not a model: load it together with its model"};
  }
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    known += cat(known.empty() ? "" : ", ", architecture.name);
  }
  return Error{ErrorCode::unsupported_architecture,
               cat("architecture ", in_quotes(name), " is not supported (supported: ", known, ")")};
}

}  // namespace kinglet
