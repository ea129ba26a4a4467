#include "model/importance_collector.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "model/runner.h"

namespace kinglet {
namespace {

constexpr size_t kSeen = 24;

using Entry = ImportanceMatrix::Entry;

// What a fixture's matrices are multiplied by for kSeen tokens.
ImportanceMatrix collect(const std::string& fixture, uint32_t n_batch) {
  auto runner = ModelRunner::create(fixture, scalar_kernels(), n_batch, 2);
  EXPECT_TRUE(runner.ok());
  ModelRunner& run = *runner.value();
  ImportanceCollector collector(run.model.header());
  run.scratch.observer = &collector;
  std::vector<int32_t> tokens(kSeen);
  std::iota(tokens.begin(), tokens.end(), 5);
  run.append(tokens);
  auto matrix = collector.finish();
  EXPECT_TRUE(matrix.ok());
  return std::move(matrix.value());
}

std::vector<float> sum_of_experts(const Entry& entry) {
  const size_t n_columns = entry.sums.size() / entry.counts.size();
  std::vector<float> sums(n_columns);
  for (size_t i = 0; i < entry.sums.size(); ++i) sums[i % n_columns] += entry.sums[i];
  return sums;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float factor = 1) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], factor * b[i], 1e-4f * a[i]) << i;
}

// The mean square of a normalized row is 1 before the norm's weights.
TEST(ImportanceCollector, SumsTheSquaresOfNormalizedRows) {
  const ImportanceMatrix matrix = collect("quant/llama-f32.gguf", 8);
  auto file = read_gguf_file(fixture_path("quant/llama-f32.gguf"));
  ASSERT_TRUE(file.ok());
  const TensorInfo* norm = file.value().header().find_tensor("blk.0.attn_norm.weight");
  const auto* weights = reinterpret_cast<const float*>(file.value().tensor(*norm).bytes.data());
  const Entry& query = matrix.entries.at("blk.0.attn_q.weight");
  double sum = 0;
  for (size_t i = 0; i < query.sums.size(); ++i) {
    sum += double{query.sums[i]} / (double{weights[i]} * double{weights[i]});
  }
  EXPECT_NEAR(sum / static_cast<double>(kSeen * query.sums.size()), 1.0, 1e-3);
  EXPECT_EQ(query.counts, std::vector<float>{kSeen});
  for (const char* name : {"blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
    EXPECT_EQ(matrix.entries.at(name).sums, query.sums) << name;
  }
  EXPECT_EQ(matrix.entries.count("output.weight"), 0u);  // as in llama.cpp
}

TEST(ImportanceCollector, CountsTheTokensOfEachExpert) {
  const ImportanceMatrix matrix = collect("hybrid/qwen35moe.gguf", 8);
  const Entry& gate = matrix.entries.at("blk.1.ffn_gate_exps.weight");
  const Entry& up = matrix.entries.at("blk.1.ffn_up_exps.weight");
  const Entry& down = matrix.entries.at("blk.1.ffn_down_exps.weight");
  const Entry& router = matrix.entries.at("blk.1.ffn_gate_inp.weight");
  ASSERT_EQ(gate.counts.size(), 6u);
  const float n_used = std::accumulate(gate.counts.begin(), gate.counts.end(), 0.0f) / kSeen;
  EXPECT_GE(n_used, 1.0f);
  EXPECT_EQ(n_used, std::floor(n_used));
  EXPECT_NE(gate.counts, std::vector<float>(6, gate.counts[0]));
  EXPECT_EQ(up.counts, gate.counts);
  EXPECT_EQ(down.counts, gate.counts);
  EXPECT_EQ(up.sums, gate.sums);
  expect_near(sum_of_experts(gate), router.sums, n_used);
}

TEST(ImportanceCollector, CountsAMatrixOnceOfWhichALayerUsesParts) {
  const ImportanceMatrix matrix = collect("hybrid/qwen35moe.gguf", 8);
  EXPECT_EQ(matrix.entries.at("blk.0.attn_qkv.weight").counts, std::vector<float>{kSeen});
  EXPECT_EQ(matrix.entries.at("blk.0.attn_qkv.weight").sums,
            matrix.entries.at("blk.0.attn_gate.weight").sums);
}

TEST(ImportanceCollector, DoesNotDependOnBatches) {
  const ImportanceMatrix one = collect("hybrid/qwen35moe.gguf", 1);
  const ImportanceMatrix many = collect("hybrid/qwen35moe.gguf", 16);
  ASSERT_EQ(one.entries.size(), many.entries.size());
  for (const auto& [name, entry] : one.entries) {
    SCOPED_TRACE(name);
    expect_near(entry.sums, many.entries.at(name).sums);
    EXPECT_EQ(entry.counts, many.entries.at(name).counts);
  }
}

}  // namespace
}  // namespace kinglet
