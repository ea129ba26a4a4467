#include "model/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"

namespace kinglet {
namespace {

constexpr uint32_t kBatch = 7;
constexpr size_t kThreads = 3;

struct Buffer {
  uintptr_t begin;
  size_t bytes;
};

template <class T>
Buffer buffer(const T* pointer, uint64_t count) {
  return {reinterpret_cast<uintptr_t>(pointer), static_cast<size_t>(count * sizeof(T))};
}

// What the forward pass may fill for a batch.
std::vector<Buffer> buffers(Scratch& scratch, const ModelConfig& config) {
  const uint64_t rows = kBatch;
  // Rows that are quantized: whole steps of 256, the widest of them.
  const uint64_t width =
      (std::max({config.hidden_dim, config.q_dim(), config.ffn_dim}) + 255) / 256 * 256;
  std::vector<Buffer> all = {
      buffer(scratch.hidden, rows * config.hidden_dim),
      buffer(scratch.normed, rows * config.hidden_dim),
      buffer(scratch.query, rows * config.q_dim()),
      buffer(scratch.key, rows * config.kv_dim()),
      buffer(scratch.value, rows * config.kv_dim()),
      buffer(scratch.attention, rows * config.q_dim()),
      buffer(scratch.projection, rows * config.hidden_dim),
      buffer(scratch.gate, rows * config.ffn_dim),
      buffer(scratch.up, rows * config.ffn_dim),
      buffer(scratch.logits, config.vocab_size),
      buffer(scratch.codes, rows * width * kMaxCodeBytes),
      buffer(scratch.scales, rows * width / kActivationBlock),
      buffer(scratch.sums, rows * width / kActivationBlock),
      buffer(scratch.half_sums, rows * width / kActivationBlock * 2),
  };
  for (const Angles& angles : scratch.angles) {
    all.push_back(buffer(angles.cosines, rows * config.rope.dim / 2));
    all.push_back(buffer(angles.sines, rows * config.rope.dim / 2));
  }
  for (size_t thread = 0; thread < kThreads; ++thread) {
    all.push_back(buffer(scratch.attention_of(thread), attention_scratch_bytes(config.head_dim)));
  }
  return all;
}

struct Shape {
  uint32_t hidden_dim;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  uint32_t head_dim;
  uint32_t ffn_dim;
};

class ScratchOf : public testing::TestWithParam<Shape> {
 protected:
  static ModelConfig config() {
    const Shape& shape = GetParam();
    ModelConfig config;
    config.n_layers = 2;
    config.hidden_dim = shape.hidden_dim;
    config.n_heads = shape.n_heads;
    config.n_kv_heads = shape.n_kv_heads;
    config.head_dim = shape.head_dim;
    config.ffn_dim = shape.ffn_dim;
    config.vocab_size = 1003;
    config.rope.dim = shape.head_dim;
    return config;
  }
};

TEST_P(ScratchOf, HasRoomForEveryBufferOfABatch) {
  auto created = Scratch::create(config(), kBatch, kThreads);
  ASSERT_TRUE(created.ok());
  Scratch& scratch = created.value();
  EXPECT_EQ(scratch.n_batch, kBatch);
  auto all = buffers(scratch, config());
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  const auto begin = reinterpret_cast<uintptr_t>(scratch.memory.data());
  uintptr_t end = begin;
  for (const Buffer& one : all) {
    EXPECT_EQ(one.begin % kAlignment, 0u);
    EXPECT_GE(one.begin, end);  // none reaches into the next
    end = one.begin + one.bytes;
  }
  EXPECT_LE(end, begin + scratch.bytes());
}

// Queries wider than the hidden state (Qwen3-0.6B) and narrower (Gemma-2 2B), a feed-forward
// network narrower than both, and sizes that no block divides.
INSTANTIATE_TEST_SUITE_P(Shapes, ScratchOf,
                         testing::Values(Shape{1024, 16, 8, 128, 3072},
                                         Shape{2304, 8, 4, 256, 9216}, Shape{576, 9, 3, 64, 200},
                                         Shape{40, 5, 1, 13, 72}));

}  // namespace
}  // namespace kinglet
