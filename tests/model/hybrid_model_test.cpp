// Files of hybrid models that contradict themselves or lack something: the errors name the key or
// tensor.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/damage.h"

namespace kinglet {
namespace {

TEST(HybridModel, NamesAMissingTensor) {
  for (const auto& [fixture, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"hybrid/lfm2.gguf", "blk.0.shortconv.conv.weight"},
           {"hybrid/lfm2.gguf", "blk.1.shortconv.in_proj.weight"},
           {"hybrid/lfm2.gguf", "token_embd_norm.weight"},
           {"hybrid/lfm3.gguf", "blk.1.attn_gate.weight"},
           {"hybrid/lfm3.gguf", "blk.3.post_ffw_norm.weight"},
           {"hybrid/lfm3.gguf", "rope_freqs.weight"},
           {"hybrid/qwen35.gguf", "blk.0.ssm_a"},
           {"hybrid/qwen35.gguf", "blk.1.ssm_dt.bias"},
           {"hybrid/qwen35.gguf", "blk.2.ssm_beta.weight"},
           {"hybrid/mamba2.gguf", "blk.0.ssm_in.weight"},
           {"hybrid/mamba2.gguf", "blk.1.ssm_a"},
           {"hybrid/granitehybrid.gguf", "blk.0.ssm_out.weight"},
           {"hybrid/granitehybrid-moe.gguf", "blk.0.ffn_gate_shexp.weight"},
           {"hybrid/falcon-h1.gguf", "blk.3.ssm_conv1d.weight"},
           {"hybrid/nemotron_h-Q4_0.gguf", "blk.1.ffn_up.weight"},
           {"hybrid/nemotron_h-Q4_0.gguf", "blk.2.attn_q.weight"}}) {
    expect_error(without(fixture, name), ErrorCode::missing_tensor,
                 std::string("tensor ") + name + " is missing");
  }
}

// Without a norm, its counterpart has no place; without the list, no layer's window is known.
TEST(HybridModel, RefusesHalfOfWhatBelongsTogether) {
  expect_error(without("hybrid/lfm3.gguf", "blk.2.post_attention_norm.weight"),
               ErrorCode::unsupported_feature, "is not used by this architecture");
  for (const char* key : {"lfm3.attention.sliding_window_pattern", "lfm3.attention.sliding_window",
                          "lfm3.rope.freq_base_swa"}) {
    expect_error(without("hybrid/lfm3.gguf", key), ErrorCode::missing_metadata, key);
  }
}

TEST(HybridModel, NamesATensorOfAnotherShape) {
  expect_error(with_number("hybrid/lfm2.gguf", "lfm2.shortconv.l_cache", 4), ErrorCode::wrong_shape,
               "blk.0.shortconv.conv.weight has shape [3, 48], expected [4, 48]");
  expect_error(with_number("hybrid/mamba2.gguf", "mamba2.ssm.state_size", 8),
               ErrorCode::wrong_shape, "blk.0.ssm_in.weight has shape");
}

TEST(HybridModel, RefusesImpossibleSizes) {
  expect_error(with_number("hybrid/lfm2.gguf", "lfm2.shortconv.l_cache", 0), ErrorCode::corrupt,
               "lfm2.shortconv.l_cache is 0, expected 1 to 32");
  expect_error(with_number("hybrid/lfm2.gguf", "lfm2.shortconv.l_cache", 33), ErrorCode::corrupt,
               "lfm2.shortconv.l_cache is 33, expected 1 to 32");
  expect_error(with_number("hybrid/mamba2.gguf", "mamba2.ssm.state_size", 0), ErrorCode::corrupt,
               "mamba2.ssm.state_size is 0, expected 1 to 4096");
  expect_error(with_number("hybrid/mamba2.gguf", "mamba2.ssm.conv_kernel", 1000000),
               ErrorCode::corrupt, "mamba2.ssm.conv_kernel is 1000000, expected 1 to 32");
  expect_error(with_number("hybrid/qwen35.gguf", "qwen35.ssm.state_size", 0xffffffff),
               ErrorCode::corrupt, "qwen35.ssm.state_size is 4294967295, expected 1 to 4096");
}

TEST(HybridModel, RefusesHeadsThatDoNotDivide) {
  expect_error(with_number("hybrid/mamba2.gguf", "mamba2.ssm.time_step_rank", 7),
               ErrorCode::corrupt, "mamba2.ssm.time_step_rank is 7 heads, expected a divisor");
  expect_error(with_number("hybrid/mamba2.gguf", "mamba2.ssm.group_count", 3), ErrorCode::corrupt,
               "a multiple of the 3 groups");
  expect_error(with_number("hybrid/qwen35.gguf", "qwen35.ssm.group_count", 3), ErrorCode::corrupt,
               "qwen35.ssm.time_step_rank is 4 heads, expected a multiple of the 3 key heads");
  expect_error(with_number("hybrid/qwen35.gguf", "qwen35.ssm.inner_size", 95), ErrorCode::corrupt,
               "qwen35.ssm.inner_size is 95, expected 4 heads of 24");
}

TEST(HybridModel, RefusesArraysThatContradict) {
  constexpr std::string_view kHeads = "lfm2.attention.head_count_kv";
  expect_error(with_number("hybrid/lfm2.gguf", "lfm2.block_count", 6), ErrorCode::corrupt,
               "lfm2.attention.head_count_kv is not an array of one number up to 1048576 for each "
               "of 6 layers, but of 7 values");
  expect_error(with_element("hybrid/lfm2.gguf", kHeads, 2, 1), ErrorCode::wrong_shape,
               "tensor blk.2.attn_k.weight has shape [48, 24], expected [48, 12]");
  expect_error(with_element("hybrid/lfm2.gguf", kHeads, 2, 0xffffffff), ErrorCode::corrupt,
               "is not an array of one number");
  // A layer with the tensors of a convolution is declared as attention.
  expect_error(with_element("hybrid/lfm2.gguf", kHeads, 0, 2), ErrorCode::missing_tensor,
               "blk.0.attn_q.weight");
  expect_error(with_number("hybrid/qwen35-mtp.gguf", "qwen35.nextn_predict_layers", 5),
               ErrorCode::corrupt, "qwen35.nextn_predict_layers is 5 of 5 layers");
}

constexpr const char* kNemotron = "hybrid/nemotron_h-Q4_0.gguf";

TEST(HybridModel, EachLayerOfNemotronHIsOneBlock) {
  const auto config = load_config(read_fixture(kNemotron));
  ASSERT_TRUE(config.ok()) << config.error().message;
  std::vector<MixerKind> mixers;
  for (const LayerConfig& layer : config.value().layers) mixers.push_back(layer.mixer);
  constexpr MixerKind kMamba2 = MixerKind::mamba2;
  constexpr MixerKind kFeedForward = MixerKind::feed_forward;
  EXPECT_EQ(mixers, (std::vector{kMamba2, kFeedForward, MixerKind::attention, kFeedForward, kMamba2,
                                 kFeedForward}));
  EXPECT_EQ(config.value().layers[3].ffn_dim, 64u);
}

// A layer that has KV heads as well is a feed-forward network all the same.
TEST(HybridModel, AFeedForwardNetworkComesBeforeKvHeads) {
  const auto config =
      load_config(with_element(kNemotron, "nemotron_h.attention.head_count_kv", 1, 2));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().layers[1].mixer, MixerKind::feed_forward);
}

