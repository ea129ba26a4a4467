// The same seed and kernels give the same tokens with any number of threads, and the same numbers
// however many tokens are computed together.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "session/language_model.h"
#include "session/sampler.h"
#include "session/session.h"
#include "support.h"

namespace kinglet {
namespace {

// Every weight type that has its own kernels, experts, fused tensors, windows, recurrent layers,
// and odd sizes.
constexpr const char* kVariedModels[] = {
    "quant/llama-f32",    "quant/llama-Q4_0",   "quant/llama-Q4_1",     "quant/llama-Q5_0",
    "quant/llama-Q5_1",   "quant/llama-Q8_0",   "quant/llama-Q2_K",     "quant/llama-Q3_K_M",
    "quant/llama-Q4_K_M", "quant/llama-Q5_K_M", "quant/llama-Q6_K",     "quant/llama-IQ4_NL",
    "quant/llama-IQ4_XS", "quant/llama-TQ1_0",  "arch/qwen3moe",        "arch/gemma3",
    "arch/phi3",          "arch/stablelm",      "hybrid/lfm2moe",       "hybrid/qwen35",
    "hybrid/mamba2",      "hybrid/falcon-h1",   "quant/llama-TQ2_0",    "quant/qwen3-Q1_0",
    "quant/qwen3-Q2_0",   "quant/qwen3-NVFP4",  "arch/gemma2-caps",     "arch/olmo2-window",
    "arch/gpt2",          "hybrid/lfm2-window", "hybrid/granitehybrid", "hybrid/qwen35moe",
    "arch/cohere2",       "arch/apertus",       "arch/mistral3",        "hybrid/nemotron_h-Q4_0",
    "arch/gemma4",        "arch/gemma4-Q4_0",   "arch/k2-horizon",      "hybrid/lfm3",
    "hybrid/lfm3-Q4_0"};

constexpr KvKind kKinds[] = {KvKind::f32, KvKind::q4};

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logits;  // after the last one
};

class Determinism : public testing::TestWithParam<std::tuple<const char*, const KernelSet*>> {
 protected:
  static Answer answer(const Model& model, size_t n_threads, KvKind kind) {
    constexpr size_t kPrompt = 21;
    constexpr size_t kGenerated = 8;
    ThreadPool pool(n_threads);
    auto session = Session::create(
        model, pool,
        {.n_ctx = kPrompt + kGenerated, .n_batch = 16, .k_kind = kind, .v_kind = kind});
    EXPECT_TRUE(session.ok());
    const uint32_t vocab_size = model.config().vocab_size;
    std::vector<TokenId> tokens;
    for (uint32_t i = 0; i < kPrompt; ++i) {
      tokens.push_back(static_cast<TokenId>((i * 37 + 5) % vocab_size));
    }
    Sampler sampler({.temperature = 1.5f, .seed = 7}, vocab_size, model.kernels());
    EXPECT_TRUE(session.value()->append(tokens).ok());
    for (size_t i = 0; i < kGenerated; ++i) {
      tokens.push_back(sampler.sample(session.value()->logits()));
      EXPECT_TRUE(session.value()->append({&tokens.back(), 1}).ok());
    }
    const auto logits = session.value()->logits();
    return {tokens, {logits.begin(), logits.end()}};
  }
};

TEST_P(Determinism, DoesNotDependOnThreads) {
  const auto& [name, kernels] = GetParam();
  auto file = read_gguf_file(fixture_path(std::string(name) + ".gguf"));
  ASSERT_TRUE(file.ok());
  const auto model = Model::load(std::move(file.value()), *kernels);
  ASSERT_TRUE(model.ok());
  for (const KvKind kind : kKinds) {
    const Answer alone = answer(model.value(), 1, kind);
    for (const size_t n_threads : {2u, 3u, 8u}) {
      const Answer found = answer(model.value(), n_threads, kind);
      EXPECT_EQ(found.tokens, alone.tokens) << n_threads << " threads";
      EXPECT_EQ(found.logits, alone.logits) << n_threads << " threads";
    }
  }
}

std::vector<float> logits_in_batches(const Model& model, ThreadPool& pool,
                                     std::span<const TokenId> tokens, SequenceOptions options) {
  options.n_ctx = static_cast<uint32_t>(tokens.size());
  auto session = Session::create(model, pool, options);
  EXPECT_TRUE(session.ok());
  EXPECT_TRUE(session.value()->append(tokens).ok());
  const auto logits = session.value()->logits();
  return {logits.begin(), logits.end()};
}

// The results are equal bit for bit, which guessing tokens ahead relies on. A difference in any
// earlier number would change the last logits.
TEST_P(Determinism, DoesNotDependOnBatches) {
  const auto& [name, kernels] = GetParam();
  auto file = read_gguf_file(fixture_path(std::string(name) + ".gguf"));
  ASSERT_TRUE(file.ok());
  const auto model = Model::load(std::move(file.value()), *kernels);
  ASSERT_TRUE(model.ok());
  ThreadPool pool;
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < 27; ++i) {
    tokens.push_back(static_cast<TokenId>((i * 37 + 5) % model.value().config().vocab_size));
  }
  for (const KvKind kind : kKinds) {
    SequenceOptions options = {.n_batch = 1, .k_kind = kind, .v_kind = kind};
    const auto alone = logits_in_batches(model.value(), pool, tokens, options);
    for (const uint32_t n_batch : {2u, 7u, 8u}) {
      options.n_batch = n_batch;
      for (const uint32_t page_positions : {0u, 5u}) {
        options.page_positions = page_positions;
        EXPECT_EQ(logits_in_batches(model.value(), pool, tokens, options), alone)
            << "batches of " << n_batch << ", pages of " << page_positions << ", "
            << kv_kind_info(kind).name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Determinism,
    testing::Combine(testing::ValuesIn(kVariedModels),
                     testing::ValuesIn(available_kernels().begin(), available_kernels().end())),
    [](const auto& test) {
      return test_name(cat(std::get<0>(test.param), "_", std::get<1>(test.param)->name));
    });

}  // namespace
}  // namespace kinglet
