#include "session/speed_estimate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "session/sessions.h"

namespace kinglet {
namespace {

Result<SpeedEstimate> estimate_of(const std::string& path, ThreadPool& pool,
                                  bool chooses_threads = false) {
  KINGLET_ASSIGN(const GgufFile whole, read_gguf_file(path));
  const uint64_t n = whole.header().data_offset;
  KINGLET_ASSIGN(AlignedBuffer beginning, AlignedBuffer::allocate(n, "a test"));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(beginning.data()), static_cast<std::streamsize>(n));
  KINGLET_ASSIGN(GgufFile outline, GgufFile::outline(std::move(beginning), whole.file_bytes()));
  return estimate_speed(std::move(outline), *available_kernels().front(), pool, chooses_threads);
}

TEST(SpeedEstimate, MeasuresEachKindOfModel) {
  ThreadPool pool(2);
  for (const std::string name :
       {"arch/llama.gguf", "arch/gpt2.gguf", "arch/mixtral.gguf", "hybrid/lfm3-Q4_0.gguf",
        "hybrid/qwen35moe.gguf", "quant/llama-Q4_K_M.gguf", "quant/qwen3-NVFP4.gguf",
        "quant/qwen3-TQ2_0.gguf"}) {
    const auto estimate = estimate_of(fixture_path(name), pool, true);
    ASSERT_TRUE(estimate.ok()) << name << ": " << estimate.error().message;
    EXPECT_GT(estimate.value().token_seconds, 0) << name;
    EXPECT_GT(estimate.value().prompt_seconds, 0) << name;
    EXPECT_EQ(estimate.value().n_threads, pool.n_threads()) << name;
    pool.limit(2);
  }
}

TEST(SpeedEstimate, KnowsThatEncodersMakeNoText) {
  ThreadPool pool(1);
  const auto estimate = estimate_of(fixture_path("encoder/nomic-bert-moe.gguf"), pool);
  ASSERT_TRUE(estimate.ok());
  EXPECT_EQ(estimate.value().token_seconds, 0);
  EXPECT_GT(estimate.value().prompt_seconds, 0);
}

}  // namespace
}  // namespace kinglet
