// Attention over a KV cache, computed from its codes. Scores and weighted sums are computed for one
// block of positions at a time and joined by an online softmax (FlashAttention, Dao et al., 2022),
// so that no buffer is as long as the context. Attention is causal or covers a whole text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "tensor/kv_kind.h"

namespace kinglet {

// The keys or the values of one head in a cache of pages: its rows in page 0. If codes are
// integers, the first kExactPositions are f16 rows elsewhere, of rotated blocks if the kind
// rotates.
struct KvHead {
  KvKind kind;
  KvRows first_page;
  KvRows exact = {};

  bool is_exact_at(size_t position) const {
    return exact.codes != nullptr && position < kExactPositions;
  }
  KvKind kind_at(size_t position) const { return is_exact_at(position) ? KvKind::f16 : kind; }
};

// The keys and values that the attention of one head reads. A cache in one piece has one page.
struct KvView {
  KvHead keys;
  KvHead values;
  const uint32_t* pages;  // entry i: the page of the positions from i * page_positions on
  size_t page_positions;
  size_t page_bytes;  // from one page to the next; whole floats
  // [head_dim]: what the keys that are not exact lack; null: nothing.
  const float* centre = nullptr;

  // Returns the rows from `position` on, and how many of them are adjacent: those up to the end of
  // the page, or of the exact rows.
  KvRows rows(const KvHead& head, size_t position) const;
  size_t n_adjacent(const KvHead& head, size_t position) const;
};

// Some tokens at consecutive positions, and the heads that share keys and values.
struct AttentionTile {
  const float* queries;  // [n_tokens][n_heads][head_dim], tokens token_stride floats apart
  float* output;         // same shape and stride
  size_t token_stride;
  size_t n_tokens;
  size_t n_heads;
  size_t head_dim;
  size_t position;  // of the first token; a token sees every position up to its own
  size_t window;    // … but at most this many, its own included; 0: no limit
  float scale;      // multiplies the scores
  float softcap;    // limits the scores, see KernelSet::softcap; 0: no limit

  // For whole texts: the length of the text. A token then also sees the positions after its own,
  // and a window goes to both sides: positions at most window / 2 away. 0: causal.
  size_t n_positions = 0;
  // For rows of a picture: each row sees all positions before n_seen, and always those up to its
  // own. The window limits only earlier positions, as above. 0: causal.
  size_t n_seen = 0;
  // [n_heads]: how much a score decreases with each position of distance (ALiBi, Press et al.,
  // 2022); null: no decrease.
  const float* slopes = nullptr;
};

// The query rows of a tile that are computed together: a block of keys and values is read, and
// converted to floats where needed, once for all of them. A row is one head of one token.
constexpr size_t kTileRows = 4 * kMaxQueryRows;

// Returns how many tokens a tile of n_heads should have.
constexpr size_t tile_tokens(size_t n_heads) {
  return n_heads >= kTileRows ? 1 : kTileRows / n_heads;
}

// Returns the bytes of scratch that attend() needs, a multiple of a cache line.
size_t attention_scratch_bytes(size_t head_dim);

// Computes output = softmax(softcap(scale * queries · keys) - slope * distance) · values.
// `scratch` is aligned for floats.
void attend(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache,
            std::byte* scratch);

}  // namespace kinglet
