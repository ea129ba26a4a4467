#include "model/scratch.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/attention.h"

namespace kinglet {
namespace {

// Quantized rows are padded to whole blocks of every format.
constexpr uint64_t kRowStep = 256;

}  // namespace

Result<Scratch> Scratch::create(const ModelConfig& config, uint32_t n_batch, size_t n_threads) {
  const uint64_t width =
      round_up(std::max({config.hidden_dim, config.q_dim(), config.ffn_dim}), kRowStep);
  const uint64_t rows = n_batch;
  Scratch scratch;
  scratch.n_batch = n_batch;
  scratch.per_thread_bytes = attention_scratch_bytes(config.head_dim);

  // Two passes over the same list: the first adds up the sizes, the second hands out addresses.
  // No product here overflows: config's dimensions are at most 2^20, the batch 2^32.
  uint64_t offset = 0;
  const auto lay_out = [&](std::byte* base) {
    offset = 0;
    const auto give = [&](auto*& pointer, uint64_t count) {
      if (base != nullptr) {
        pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(base + offset);
      }
      offset += round_up(count * sizeof(*pointer), kAlignment);
    };
    give(scratch.hidden, rows * config.hidden_dim);
    give(scratch.normed, rows * config.hidden_dim);
    give(scratch.query, rows * config.q_dim());
    give(scratch.key, rows * config.kv_dim());
    give(scratch.value, rows * config.kv_dim());
    give(scratch.attention, rows * config.q_dim());
    give(scratch.projection, rows * config.hidden_dim);
    give(scratch.gate, rows * config.ffn_dim);
    give(scratch.up, rows * config.ffn_dim);
    for (Angles& angles : scratch.angles) {
      give(angles.cosines, rows * config.rope.dim / 2);
      give(angles.sines, rows * config.rope.dim / 2);
    }
    give(scratch.logits, config.vocab_size);
    const uint64_t expert_rows = config.n_experts > 0 ? rows : 0;
    give(scratch.router, expert_rows * config.n_experts);
    give(scratch.choices, expert_rows * config.n_experts_used);
    give(scratch.routed, expert_rows);
    give(scratch.expert_input, expert_rows * config.hidden_dim);
    give(scratch.expert_output, expert_rows * config.hidden_dim);
    give(scratch.codes, rows * width * kMaxCodeBytes);
    give(scratch.scales, rows * width / kActivationBlock);
    give(scratch.sums, rows * width / kActivationBlock);
    give(scratch.half_sums, rows * width / kActivationBlock * 2);
    give(scratch.per_thread, n_threads * scratch.per_thread_bytes);
  };
  lay_out(nullptr);
  KINGLET_ASSIGN(scratch.memory, AlignedBuffer::allocate(offset, "scratch memory"));
  lay_out(scratch.memory.data());
  return scratch;
}

}  // namespace kinglet
