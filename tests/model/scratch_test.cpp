#include "model/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/tiny_model.h"
#include "support.h"

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

// The buffers that a step may fill for a batch.
std::vector<Buffer> buffers(const Scratch& scratch, const Model& model) {
  const ModelConfig& config = model.config();
  ScratchNeeds needs;
  for (const Layer& layer : model.weights().layers) {
    needs.include(layer.mixer->scratch_needs({kBatch, kThreads}));
    needs.include(layer.ffn->scratch_needs({kBatch, kThreads}));
  }
  const uint64_t rows = kBatch;
  const uint64_t width = (needs.row_width + 255) / 256 * 256;  // whole steps of 256
  std::vector<Buffer> all = {
      buffer(scratch.hidden, rows * config.hidden_dim),
      buffer(scratch.normed, rows * config.hidden_dim),
      buffer(scratch.projection, rows * config.hidden_dim),
      buffer(scratch.logits, config.vocab_size),
      buffer(scratch.activations,
             rows * width / kActivationBlock * model.kernels().activation_block_bytes),
      buffer(scratch.tables, 0),
      buffer(scratch.negative_sums, 0),
      buffer(scratch.blocks, needs.n_bytes),
  };
  for (const Angles& angles : scratch.angles) {
    all.push_back(buffer(angles.cosines, rows * config.rope.dim / 2));
    all.push_back(buffer(angles.sines, rows * config.rope.dim / 2));
  }
  return all;
}

class ScratchOf : public testing::TestWithParam<TinyModel> {
 protected:
  static Result<Model> load() {
    KINGLET_ASSIGN(GgufFile file, load_gguf(GetParam().build()));
    return Model::load(std::move(file), scalar_kernels());
  }
};

TEST_P(ScratchOf, HasRoomForEveryBufferOfABatch) {
  const auto model = load();
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto created = Scratch::create(model.value(), kBatch, kThreads);
  ASSERT_TRUE(created.ok());
  Scratch& scratch = created.value();
  EXPECT_EQ(scratch.n_batch, kBatch);
  auto all = buffers(scratch, model.value());
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  const auto begin = reinterpret_cast<uintptr_t>(scratch.memory.data());
  uintptr_t end = begin;
  for (const Buffer& one : all) {
    EXPECT_EQ(one.begin % kAlignment, 0u);
    EXPECT_GE(one.begin, end);  // no buffer reaches into the next
    end = one.begin + one.bytes;
  }
  EXPECT_LE(end, begin + scratch.bytes());
}

// Quantized rows are as wide as the widest input of a matrix, in steps of 256.
TEST_P(ScratchOf, HoldsTheWidestRow) {
  const auto model = load();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const ModelConfig& config = model.value().config();
  const uint32_t q_dim = config.layers[0].n_heads * config.layers[0].head_dim;
  const uint64_t widest = std::max({config.hidden_dim, q_dim, config.layers[0].ffn_dim});
  const auto bytes_of = [&](uint32_t n_batch) {
    return Scratch::create(model.value(), n_batch, 1).value().bytes();
  };
  const uint64_t per_token = bytes_of(2 * kBatch) - bytes_of(kBatch);
  const uint64_t blocks_per_token = (widest + 255) / 256 * 256 / kActivationBlock;
  EXPECT_GE(per_token, kBatch * blocks_per_token * model.value().kernels().activation_block_bytes);
}

uint64_t scratch_bytes(const char* fixture, const KernelSet& kernels) {
  auto file = read_gguf_file(fixture_path(fixture));
  if (!file.ok()) return 0;
  const auto model = Model::load(std::move(file.value()), kernels);
  return model.ok() ? Scratch::create(model.value(), kBatch, 1).value().bytes() : 0;
}

// The tables take more memory than everything else; only kernels that look up sums read them.
TEST(Scratch, HasTablesWhereAMatrixIsMultipliedByThem) {
  for (const KernelSet* kernels : available_kernels()) {
    const bool looks_up = kernels != &scalar_kernels();
    constexpr uint64_t kTables = kBatch * 256 / kTableColumns * sizeof(SumTable);
    const uint64_t without = scratch_bytes("quant/qwen3-NVFP4.gguf", *kernels);
    ASSERT_GT(without, 0u);
    EXPECT_GE(scratch_bytes("quant/qwen3-Q1_0.gguf", *kernels), without + (looks_up ? kTables : 0));
    if (!looks_up) {
      // The vocabulary has two more tokens, which take less memory.
      EXPECT_LT(scratch_bytes("quant/qwen3-Q1_0.gguf", *kernels), without + kTables);
    }
  }
}

template <uint32_t kHeadDim>
void set_head_dim(GgufBuilder& file) {
  file.set("llama.attention.key_length", kHeadDim);
}

// Queries that are wider (Qwen3-0.6B) or narrower (Gemma-2 2B) than the hidden state, a
// feed-forward network that is narrower than both, and sizes that no block divides.
INSTANTIATE_TEST_SUITE_P(
    Shapes, ScratchOf,
    testing::Values(
        TinyModel{.hidden_dim = 64,
                  .n_heads = 8,
                  .n_kv_heads = 4,
                  .head_dim = 16,
                  .ffn_dim = 192,
                  .edit = set_head_dim<16>},
        TinyModel{.hidden_dim = 144,
                  .n_heads = 4,
                  .n_kv_heads = 2,
                  .head_dim = 32,
                  .ffn_dim = 576,
                  .edit = set_head_dim<32>},
        TinyModel{.hidden_dim = 72, .n_heads = 9, .n_kv_heads = 3, .head_dim = 8, .ffn_dim = 25},
        TinyModel{.hidden_dim = 40,
                  .n_heads = 5,
                  .n_kv_heads = 1,
                  .head_dim = 14,
                  .ffn_dim = 72,
                  .edit = set_head_dim<14>}));

}  // namespace
}  // namespace kinglet
