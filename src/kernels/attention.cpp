#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"

namespace kinglet {
namespace {

// Bytes of a cache line.
constexpr size_t kLine = 64;

// With fewer heads than this, a single token is faster without transposed queries.
constexpr size_t kTransposedHeads = 4;

size_t padded_dim(size_t head_dim) { return static_cast<size_t>(round_up(head_dim, kKvBlock)); }

size_t value_bytes(size_t head_dim) {
  return static_cast<size_t>(round_up(kMaxQueryRows * padded_dim(head_dim) * sizeof(float), kLine));
}

size_t code_bytes(size_t head_dim) {
  return static_cast<size_t>(
      round_up(kMaxQueryRows * padded_dim(head_dim) * sizeof(int16_t), kLine));
}

size_t transposed_bytes(size_t head_dim) {
  return kMaxQueryRows * padded_dim(head_dim) * sizeof(float);
}

bool has_integer_codes(KvKind kind) {
  return kind == KvKind::int8 || kind == KvKind::q8 || kind == KvKind::q4;
}

// At most kMaxQueryRows query rows, one for each head of each token, and the state of their
// softmaxes.
class Rows {
 public:
  Rows(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache, size_t first_row,
       size_t n_rows, std::byte* scratch)
      : kernels_(kernels), tile_(tile), cache_(cache), n_rows_(n_rows) {
    const size_t stride = padded_dim(tile.head_dim);
    auto* values = reinterpret_cast<float*>(scratch);
    auto* codes = reinterpret_cast<int16_t*>(scratch + value_bytes(tile.head_dim));
    std::byte* transposed = scratch + value_bytes(tile.head_dim) + code_bytes(tile.head_dim);
    for (size_t i = 0; i < n_rows; ++i) {
      const size_t token = (first_row + i) / tile.n_heads;
      const size_t head = (first_row + i) % tile.n_heads;
      const size_t offset = token * tile.token_stride + head * tile.head_dim;
      position_[i] = tile.position + token;
      slope_[i] = tile.slopes == nullptr ? 0.0f : tile.slopes[head];
      find_seen(i);
      largest_[i] = -std::numeric_limits<float>::infinity();
      sum_[i] = 0.0f;
      output_[i] = tile.output + offset;
      std::fill_n(output_[i], tile.head_dim, 0.0f);

      float* row = values + i * stride;
      for (size_t j = 0; j < tile.head_dim; ++j) row[j] = tile.queries[offset + j] * tile.scale;
      if (kv_kind_info(cache.keys.kind).rotates) rotate_blocks(row, tile.head_dim);
      if (has_integer_codes(cache.keys.kind)) {
        query_scales_[i] =
            kernels.quantize_query(row, tile.head_dim, stride, cache.keys.kind, codes + i * stride);
      }
    }
    queries_ = {values, codes, query_scales_, stride, tile.head_dim, nullptr, nullptr};
    // A token's results must not depend on the number of tokens in a call. So this depends on the
    // number of rows that a single token has, except for whole texts, which have many tokens.
    if (!kernels.reads_transposed) return;
    if (tile.n_positions == 0 && tile.n_heads < kTransposedHeads) return;
    if (has_integer_codes(cache.keys.kind)) {
      queries_.transposed_codes = transpose<int16_t, 2>(codes, stride, transposed);
    } else {
      queries_.transposed = transpose<float, 1>(values, tile.head_dim, transposed);
    }
  }

  void attend() {
    const size_t end = *std::max_element(end_, end_ + n_rows_);
    size_t position = *std::min_element(begin_, begin_ + n_rows_);
    while (position < end) {
      // Blocks end at multiples of kAttentionBlock from position 0, so what a window leaves out
      // does not change how sums are grouped. Pages that are smaller cut them further.
      const size_t left_in_block = kAttentionBlock - position % kAttentionBlock;
      const size_t left_in_page = cache_.page_positions - position % cache_.page_positions;
      const size_t n = std::min({left_in_block, left_in_page, end - position});
      const KvRows keys = cache_.rows(cache_.keys, position);
      const KvRows values = cache_.rows(cache_.values, position);
      attend_block(position, n, keys, values);
      position += n;
    }
    for (size_t row = 0; row < n_rows_; ++row) {
      const float factor = 1.0f / sum_[row];
      for (size_t i = 0; i < tile_.head_dim; ++i) output_[row][i] *= factor;
      if (kv_kind_info(cache_.values.kind).rotates) rotate_blocks(output_[row], tile_.head_dim);
    }
  }

