// Factors that belong to matrices ("NAME.scale"), and the weight types that have them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/format.h"
#include "errors.h"
#include "model/rebuild.h"
#include "model/reference.h"
#include "model/runner.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

std::vector<float> decode(const TensorView& tensor) {
  std::vector<float> weights(static_cast<size_t>(tensor.n_rows() * tensor.n_columns()));
  dtype_info(tensor.type).dequantize(tensor.bytes.data(), weights.data(), weights.size());
  return weights;
}

Result<std::vector<float>> answer(const Bytes& bytes, const KernelSet& kernels) {
  KINGLET_ASSIGN(GgufFile file, load_gguf(bytes));
  KINGLET_ASSIGN(const auto runner, ModelRunner::create(std::move(file), kernels, 16, 1));
  return runner->append(std::vector<int32_t>{1, 5, 9, 3, 14});
}

// Whether the tensor is a matrix of a layer that rows are multiplied by.
bool is_scaled(const TensorView& tensor) {
  return tensor.n_rows() > 1 && tensor.name.starts_with("blk.") &&
         tensor.name.ends_with(".weight") && tensor.name.find("norm") == std::string::npos &&
         tensor.name.find("conv") == std::string::npos;
}

std::string stem_of(const TensorView& tensor) {
  return std::string(tensor.name.substr(0, tensor.name.size() - std::string(".weight").size()));
}

class Scales : public testing::TestWithParam<std::tuple<const char*, const KernelSet*>> {};

// The factors are powers of two, so nothing is rounded.
TEST_P(Scales, AreFactorsOfTheirMatrices) {
  const std::string fixture = std::get<0>(GetParam());
  size_t n_scaled = 0;
  const auto scale = [](size_t tensor, uint64_t matrix) {
    return tensor % 3 == 0 ? 0.5f : matrix % 2 == 0 ? 2.0f : -1.0f;
  };
  const Bytes beside = rebuild(fixture, [&](GgufBuilder& builder, const TensorView& tensor) {
    if (!is_scaled(tensor)) return copy_tensor(builder, tensor);
    builder.add_f32(tensor.name, dims_of(tensor.shape), decode(tensor));
    std::vector<float> scales;
    for (uint64_t i = 0; i < tensor.shape[2]; ++i) scales.push_back(scale(n_scaled, i));
    builder.add_f32(stem_of(tensor) + ".scale", {scales.size()}, scales);
    builder.add_f32(stem_of(tensor) + ".input_scale", {scales.size()},
                    std::vector<float>(scales.size(), 77.0f));
    ++n_scaled;
  });
  EXPECT_GE(n_scaled, 6u);
  n_scaled = 0;
  const Bytes inside = rebuild(fixture, [&](GgufBuilder& builder, const TensorView& tensor) {
    if (!is_scaled(tensor)) return copy_tensor(builder, tensor);
    std::vector<float> weights = decode(tensor);
    const size_t n = weights.size() / static_cast<size_t>(tensor.shape[2]);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= scale(n_scaled, i / n);
    builder.add_f32(tensor.name, dims_of(tensor.shape), weights);
    ++n_scaled;
  });
  const auto found = answer(beside, *std::get<1>(GetParam()));
  const auto expected = answer(inside, *std::get<1>(GetParam()));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  EXPECT_EQ(found.value(), expected.value());
}

// Whole matrices with biases, fused matrices, experts, shared experts, state-space mixers.
INSTANTIATE_TEST_SUITE_P(
    Architectures, Scales,
    testing::Combine(testing::Values("arch/qwen2.gguf", "arch/phi3.gguf", "arch/qwen3moe.gguf",
                                     "hybrid/granitehybrid-moe.gguf", "hybrid/qwen35.gguf"),
                     testing::ValuesIn(available_kernels().begin(), available_kernels().end())));

constexpr const char* kNvfp4 = "quant/qwen3-NVFP4.gguf";

// The logits of the fixture with one more tensor, or with that tensor replaced.
Result<std::vector<float>> with_tensor(const std::string& name, const std::vector<uint64_t>& dims,
                                       const std::vector<float>& values) {
  GgufBuilder* last = nullptr;
  bool added = false;
  const Bytes bytes = rebuild(kNvfp4, [&](GgufBuilder& builder, const TensorView& tensor) {
    if (tensor.name != name) copy_tensor(builder, tensor);
    if (!added) builder.add_f32(name, dims, values);
    added = true;
    last = &builder;
  });
  return answer(bytes, scalar_kernels());
}

TEST(Nvfp4, AMissingScaleIsOne) {
  const auto without = answer(rebuild(kNvfp4, copy_tensor), scalar_kernels());
  const auto with = with_tensor("blk.0.attn_v.scale", {1}, {1.0f});
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ(without.value(), with.value());
  const auto other = with_tensor("blk.0.attn_v.scale", {1}, {2.0f});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(without.value(), other.value());
}

TEST(Nvfp4, BadScalesAreRefusedByName) {
  expect_error(with_tensor("blk.1.ffn_up.scale", {2}, {1, 1}), ErrorCode::wrong_shape,
               "tensor blk.1.ffn_up.scale has shape [2], expected [1]");
  expect_error(
      with_tensor("blk.1.ffn_up.scale", {1}, {NAN}), ErrorCode::not_finite,
      "tensor blk.1.ffn_up.scale contains NaN or infinity at weight 0: the file is damaged");
  expect_error(with_tensor("blk.1.ffn_up.input_scale", {3}, {1, 1, 1}), ErrorCode::wrong_shape,
               "tensor blk.1.ffn_up.input_scale has shape [3], expected [1]");
  // Embeddings are looked up, not multiplied.
  expect_error(with_tensor("token_embd.scale", {1}, {1}), ErrorCode::unsupported_feature,
               "tensor \"token_embd.scale\" is not used by this architecture");
}

