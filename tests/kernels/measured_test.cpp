#include "kernels/measured.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/thread_pool.h"
#include "session/language_model.h"
#include "session/session.h"
#include "support.h"

namespace kinglet {
namespace {

std::vector<float> logits_with(const KernelSet& kernels, size_t n_threads) {
  auto file = read_gguf_file(KINGLET_SOURCE_DIR "/demo/models/kinglet-stories-5m-Q4_0.gguf");
  EXPECT_TRUE(file.ok());
  const auto loaded = load_language_model(std::move(file.value()), kernels);
  EXPECT_TRUE(loaded.ok());
  ThreadPool pool(n_threads);
  auto session = Session::create(loaded.value().model, pool, {.n_ctx = 32});
  EXPECT_TRUE(session.ok());
  EXPECT_TRUE(session.value()->append(std::vector<TokenId>{1, 400, 401, 402}).ok());
  return {session.value()->logits().begin(), session.value()->logits().end()};
}

TEST(MeasuredKernels, ComputeWhatTheOthersDo) {
  for (const KernelSet* kernels : available_kernels()) {
    EXPECT_EQ(logits_with(measured_kernels(*kernels), 1), logits_with(*kernels, 1));
    EXPECT_EQ(measured_kernels(*kernels).name, kernels->name);
  }
}

TEST(MeasuredKernels, CountEverySetByItself) {
  for (const KernelSet* kernels : available_kernels()) reset_kernel_latencies(*kernels);
  for (const KernelSet* kernels : available_kernels()) {
    (void)logits_with(*kernels, 1);
    EXPECT_EQ(kernel_latencies(*kernels).count(), 0u) << "not measured, but counted";
    (void)logits_with(measured_kernels(*kernels), 1);
    const LatencyHistogram once = kernel_latencies(*kernels);
    EXPECT_GT(once.count(), 6u * 10u);  // the layers, and at least each one's projections and norms
    EXPECT_GE(once.min(), 0.0);
    EXPECT_GE(once.mean(), once.min());
    EXPECT_LE(once.mean(), once.max());
    EXPECT_GE(once.variance(), 0.0);
    (void)logits_with(measured_kernels(*kernels), 1);
    EXPECT_EQ(kernel_latencies(*kernels).count(), 2 * once.count());
    EXPECT_EQ(kernel_latencies(measured_kernels(*kernels)).count(), 2 * once.count());
  }
}

TEST(MeasuredKernels, CountOneCallForEachCall) {
  const KernelSet& kernels = measured_kernels(scalar_kernels());
  reset_kernel_latencies(kernels);
  std::vector<float> x = {1, 2};
  kernels.gelu(x.data(), x.size());
  kernels.relu_squared(x.data(), x.size());
  kernels.xielu(x.data(), {.positive = 1}, x.size());
  kernels.add_scaled(x.data(), x.data(), 1.0f, x.size());
  float largest = 0;
  float sum = 0;
  (void)kernels.softmax_part(x.data(), x.size(), largest, sum);
  (void)kernels.largest(x.data(), x.size());
  EXPECT_EQ(kernel_latencies(kernels).count(), 6u);
  reset_kernel_latencies(kernels);
  EXPECT_EQ(kernel_latencies(kernels).count(), 0u);
}

#if !defined(__wasm__)
TEST(MeasuredKernels, CountFromEveryThread) {
  const KernelSet& kernels = measured_kernels(scalar_kernels());
  reset_kernel_latencies(kernels);
  ThreadPool pool(4);
  pool.for_range(10000, 1, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      float x = 1;
      kernels.gelu(&x, 1);
    }
  });
  EXPECT_EQ(kernel_latencies(kernels).count(), 10000u);
}
#endif

}  // namespace
}  // namespace kinglet
