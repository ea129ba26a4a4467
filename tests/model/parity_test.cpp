// The forward pass, compared with llama.cpp's results on every kernel set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kv/rows.h"
#include "model/rebuild.h"
#include "model/reference.h"
#include "model/runner.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

// The allowed differences: of probabilities for kernels that compute in floats, of the KL
// divergence for 8-bit activations.
struct Tolerance {
  double probability;
  double kl_divergence;
  double margin;  // of probability: within it, another token may be the best
};

constexpr Tolerance kFloat{2e-3, 1e-4, 4e-3};
constexpr Tolerance kEightBit{1.0, 0.02, 0};  // the margin is the fixture's

struct Fixture {
  const char* model;
  const char* reference;
  bool quantized;                 // kernels may round activations to 8 bits for these weights
  bool rounded_reference;         // the reference rounded activations
  double eight_bit_margin = 0.1;  // wider if rounding can change a token's expert
  DType type = DType::f32;        // the file's F32 matrices are rounded to this type first
};

class Parity : public testing::TestWithParam<std::tuple<Fixture, const KernelSet*>> {
 protected:
  const Fixture& fixture() const { return std::get<0>(GetParam()); }
  const KernelSet& kernels() const { return *std::get<1>(GetParam()); }

  Tolerance tolerance() const {
    const bool rounds = fixture().quantized && &kernels() != &scalar_kernels();
    if (!rounds && !fixture().rounded_reference) return kFloat;
    Tolerance tolerance = kEightBit;
    tolerance.margin = fixture().eight_bit_margin;
    return tolerance;
  }

  void check(uint32_t n_batch, size_t n_threads) {
    const Reference reference = read_reference(fixture().reference);
    if (reference.tokens.empty() && std::string_view(fixture().reference).starts_with("..")) {
      GTEST_SKIP() << "no " << fixture().reference;
    }
    ASSERT_GE(reference.tokens.size(), 40u);
    ASSERT_GE(reference.positions.size(), 5u);
    auto file = fixture().type == DType::f32
                    ? read_gguf_file(fixture_path(fixture().model))
                    : converted(fixture().model, dtype_info(fixture().type), Converts::all);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto created =
        ModelRunner::create(std::move(file.value()), kernels(), n_batch, n_threads);
    ASSERT_TRUE(created.ok()) << created.error().message;
    ModelRunner& runner = *created.value();

    size_t done = 0;
    for (const ReferencePosition& expected : reference.positions) {
      const auto logits =
          runner.append(std::span(reference.tokens).subspan(done, expected.position + 1 - done));
      done = expected.position + 1;
      ASSERT_EQ(logits.size(), expected.logprobs.size());
      const Difference difference = compare(log_softmax(logits), expected.logprobs);
      EXPECT_LT(difference.probability, tolerance().probability) << expected.position;
      EXPECT_LT(difference.kl_divergence, tolerance().kl_divergence) << expected.position;
    }
    check_greedy(runner, reference, done);
  }

  // The continuation must agree if the two best tokens differ by more than the tolerance.
  void check_greedy(ModelRunner& runner, const Reference& reference, size_t done) {
    auto logits = runner.append(std::span(reference.tokens).subspan(done));
    for (const int32_t expected : reference.greedy) {
      const auto logprobs = log_softmax(logits);
      const auto best = std::max_element(logprobs.begin(), logprobs.end()) - logprobs.begin();
      const double margin = std::exp(logprobs[static_cast<size_t>(best)]) -
                            std::exp(logprobs[static_cast<size_t>(expected)]);
      EXPECT_LT(margin, tolerance().margin) << "expected " << expected << ", found " << best;
      logits = runner.append({&expected, 1});
    }
  }
};

TEST_P(Parity, InBatches) { check(16, 1); }
TEST_P(Parity, TokenByToken) { check(1, 1); }

