// Attention over a KV cache, computed from its codes: scores and weighted sums of a block of
// positions at a time, joined by an online softmax (FlashAttention, Dao et al., 2022), so that no
// buffer is as long as the context. Causal, or over the whole of a text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "tensor/kv_kind.h"

namespace kinglet {

// The keys or the values of one head in a cache of pages: where page 0's rows begin.
struct KvHead {
  KvKind kind;
  KvRows first_page;
};

// What one head's attention reads. A cache in one piece has one page.
struct KvView {
  KvHead keys;
  KvHead values;
  const uint32_t* pages;  // the page of each page_positions positions
  size_t page_positions;
  size_t page_bytes;  // from one page to the next; whole floats

  // The rows from `position` to the end of its page.
  KvRows rows(const KvHead& head, size_t position) const;
};

// Some tokens at consecutive positions, and the heads that share keys and values.
struct AttentionTile {
  const float* queries;  // [n_tokens][n_heads][head_dim], tokens token_stride floats apart
  float* output;         // the same
  size_t token_stride;
  size_t n_tokens;
  size_t n_heads;
  size_t head_dim;
  size_t position;  // of the first token; a token sees every position up to its own
  size_t window;    // … but at most so many; 0: all
  float scale;      // multiplies the scores
  float softcap;    // bounds them, see KernelSet::softcap; 0: does not

  // Of a text: a token sees the positions after it, too, all of so many. A window is then one to
  // both sides: positions no more than window / 2 away. 0: causal.
  size_t n_positions = 0;
  // Of rows of a picture: what all of them see up to, or their own position if that is after it.
  // The window is as before. 0: causal.
  size_t n_seen = 0;
  // [n_heads]: how much a score falls with each position of distance (ALiBi, Press et al., 2022);
  // null: does not.
  const float* slopes = nullptr;
};

// Tokens for which a tile of n_heads makes good use of a call.
constexpr size_t tile_tokens(size_t n_heads) {
  return n_heads >= kMaxQueryRows ? 1 : kMaxQueryRows / n_heads;
}

// Bytes of scratch that attend() needs, a multiple of an alignment line.
size_t attention_scratch_bytes(size_t head_dim);

// output = softmax(softcap(scale * queries · keys) - slope * distance) · values. `scratch` is
// aligned for floats.
void attend(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache,
            std::byte* scratch);

}  // namespace kinglet