 private:
  // Writes each kGroup neighbours of the first n elements of a row beside those of the other rows.
  template <class T, size_t kGroup>
  const T* transpose(const T* rows, size_t n, std::byte* scratch) const {
    auto* transposed = reinterpret_cast<T*>(scratch);
    std::fill_n(transposed, n * kMaxQueryRows, T{});
    for (size_t row = 0; row < n_rows_; ++row) {
      for (size_t i = 0; i < n; ++i) {
        const size_t group = i / kGroup * kMaxQueryRows + row;
        transposed[group * kGroup + i % kGroup] = rows[row * queries_.stride + i];
      }
    }
    return transposed;
  }

  // Finds the positions that a row sees.
  void find_seen(size_t row) {
    const size_t own = position_[row];
    // How far a row with a window sees to its left, and in whole texts also to its right.
    const size_t left = tile_.n_positions == 0 ? tile_.window - 1 : tile_.window / 2;
    const bool sees_all = tile_.window == 0;
    begin_[row] = sees_all || own <= left ? 0 : own - left;
    end_[row] = std::max(own + 1, tile_.n_seen);
    if (tile_.n_positions == 0) return;
    const size_t after = tile_.n_positions - end_[row];
    end_[row] += sees_all ? after : std::min(after, left);
  }

  void attend_block(size_t position, size_t n, const KvRows& keys, const KvRows& values) {
    alignas(kLine) float scores[kMaxQueryRows * kAttentionBlock];
    float factors[kMaxQueryRows];
    attention_kernels(kernels_, cache_.keys.kind).score(queries_, n_rows_, keys, n, scores);
    for (size_t row = 0; row < n_rows_; ++row) {
      factors[row] = weigh_scores(position, n, row, scores + row * kAttentionBlock);
    }
    attention_kernels(kernels_, cache_.values.kind)
        .weigh(scores, factors, n_rows_, values, n, tile_.head_dim, output_);
  }

  // Replaces scores by weights: 0 for positions that the row does not see or that do not exist.
  // Returns the factor for earlier sums.
  float weigh_scores(size_t position, size_t n, size_t row, float* scores) {
    const size_t begin = std::clamp(begin_[row], position, position + n) - position;
    const size_t end = std::clamp(end_[row], position, position + n) - position;
    std::fill(scores, scores + begin, 0.0f);
    std::fill(scores + end, scores + kAttentionBlock, 0.0f);
    if (begin >= end) return 1.0f;
    if (tile_.softcap > 0) kernels_.softcap(scores + begin, tile_.softcap, end - begin);
    if (tile_.slopes != nullptr) subtract_distances(position, begin, end, row, scores);
    return kernels_.softmax_part(scores + begin, end - begin, largest_[row], sum_[row]);
  }

  // Applies ALiBi to the positions [begin, end) of the block at `position`.
  void subtract_distances(size_t position, size_t begin, size_t end, size_t row,
                          float* scores) const {
    const size_t own = position_[row];
    for (size_t i = begin; i < end; ++i) {
      const size_t seen = position + i;
      const size_t distance = std::max(own, seen) - std::min(own, seen);
      scores[i] -= slope_[row] * static_cast<float>(distance);
    }
  }

  const KernelSet& kernels_;
  const AttentionTile& tile_;
  const KvView& cache_;
  size_t n_rows_;
  Queries queries_;
  size_t position_[kMaxQueryRows];
  float slope_[kMaxQueryRows];
  size_t begin_[kMaxQueryRows];  // the positions that a row sees
  size_t end_[kMaxQueryRows];
  float query_scales_[kMaxQueryRows];
  float largest_[kMaxQueryRows];
  float sum_[kMaxQueryRows];
  float* output_[kMaxQueryRows];
};

}  // namespace

KvRows KvView::rows(const KvHead& head, size_t position) const {
  const size_t page = pages[position / page_positions] * page_bytes;
  const size_t row = position % page_positions;
  const KvRows& first = head.first_page;
  return {first.codes + page + row * first.code_stride, first.code_stride,
          first.scales + page / sizeof(float) + row * first.scale_stride, first.scale_stride};
}

size_t attention_scratch_bytes(size_t head_dim) {
  return value_bytes(head_dim) + code_bytes(head_dim) + transposed_bytes(head_dim);
}

void attend(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache,
            std::byte* scratch) {
  const size_t n_rows = tile.n_tokens * tile.n_heads;
  for (size_t row = 0; row < n_rows; row += kMaxQueryRows) {
    Rows(kernels, tile, cache, row, std::min(kMaxQueryRows, n_rows - row), scratch).attend();
  }
}

}  // namespace kinglet