// Files that start with ".." are too large for the project, and are tested where they are.
constexpr Fixture kFixtures[] = {
    {"arch/llama.gguf", "arch/llama.json", false, false},
    {"arch/llama3.gguf", "arch/llama3.json", false, false},
    {"arch/qwen2.gguf", "arch/qwen2.json", false, false},
    {"arch/qwen3.gguf", "arch/qwen3.json", false, false},
    {"arch/qwen3-wide-head.gguf", "arch/qwen3-wide-head.json", false, false},
    {"arch/gemma.gguf", "arch/gemma.json", false, false},
    {"arch/gemma2.gguf", "arch/gemma2.json", false, false},
    {"arch/gemma3.gguf", "arch/gemma3.json", false, false},
    {"arch/phi2.gguf", "arch/phi2.json", false, false},
    {"arch/phi3.gguf", "arch/phi3.json", false, false},
    {"arch/gpt2.gguf", "arch/gpt2.json", false, false},
    {"arch/llama-linear.gguf", "arch/llama-linear.json", false, false},
    {"arch/llama-yarn.gguf", "arch/llama-yarn.json", false, false},
    {"arch/qwen2-yarn.gguf", "arch/qwen2-yarn.json", false, false},
    {"arch/gemma2-caps.gguf", "arch/gemma2-caps.json", false, false},
    {"arch/gemma3-linear.gguf", "arch/gemma3-linear.json", false, false},
    {"arch/phi3-short.gguf", "arch/phi3-short.json", false, false},
    {"arch/phi3-long.gguf", "arch/phi3-long.json", false, false},
    {"arch/granite.gguf", "arch/granite.json", false, false},
    {"arch/granite-unrotated.gguf", "arch/granite-unrotated.json", false, false},
    {"arch/granite-4.1.gguf", "arch/granite-4.1.json", false, false},
    {"arch/smollm3.gguf", "arch/smollm3.json", false, false},
    {"arch/olmo2.gguf", "arch/olmo2.json", false, false},
    {"arch/olmo2-window.gguf", "arch/olmo2-window.json", false, false},
    {"arch/stablelm.gguf", "arch/stablelm.json", false, false},
    {"arch/stablelm-parallel.gguf", "arch/stablelm-parallel.json", false, false},
    {"arch/starcoder2.gguf", "arch/starcoder2.json", false, false},
    {"arch/mixtral.gguf", "arch/mixtral.json", false, false},
    {"arch/granitemoe.gguf", "arch/granitemoe.json", false, false},
    {"arch/qwen3moe.gguf", "arch/qwen3moe.json", false, false},
    {"arch/qwen2vl.gguf", "arch/qwen2vl.json", false, false},
    {"arch/qwen3vl.gguf", "arch/qwen3vl.json", false, false},
    {"arch/olmoe.gguf", "arch/olmoe.json", false, false},
    {"arch/ernie4_5.gguf", "arch/ernie4_5.json", false, false},
    {"arch/internlm2.gguf", "arch/internlm2.json", false, false},
    {"arch/mistral3.gguf", "arch/mistral3.json", false, false},
    {"arch/mistral3-moe.gguf", "arch/mistral3-moe.json", false, false},
    {"arch/maincoder.gguf", "arch/maincoder.json", false, false},
    {"arch/hunyuan-dense.gguf", "arch/hunyuan-dense.json", false, false},
    {"arch/arcee.gguf", "arch/arcee.json", false, false},
    {"arch/minicpm.gguf", "arch/minicpm.json", false, false},
    {"arch/minicpm-long.gguf", "arch/minicpm-long.json", false, false},
    {"arch/apertus.gguf", "arch/apertus.json", false, false},
    {"arch/seed_oss.gguf", "arch/seed_oss.json", false, false},
    {"arch/exaone.gguf", "arch/exaone.json", false, false},
    {"arch/exaone4.gguf", "arch/exaone4.json", false, false},
    {"arch/glm4.gguf", "arch/glm4.json", false, false},
    {"arch/glm4-sections.gguf", "arch/glm4-sections.json", false, false},
    {"arch/nemotron.gguf", "arch/nemotron.json", false, false},
    {"arch/cohere2.gguf", "arch/cohere2.json", false, false},
    {"arch/k2-horizon.gguf", "arch/k2-horizon.json", false, false},
    {"arch/k2-horizon-plain.gguf", "arch/k2-horizon-plain.json", false, false},
    {"arch/k2-horizon-one.gguf", "arch/k2-horizon-one.json", false, false},
    {"arch/k2-horizon-Q8_0.gguf", "arch/k2-horizon-Q8_0.exact.json", true, false},
    {"arch/k2-horizon-Q8_0.gguf", "arch/k2-horizon-Q8_0.json", true, true},
    {"arch/gemma4.gguf", "arch/gemma4.json", false, false},
    {"arch/gemma4-kv.gguf", "arch/gemma4-kv.json", false, false},
    {"arch/gemma4-Q4_0.gguf", "arch/gemma4-Q4_0.exact.json", true, false},
    {"arch/gemma4-Q4_0.gguf", "arch/gemma4-Q4_0.json", true, true},
    {"hybrid/qwen35moe.gguf", "hybrid/qwen35moe.json", false, false},
    {"hybrid/lfm2.gguf", "hybrid/lfm2.json", false, false},
    {"hybrid/lfm2-window.gguf", "hybrid/lfm2-window.json", false, false},
    {"hybrid/lfm2moe.gguf", "hybrid/lfm2moe.json", false, false},
    {"hybrid/lfm3.gguf", "hybrid/lfm3.json", false, false},
    {"hybrid/lfm3-plain.gguf", "hybrid/lfm3-plain.json", false, false},
    {"hybrid/lfm3-Q4_0.gguf", "hybrid/lfm3-Q4_0.exact.json", true, false},
    {"hybrid/lfm3-Q4_0.gguf", "hybrid/lfm3-Q4_0.json", true, true},
    {"hybrid/qwen35.gguf", "hybrid/qwen35.json", false, false},
    {"hybrid/qwen35-mtp.gguf", "hybrid/qwen35-mtp.json", false, false},
    {"hybrid/mamba2.gguf", "hybrid/mamba2.json", false, false},
    {"hybrid/granitehybrid.gguf", "hybrid/granitehybrid.json", false, false},
    {"hybrid/granitehybrid-moe.gguf", "hybrid/granitehybrid-moe.json", false, false},
    {"hybrid/falcon-h1.gguf", "hybrid/falcon-h1.json", false, false},
    {"../../../shared/fixtures/arch3/nemotron_h-a.gguf",
     "../../../shared/fixtures/arch3/nemotron_h-a.json", false, false},
    {"hybrid/nemotron_h-Q4_0.gguf", "hybrid/nemotron_h-Q4_0.exact.json", true, false},
    {"hybrid/nemotron_h-Q4_0.gguf", "hybrid/nemotron_h-Q4_0.json", true, true},
    {"hybrid/lfm2-heads.gguf", "hybrid/lfm2-heads.json", false, false},
    {"hybrid/qwen35-heads.gguf", "hybrid/qwen35-heads.json", false, false},
    {"hybrid/mamba2-groups.gguf", "hybrid/mamba2-groups.json", false, false},
    {"hybrid/granitehybrid-groups.gguf", "hybrid/granitehybrid-groups.json", false, false},
    {"hybrid/falcon-h1-groups.gguf", "hybrid/falcon-h1-groups.json", false, false},
    {"hybrid/lfm2moe-Q4_0.gguf", "hybrid/lfm2moe-Q4_0.exact.json", true, false, 0.2},
    {"hybrid/lfm2moe-Q4_0.gguf", "hybrid/lfm2moe-Q4_0.json", true, true},
    {"hybrid/qwen35-Q8_0.gguf", "hybrid/qwen35-Q8_0.exact.json", true, false},
    {"hybrid/qwen35-Q8_0.gguf", "hybrid/qwen35-Q8_0.json", true, true},
    {"hybrid/granitehybrid-Q5_0.gguf", "hybrid/granitehybrid-Q5_0.exact.json", true, false},
    {"hybrid/granitehybrid-Q5_0.gguf", "hybrid/granitehybrid-Q5_0.json", true, true},
    {"quant/llama-f32.gguf", "quant/llama-f32.json", false, false},
    {"quant/llama-f32.gguf", "quant/llama-F16.json", false, false, 0.1, DType::f16},
    {"quant/llama-f32.gguf", "quant/llama-BF16.exact.json", false, false, 0.1, DType::bf16},
    {"quant/llama-f32.gguf", "quant/llama-BF16.json", false, true, 0.1, DType::bf16},
    {"quant/llama-Q8_0.gguf", "quant/llama-Q8_0.exact.json", true, false},
    {"quant/llama-Q8_0.gguf", "quant/llama-Q8_0.json", true, true},
    {"quant/llama-Q4_0.gguf", "quant/llama-Q4_0.exact.json", true, false},
    {"quant/llama-Q4_0.gguf", "quant/llama-Q4_0.json", true, true},
    {"quant/llama-Q4_1.gguf", "quant/llama-Q4_1.exact.json", true, false},
    {"quant/llama-Q4_1.gguf", "quant/llama-Q4_1.json", true, true},
    {"quant/llama-Q5_0.gguf", "quant/llama-Q5_0.exact.json", true, false},
    {"quant/llama-Q5_0.gguf", "quant/llama-Q5_0.json", true, true},
    {"quant/llama-Q5_1.gguf", "quant/llama-Q5_1.exact.json", true, false},
    {"quant/llama-Q5_1.gguf", "quant/llama-Q5_1.json", true, true},
    {"quant/llama-Q2_K.gguf", "quant/llama-Q2_K.exact.json", true, false},
    {"quant/llama-Q2_K.gguf", "quant/llama-Q2_K.json", true, true},
    {"quant/llama-Q3_K_M.gguf", "quant/llama-Q3_K_M.exact.json", true, false},
    {"quant/llama-Q3_K_M.gguf", "quant/llama-Q3_K_M.json", true, true},
    {"quant/llama-Q4_K_M.gguf", "quant/llama-Q4_K_M.exact.json", true, false},
    {"quant/llama-Q4_K_M.gguf", "quant/llama-Q4_K_M.json", true, true},
    {"quant/llama-Q5_K_M.gguf", "quant/llama-Q5_K_M.exact.json", true, false},
    {"quant/llama-Q5_K_M.gguf", "quant/llama-Q5_K_M.json", true, true},
    {"quant/llama-Q6_K.gguf", "quant/llama-Q6_K.exact.json", true, false},
    {"quant/llama-Q6_K.gguf", "quant/llama-Q6_K.json", true, true},
    {"quant/llama-IQ4_NL.gguf", "quant/llama-IQ4_NL.exact.json", true, false},
    {"quant/llama-IQ4_NL.gguf", "quant/llama-IQ4_NL.json", true, true},
    {"quant/llama-IQ4_XS.gguf", "quant/llama-IQ4_XS.exact.json", true, false},
    {"quant/llama-IQ4_XS.gguf", "quant/llama-IQ4_XS.json", true, true},
    {"quant/llama-TQ1_0.gguf", "quant/llama-TQ1_0.exact.json", true, false},
    {"quant/llama-TQ1_0.gguf", "quant/llama-TQ1_0.json", true, true},
    {"quant/llama-TQ2_0.gguf", "quant/llama-TQ2_0.exact.json", true, false},
    {"quant/llama-TQ2_0.gguf", "quant/llama-TQ2_0.json", true, true},
    {"quant/qwen3-Q1_0.gguf", "quant/qwen3-Q1_0.exact.json", true, false},
    {"quant/qwen3-Q1_0.gguf", "quant/qwen3-Q1_0.json", true, true},
    {"quant/qwen3-Q2_0.gguf", "quant/qwen3-Q2_0.exact.json", true, false},
    {"quant/qwen3-Q2_0.gguf", "quant/qwen3-Q2_0.json", true, true},
    {"quant/qwen3-NVFP4.gguf", "quant/qwen3-NVFP4.exact.json", true, false},
    {"quant/qwen3-NVFP4.gguf", "quant/qwen3-NVFP4.json", true, true},
    {"quant/qwen3-TQ1_0.gguf", "quant/qwen3-TQ1_0.exact.json", true, false},
    {"quant/qwen3-TQ1_0.gguf", "quant/qwen3-TQ1_0.json", true, true},
    {"quant/qwen3-TQ2_0.gguf", "quant/qwen3-TQ2_0.exact.json", true, false},
    {"quant/qwen3-TQ2_0.gguf", "quant/qwen3-TQ2_0.json", true, true},
};

