// Every architecture in every weight type: the results of kernels that round activations stay close
// to those of the scalar kernels, which compute from the same weights in floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/format.h"
#include "model/rebuild.h"
#include "model/reference.h"
#include "model/runner.h"

namespace kinglet {
namespace {

// One fixture for each way to cut and pack tensors: whole, fused, experts, tied or not.
constexpr const char* kModels[] = {
    "arch/llama",         "arch/granite",
    "arch/granitemoe",    "arch/smollm3",
    "arch/qwen2",         "arch/qwen3-wide-head",
    "arch/qwen3moe",      "arch/olmo2",
    "arch/olmoe",         "arch/gemma",
    "arch/gemma2",        "arch/gemma3",
    "arch/phi2",          "arch/phi3",
    "arch/gpt2",          "arch/starcoder2",
    "arch/stablelm",      "arch/mixtral",
    "hybrid/lfm2",        "hybrid/qwen35",
    "hybrid/mamba2",      "hybrid/granitehybrid",
    "hybrid/falcon-h1",   "hybrid/qwen35moe",
    "arch/apertus",       "arch/arcee",
    "arch/cohere2",       "arch/ernie4_5",
    "arch/exaone4",       "arch/glm4",
    "arch/hunyuan-dense", "arch/internlm2",
    "arch/maincoder",     "arch/minicpm",
    "arch/mistral3",      "arch/nemotron",
    "arch/seed_oss",      "arch/gemma4",
    "arch/k2-horizon",    "hybrid/lfm3",
    "arch/exaone",        "hybrid/nemotron_h-Q4_0",
};

class WeightTypes : public testing::TestWithParam<std::tuple<const char*, const KernelSet*>> {
 protected:
  static Result<std::vector<double>> answer(const std::string& model, const DTypeInfo& type,
                                            const KernelSet& kernels) {
    const Reference reference = read_reference(model + ".json");
    KINGLET_ASSIGN(GgufFile file, converted(model + ".gguf", type));
    KINGLET_ASSIGN(const auto runner, ModelRunner::create(std::move(file), kernels, 16, 1));
    return log_softmax(runner->append(reference.tokens));
  }
};

TEST_P(WeightTypes, AgreeWithScalarKernels) {
  const std::string model = std::get<0>(GetParam());
  const KernelSet* kernels = std::get<1>(GetParam());
  for (const DTypeInfo& type : dtypes()) {
    if (find_quantizer(type.type) == nullptr || type.block_size > 32) continue;
    const auto expected = answer(model, type, scalar_kernels());
    ASSERT_TRUE(expected.ok()) << type.name << ": " << expected.error().message;
    const auto found = answer(model, type, *kernels);
    ASSERT_TRUE(found.ok()) << type.name << ": " << found.error().message;
    const Difference difference = compare(found.value(), expected.value());
    const bool rounds = matmul_kernel(*kernels, type.type).activations != ActivationFormat::f32;
    // A recurrent state accumulates the rounding errors of all earlier tokens, here 150.
    const double rounded = model.find("hybrid/") == 0 ? 0.03 : 0.02;
    EXPECT_LT(difference.kl_divergence, rounds ? rounded : 1e-4) << type.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, WeightTypes,
    testing::Combine(testing::ValuesIn(kModels),
                     testing::ValuesIn(available_kernels().begin(), available_kernels().end())),
    [](const auto& test) {
      return test_name(cat(std::get<0>(test.param), "_", std::get<1>(test.param)->name));
    });

}  // namespace
}  // namespace kinglet
