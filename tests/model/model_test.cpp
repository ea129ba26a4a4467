// Files that are refused at load, and the error messages.
#include "model/model.h"

#include <gtest/gtest.h>

#include <string>

#include "model/damage.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

Result<Model> load_model(const TinyModel& tiny) {
  KINGLET_ASSIGN(GgufFile file, load_gguf(tiny.build()));
  return Model::load(std::move(file), scalar_kernels());
}

TEST(Model, LoadsTheSmallestOne) {
  const auto model = load_model({});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().config().n_layers, 2u);
  EXPECT_EQ(model.value().config().layers[0].head_dim, 4u);
  EXPECT_EQ(model.value().config().vocab_size, 8u);
  EXPECT_EQ(model.value().kernels().name, "scalar");
  // Tied embeddings: the output matrix is the embedding.
  EXPECT_EQ(model.value().weights().output.matrix.data,
            model.value().weights().token_embedding.matrix().data);
}

TEST(Model, HeadsMayBeWiderThanTheirShareOfTheHiddenState) {
  TinyModel tiny;
  tiny.head_dim = 6;
  expect_error(tiny.build(), ErrorCode::wrong_shape,
               "blk.0.attn_q.weight has shape [8, 12], expected [8, 8]");
}

TEST(Model, RefusesAnUnknownArchitectureByName) {
  TinyModel tiny;
  tiny.architecture = "mamba";
  expect_error(tiny.build(), ErrorCode::unsupported_architecture,
               "architecture \"mamba\" is not supported (supported: llama");
}

TEST(Model, NamesAMissingTensor) {
  for (const char* name : {"token_embd.weight", "blk.1.ffn_down.weight", "output_norm.weight"}) {
    TinyModel tiny;
    tiny.without_tensor = name;
    expect_error(tiny.build(), ErrorCode::missing_tensor,
                 std::string("tensor ") + name + " is missing");
  }
}

TEST(Model, NamesATensorOfTheWrongShape) {
  TinyModel tiny;
  tiny.misshapen_tensor = "blk.0.ffn_up.weight";
  expect_error(tiny.build(), ErrorCode::wrong_shape,
               "tensor blk.0.ffn_up.weight has shape [9, 12], expected [8, 12]");
}

TEST(Model, NamesATensorOfTheWrongType) {
  TinyModel tiny;
  tiny.f16_tensor = "blk.1.attn_norm.weight";
  expect_error(tiny.build(), ErrorCode::wrong_type,
               "tensor blk.1.attn_norm.weight has type F16, expected F32");
}

TEST(Model, AcceptsMatricesOfMixedTypes) {
  TinyModel tiny;
  tiny.f16_tensor = "blk.1.ffn_gate.weight";
  EXPECT_TRUE(load_model(tiny).ok());
}

TEST(Model, RefusesATensorThatItWouldLeaveOut) {
  TinyModel tiny;
  tiny.extra_tensor = "blk.0.attn_q_norm.weight";
  expect_error(tiny.build(), ErrorCode::unsupported_feature, "blk.0.attn_q_norm.weight");
}

TEST(Model, NamesTheBiasThatAnArchitectureCannotDoWithout) {
  TinyModel tiny;
  tiny.architecture = "qwen2";
  expect_error(tiny.build(), ErrorCode::missing_tensor, "tensor blk.0.attn_q.bias is missing");
  tiny.architecture = "llama";
  EXPECT_TRUE(load_model(tiny).ok());
}

TEST(Model, NamesTheNormThatAnArchitectureCannotDoWithout) {
  TinyModel tiny;
  tiny.architecture = "qwen3";
  expect_error(tiny.build(), ErrorCode::missing_tensor,
               "tensor blk.0.attn_q_norm.weight is missing");
}

TEST(Model, LongContextsHaveRopeFactorsOfTheirOwn) {
  TinyModel tiny;
  tiny.edit = [](GgufBuilder& file) {
    file.set_uint32("llama.rope.scaling.original_context_length", 16);
    file.add_f32("rope_factors_short.weight", {2}, {1.0f, 2.0f});
    file.add_f32("rope_factors_long.weight", {2}, {4.0f, 8.0f});
  };
  const auto model = load_model(tiny);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_DOUBLE_EQ(model.value().rope_table(Rotation::scaled, 16).frequencies[1], 0.01 / 2);
  EXPECT_DOUBLE_EQ(model.value().rope_table(Rotation::scaled, 17).frequencies[1], 0.01 / 8);
}

TEST(Model, NamesAMissingKey) {
  for (const char* key : {"llama.block_count", "llama.embedding_length", "llama.context_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    TinyModel tiny;
    tiny.without_key = key;
    expect_error(tiny.build(), ErrorCode::missing_metadata, key);
  }
}

TEST(Model, RefusesImpossibleNumbers) {
  TinyModel tiny;
  tiny.n_kv_heads = 3;
  expect_error(tiny.build(), ErrorCode::corrupt,
               "llama.attention.head_count is 2 in layer 0, expected a multiple of its 3 KV heads");
  tiny = {};
  tiny.n_layers = 0;
  expect_error(tiny.build(), ErrorCode::corrupt, "llama.block_count is 0, expected 1 to");
  tiny = {};
  tiny.n_heads = 8;  // heads of one element cannot be rotated in pairs
  tiny.n_kv_heads = 8;
  expect_error(tiny.build(), ErrorCode::corrupt,
               "llama.rope.dimension_count is 1, expected an even");
}

}  // namespace
}  // namespace kinglet
