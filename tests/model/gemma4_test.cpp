// The features that are particular to Gemma 4, in files that lack them or contradict themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/damage.h"
#include "model/rebuild.h"
#include "model/reference.h"
#include "model/runner.h"
#include "model/shift.h"

namespace kinglet {
namespace {

constexpr const char* kFixture = "arch/gemma4.gguf";

template <class F>
std::vector<uint32_t> of_layers(const ModelConfig& config, const F& f) {
  std::vector<uint32_t> values;
  for (const LayerConfig& layer : config.layers) values.push_back(f(layer));
  return values;
}

TEST(Gemma4, LayersDifferInHeadsWidthsAndWhoseRowsTheyRead) {
  const auto read_one = load_config(read_fixture(kFixture));
  ASSERT_TRUE(read_one.ok()) << read_one.error().message;
  const ModelConfig& config = read_one.value();
  using List = std::vector<uint32_t>;
  EXPECT_EQ(of_layers(config, [](auto& layer) { return layer.window; }),
            (List{8, 8, 0, 8, 8, 0, 8, 0, 8, 0}));
  EXPECT_EQ(of_layers(config, [](auto& layer) { return layer.head_dim; }),
            (List{12, 12, 20, 12, 12, 20, 12, 20, 12, 20}));
  EXPECT_EQ(of_layers(config, [](auto& layer) { return layer.rows_layer; }),
            (List{0, 1, 2, 3, 4, 5, 4, 5, 4, 5}));
  EXPECT_EQ(of_layers(config, [](auto& layer) { return layer.ffn_dim; }),
            (List{48, 48, 48, 48, 48, 48, 80, 80, 80, 80}));
  EXPECT_EQ(config.rope.dim, 20u);
  EXPECT_EQ(config.rope.local_dim, 12u);
  EXPECT_EQ(config.layer_input_dim, 8u);
  EXPECT_EQ(config.layers[0].attention_scale, 1.0f);
}

TEST(Gemma4, OnlyLayersOfTheirOwnRowsTakeMemory) {
  const auto created = ModelRunner::create(kFixture, scalar_kernels(), 16, 1);
  ASSERT_TRUE(created.ok()) << created.error().message;
  const std::vector<RowShape>& rows = created.value()->model.state_shape().rows;
  ASSERT_EQ(rows.size(), 6u);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].layer, i);
    EXPECT_EQ(rows[i].head_dim, i % 3 == 2 ? 20u : 12u);
    EXPECT_EQ(rows[i].window, i % 3 == 2 ? 0u : 8u);
  }
}

TEST(Gemma4, LogitsAreCappedAndLocalLayersHaveABaseWhereTheFileDoesNotSay) {
  EXPECT_EQ(load_config(without(kFixture, "gemma4.final_logit_softcapping")).value().logit_softcap,
            30.0f);
  EXPECT_EQ(load_config(without(kFixture, "gemma4.rope.freq_base_swa")).value().rope.local_theta,
            10000.0f);
}

TEST(Gemma4, ARotationIsNoWiderThanItsHeads) {
  expect_error(without(kFixture, "gemma4.rope.dimension_count_swa"), ErrorCode::corrupt,
               "gemma4.rope.dimension_count_swa is 20, expected 1 to 12");
  expect_error(with_number(kFixture, "gemma4.rope.dimension_count", 22), ErrorCode::corrupt,
               "gemma4.rope.dimension_count is 22, expected 1 to 20");
  expect_error(with_number(kFixture, "gemma4.rope.dimension_count_swa", 7), ErrorCode::corrupt,
               "gemma4.rope.dimension_count_swa is 7, expected an even number");
}