std::string parity_name(const testing::TestParamInfo<Parity::ParamType>& info) {
  const auto& [fixture, kernels] = info.param;
  return test_name(std::string(fixture.reference) + "_" + std::string(kernels->name));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Parity,
                         testing::Combine(testing::ValuesIn(kFixtures),
                                          testing::ValuesIn(available_kernels().begin(),
                                                            available_kernels().end())),
                         parity_name);

TEST(Forward, GivesTheSameOnAnyNumberOfThreads) {
  for (const std::string model : {"quant/llama-Q4_0", "quant/qwen3-Q1_0", "quant/qwen3-Q2_0"}) {
    const Reference reference = read_reference(model + ".json");
    std::vector<float> expected;
    for (const size_t n_threads : {1u, 2u, 3u}) {
      const auto created =
          ModelRunner::create(model + ".gguf", *available_kernels().front(), 16, n_threads);
      ASSERT_TRUE(created.ok());
      const auto& runner = created.value();
      const auto logits = runner->append(reference.tokens);
      if (expected.empty()) expected = logits;
      EXPECT_EQ(logits, expected) << model << ", " << n_threads << " threads";
    }
  }
}

TEST(Forward, LeavesTheCacheAsItWasOnAnError) {
  const auto created = ModelRunner::create("arch/llama.gguf", scalar_kernels(), 16, 1);
  ASSERT_TRUE(created.ok());
  const auto& runner = created.value();
  const std::vector<int32_t> good = {1, 335, 157};
  runner->append(good);
  const auto step = [&](std::vector<int32_t> tokens) {
    return forward(runner->model, runner->pool, runner->scratch, runner->state, tokens,
                   Output::logits);
  };
  EXPECT_EQ(step({5, 512}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(step({-1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(step({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(step(std::vector<int32_t>(17, 5)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(runner->state.size(), 3u);
  while (runner->state.size() < kCtx) ASSERT_TRUE(step({5}).ok());
  EXPECT_EQ(step({5}).error().code, ErrorCode::context_full);
  EXPECT_EQ(runner->state.size(), kCtx);
}

// The first layer's keys and values are stored when the second layer's turn out not to be finite.
TEST(Forward, ALayerThatFailsLeavesEveryLayerAsItWas) {
  auto file = load_gguf(TinyModel{}.build());
  ASSERT_TRUE(file.ok());
  const auto created = ModelRunner::create(std::move(file.value()), scalar_kernels(), 4, 1);
  ASSERT_TRUE(created.ok());
  const auto& runner = created.value();
  const ModelConfig& config = runner->model.config();
  // The weight is damaged after loading: a file with such a weight is refused.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Norm& norm = runner->model.weights().layers[1].mixer_norm;
  *const_cast<float*>(norm.weight) = kInfinity;
  auto state = empty_sequence(runner->model, 8);
  ASSERT_TRUE(state.ok());
  KvCache& cache = state.value().rows();
  const RowShape& heads = runner->model.state_shape().rows[0];
  const std::vector<float> row(heads.n_kv_heads * heads.head_dim, 1.0f);
  ASSERT_TRUE(cache.reserve(1).ok());
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    ASSERT_TRUE(cache.write(layer, 0, row, row).ok());
  }
  ASSERT_TRUE(cache.commit(1).ok());
  const std::vector<int32_t> tokens = {3, 4};
  const Status failed =
      forward(runner->model, runner->pool, runner->scratch, state.value(), tokens, Output::logits);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::not_finite);
  EXPECT_EQ(cache.size(), 1u);
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    EXPECT_EQ(value_at(cache, layer, 0, 0), std::vector<float>(heads.head_dim, 1.0f));
  }
  EXPECT_EQ(cache.commit(1).error().code, ErrorCode::invalid_argument);  // nothing is reserved
}

}  // namespace
}  // namespace kinglet