TEST(HybridModel, NemotronHNamesWidthsThatDoNotFit) {
  constexpr std::string_view kWidths = "nemotron_h.feed_forward_length";
  expect_error(without(kNemotron, kWidths), ErrorCode::missing_metadata, std::string(kWidths));
  for (const uint32_t width : {0xffffffffu, 0x7fffffffu}) {  // -1, and the largest
    expect_error(with_element(kNemotron, kWidths, 1, width), ErrorCode::corrupt,
                 "nemotron_h.feed_forward_length is not an array of one number up to 1048576 for "
                 "each of 6 layers");
  }
  expect_error(with_element(kNemotron, kWidths, 1, 64), ErrorCode::wrong_shape,
               "tensor blk.1.ffn_up.weight has shape [64, 96], expected [64, 64]");
  expect_error(with_element(kNemotron, kWidths, 1, 0), ErrorCode::missing_tensor,
               "tensor blk.1.ssm_in.weight is missing");
}

// Attention reads its scale from the file; if the file has none, it is 1 / sqrt(head size).
TEST(HybridModel, NemotronHReadsTheScaleOfScores) {
  const auto scale = [](float in_file) {
    TinyModel tiny{.n_kv_heads_by_layer = {0, 1},
                   .architecture = "nemotron_h",
                   .without_key = "nemotron_h.feed_forward_length",
                   .has_weights = false};
    tiny.edit = [&](GgufBuilder& file) {
      file.set_array("nemotron_h.feed_forward_length", std::vector<uint32_t>{0, 0});
      if (in_file > 0) file.set_float32("nemotron_h.attention.scale", in_file);
    };
    const auto config = load_config(tiny.build());
    EXPECT_TRUE(config.ok());
    return config.ok() ? config.value().layers[1].attention_scale : 0;
  };
  EXPECT_EQ(scale(0), 0.5f);
  EXPECT_EQ(scale(0.125f), 0.125f);
}

TEST(HybridModel, RefusesExpertsThatItDoesNotHave) {
  expect_error(with_number("hybrid/lfm2moe.gguf", "lfm2moe.expert_gating_func", 3),
               ErrorCode::unsupported_feature, "lfm2moe.expert_gating_func is 3: not supported");
  expect_error(with_number("hybrid/lfm2moe.gguf", "lfm2moe.leading_dense_block_count", 9),
               ErrorCode::corrupt,
               "lfm2moe.leading_dense_block_count is 9, expected at most 6 layers");
}

}  // namespace
}  // namespace kinglet