TEST(Nvfp4, ABlockWhoseScaleIsNoNumberIsRefused) {
  const Bytes bytes = rebuild(kNvfp4, [&](GgufBuilder& builder, const TensorView& tensor) {
    if (tensor.name != "blk.0.ffn_up.weight") return copy_tensor(builder, tensor);
    Bytes blocks(tensor.bytes.begin(), tensor.bytes.end());
    blocks[36 + 2] = std::byte{0x7f};
    builder.add_tensor(tensor.name, tensor.type, dims_of(tensor.shape), blocks);
  });
  expect_error(
      answer(bytes, scalar_kernels()), ErrorCode::not_finite,
      "tensor blk.0.ffn_up.weight contains NaN or infinity at weight 64: the file is damaged");
}

// The output's scale is used if the output is NVFP4, and is refused otherwise.
Result<std::vector<float>> with_output(DType type, float factor) {
  const DTypeInfo& info = dtype_info(type);
  const Bytes bytes = rebuild(kNvfp4, [&](GgufBuilder& builder, const TensorView& tensor) {
    if (tensor.name == "output.weight") return;
    copy_tensor(builder, tensor);
    if (tensor.name != "token_embd.weight") return;
    const std::vector<float> weights = decode(tensor);
    Bytes blocks(weights.size() / info.block_size * info.block_bytes);
    find_quantizer(type)(weights.data(), blocks.data(), weights.size());
    builder.add_tensor("output.weight", type, dims_of(tensor.shape), blocks);
    if (factor != 0) builder.add_f32("output.scale", {1}, {factor});
  });
  return answer(bytes, scalar_kernels());
}

TEST(Nvfp4, TheOutputHasAScaleOfItsOwn) {
  const auto plain = with_output(DType::nvfp4, 0);
  const auto doubled = with_output(DType::nvfp4, 2);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  ASSERT_TRUE(doubled.ok()) << doubled.error().message;
  for (size_t i = 0; i < plain.value().size(); ++i) {
    ASSERT_EQ(doubled.value()[i], 2 * plain.value()[i]);
  }
  expect_error(with_output(DType::q8_0, 2), ErrorCode::unsupported_feature,
               "tensor \"output.scale\" is not used by this architecture");
}

// The first form of Q2_0, with the same id: the same bytes are read as PQ2_0.
TEST(Q2_0, EarlyFilesAreRead) {
  const auto repacked = [](uint32_t id, DType type) {
    return rebuild("quant/qwen3-Q2_0.gguf", [&](GgufBuilder& builder, const TensorView& tensor) {
      if (tensor.type != DType::q2_0) return copy_tensor(builder, tensor);
      // Two neighbouring blocks become one, with the scale of the first.
      std::vector<BlockPQ2_0> blocks(tensor.bytes.size() / (2 * sizeof(BlockQ2_0)));
      const auto* halves = reinterpret_cast<const BlockQ2_0*>(tensor.bytes.data());
      for (size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].scale = halves[2 * i].scale;
        std::copy_n(halves[2 * i].pairs, 16, blocks[i].pairs);
        std::copy_n(halves[2 * i + 1].pairs, 16, blocks[i].pairs + 16);
      }
      if (type == DType::f32) {
        const TensorView wide{tensor.name, DType::pq2_0, tensor.shape,
                              std::as_writable_bytes(std::span(blocks))};
        return static_cast<void>(builder.add_f32(tensor.name, dims_of(tensor.shape), decode(wide)));
      }
      builder.add_tensor(tensor.name, static_cast<DType>(id), dims_of(tensor.shape),
                         std::as_bytes(std::span(blocks)));
    });
  };
  const Bytes early = repacked(42, DType::pq2_0);
  auto file = load_gguf(early);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().header().find_tensor("blk.0.attn_q.weight")->type, DType::pq2_0);
  const auto expected = answer(repacked(0, DType::f32), scalar_kernels());
  ASSERT_TRUE(expected.ok());
  for (const KernelSet* kernels : available_kernels()) {
    const auto found = answer(early, *kernels);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const Difference difference =
        compare(log_softmax(found.value()), log_softmax(expected.value()));
    const bool rounds = kernels != &scalar_kernels();  // activations are rounded to 8 bits
    EXPECT_LT(difference.kl_divergence, rounds ? 0.02 : 1e-6) << kernels->name;
  }
}

TEST(Model, WhatTurnsActivationsByHadamardMatricesIsRefused) {
  TinyModel model;
  model.edit = [](GgufBuilder& file) { file.set_uint32("prism.hadamard.block_size", 128); };
  auto file = load_gguf(model.build());
  ASSERT_TRUE(file.ok());
  const auto loaded = Model::load(std::move(file.value()), scalar_kernels());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::unsupported_feature);
  EXPECT_EQ(loaded.error().message, "\"prism.hadamard.block_size\" is not supported");
}

}  // namespace
}  // namespace kinglet