TEST(Gemma4, NamesWhatDoesNotFitTogether) {
  expect_error(without(kFixture, "gemma4.attention.sliding_window_pattern"),
               ErrorCode::missing_metadata,
               "gemma4.attention.sliding_window_pattern is missing, or is not an array");
  expect_error(with_number(kFixture, "gemma4.attention.sliding_window", 0), ErrorCode::corrupt,
               "gemma4.attention.sliding_window is 0");
  expect_error(with_number(kFixture, "gemma4.attention.shared_kv_layers", 9), ErrorCode::corrupt,
               "shared_kv_layers is 9 of 10 layers, expected at least two");
  expect_error(with_number(kFixture, "gemma4.attention.shared_kv_layers", 0xffffffff),
               ErrorCode::corrupt, "shared_kv_layers is 4294967295 of 10 layers");
  // Layers 3 and 4 both have a window.
  expect_error(with_number(kFixture, "gemma4.attention.shared_kv_layers", 5), ErrorCode::corrupt,
               "is 5: layer 5 would use the keys of layer 4, which has another window");
  expect_error(with_element(kFixture, "gemma4.feed_forward_length", 3, 0), ErrorCode::corrupt,
               "gemma4.feed_forward_length is 0, expected 1 to");
  expect_error(with_element(kFixture, "gemma4.feed_forward_length", 3, 50), ErrorCode::wrong_shape,
               "tensor blk.3.ffn_gate.weight has shape [40, 48], expected [40, 50]");
  expect_error(with_number(kFixture, "gemma4.embedding_length_per_layer_input", 1 << 20),
               ErrorCode::corrupt, "times 10 layers, that is more than");
  expect_error(with_number(kFixture, "gemma4.embedding_length_per_layer_input", 9),
               ErrorCode::wrong_shape, "per_layer_token_embd.weight has shape [80, 311]");
  expect_error(with_number(kFixture, "gemma4.embedding_length_per_layer_input", 0),
               ErrorCode::unsupported_feature, "is not used by this architecture");
  expect_error(without(kFixture, "rope_freqs.weight"), ErrorCode::missing_tensor,
               "rope_freqs.weight");
  expect_error(without(kFixture, "blk.4.attn_k.weight"), ErrorCode::missing_tensor,
               "blk.4.attn_k.weight");
}

TEST(Gemma4, ExpertsAreRefused) {
  const Bytes file = read_fixture(kFixture);
  GgufBuilder builder;
  const auto header = parse_gguf_header(file);
  ASSERT_TRUE(header.ok());
  copy_metadata(builder, header.value());
  builder.set_uint32("gemma4.expert_count", 8);
  const auto config = load_config(builder.build());
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::unsupported_feature);
  EXPECT_EQ(config.error().message,
            "gemma4.expert_count asks for a mixture of experts, which this architecture does not "
            "support");
}

// Layers that read another layer's keys and values may have tensors for keys and values of their
// own.
TEST(Gemma4, TensorsThatSharedLayersDoNotUseMayBeThereOrNot) {
  const auto file = load_gguf(read_fixture(kFixture));
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file.value().header().find_tensor("blk.6.attn_k.weight"), nullptr);
  EXPECT_EQ(file.value().header().find_tensor("blk.8.attn_k.weight"), nullptr);
}

// Scores of random keys that are not scaled down tolerate little rounding.
TEST(Gemma4, EveryKindOfCacheHoldsTheRowsThatLayersShare) {
  const Reference reference = read_reference("arch/gemma4.json");
  auto file = read_gguf_file(fixture_path(kFixture));
  ASSERT_TRUE(file.ok());
  const auto model = Model::load(std::move(file.value()), scalar_kernels());
  ASSERT_TRUE(model.ok());
  ThreadPool pool;
  std::vector<float> exact;
  for (size_t i = 0; i < kNKvKinds; ++i) {
    const auto kind = static_cast<KvKind>(i);
    const KvPlan plan = plan_windows(model.value().state_shape().rows, kind, kind, 256, 16);
    EXPECT_EQ(plan.places.size(), 6u);
    auto state = SequenceState::create(plan, 0, 256);
    auto scratch = Scratch::create(model.value(), 16, 1);
    ASSERT_TRUE(state.ok() && scratch.ok());
    for (size_t at = 0; at < reference.tokens.size(); at += 11) {
      const Status status = forward(model.value(), pool, scratch.value(), state.value(),
                                    std::span(reference.tokens).subspan(at, 11), Output::logits);
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    const std::vector<float> logits(scratch.value().logits,
                                    scratch.value().logits + model.value().config().vocab_size);
    if (exact.empty()) exact = logits;
    const Difference difference = compare(log_softmax(logits), log_softmax(exact));
    const bool is_fine = kind == KvKind::f16 || kind == KvKind::int8 || kind == KvKind::q8;
    EXPECT_LT(difference.kl_divergence, is_fine ? 0.02 : 3.0) << kv_kind_info(kind).name;
  }
}

// Keys are rotated back by the table of their own layer; layers without keys rotate nothing.
TEST(Gemma4, ShiftsAFullContext) {
  for (const char* fixture : {kFixture, "arch/gemma4-kv.gguf"}) {
    const auto one = ModelRunner::create(fixture, scalar_kernels(), 16, 1);
    ASSERT_TRUE(one.ok()) << one.error().message;
    ModelRunner& runner = *one.value();
    runner.append(std::vector<int32_t>{2, 5, 6, 7, 8, 9, 10, 11});
    const Status status = shift_positions(runner.model, runner.state, 1, 3);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(runner.state.size(), 5u);
    for (const float logit : runner.append(std::vector<int32_t>{12})) {
      ASSERT_TRUE(std::isfinite(logit));
    }
  }
}

}  // namespace
}  // namespace kinglet
