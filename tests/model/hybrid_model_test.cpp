// Files of hybrid models that contradict themselves or lack something: the errors name the key or
// tensor.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

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
           {"hybrid/falcon-h1.gguf", "blk.3.ssm_conv1d.weight"}}) {
    expect_error(without(fixture, name), ErrorCode::missing_tensor,
                 std::string("tensor ") + name + " is missing");
  }
}

// Without a norm, its counterpart has no place; without the list, no layer's window is known.
TEST(HybridModel, RefusesHalfOfWhatBelongsTogether) {
  expect_error(without("hybrid/lfm3.gguf", "blk.2.post_attention_norm.weight"),
               ErrorCode::unsupported_feature, "has no place in this architecture");
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

TEST(HybridModel, RefusesExpertsThatItDoesNotHave) {
  expect_error(with_number("hybrid/lfm2moe.gguf", "lfm2moe.expert_gating_func", 3),
               ErrorCode::unsupported_feature, "lfm2moe.expert_gating_func is 3: not supported");
  expect_error(with_number("hybrid/lfm2moe.gguf", "lfm2moe.leading_dense_block_count", 9),
               ErrorCode::corrupt,
               "lfm2moe.leading_dense_block_count is 9, expected 6 layers at most");
}

}  // namespace
}  // namespace kinglet
